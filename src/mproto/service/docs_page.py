"""The page `/docs`.

FastAPI's own page loads scripts from a CDN; this one works without internet access.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from mproto.html.markup import page, table

if TYPE_CHECKING:
    from collections.abc import Mapping

STYLE = "pre { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; overflow-x: auto }"


def docs_page(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as a self-contained HTML page."""
    parts = [
        f"<p>Version {escape(document['info']['version'])}. The OpenAPI document is at <code>/openapi.json</code>.</p>"
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(path, method, operation))
    parts.append("<h2>Schemas</h2>")
    parts += [_block(name, schema) for name, schema in document["components"]["schemas"].items()]
    return page(document["info"]["title"], "".join(parts), STYLE)


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = [[escape(status), escape(response["description"])] for status, response in operation["responses"].items()]
    parts = [f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['summary'])}.</p>"]
    if "description" in operation:
        parts.append(f"<p>{escape(operation['description'])}</p>")
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for form in content["schema"]["anyOf"]:
            body = json.dumps(form["examples"][0], ensure_ascii=False)
            parts.append(f"<pre>curl HOST:PORT{escape(path)} -d {escape(repr(body))}</pre>")
        parts.append(_block("Request body", content["schema"]))
    return "".join(parts) + table(["status", "response"], rows)


def _block(name: str, schema: Mapping[str, Any]) -> str:
    shown = escape(json.dumps(schema, ensure_ascii=False, indent=2))
    return f"<details><summary>{escape(name)}</summary><pre>{shown}</pre></details>"
