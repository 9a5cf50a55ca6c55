"""The description as a page: FastAPI's own fetches scripts from a network that the reader may not have."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from mproto.html.markup import page, table

if TYPE_CHECKING:
    from collections.abc import Mapping

STYLE = "pre { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; overflow-x: auto }"


def docs_page(description: Mapping[str, Any]) -> str:
    """A self-contained page about every path: what it takes, what it answers, with every code."""
    parts = [f"<p>Version {escape(description['info']['version'])}. For programs: <code>/openapi.json</code>.</p>"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(path, method, operation))
    parts.append("<h2>Schemas</h2>")
    parts += [_block(name, schema) for name, schema in description["components"]["schemas"].items()]
    return page(description["info"]["title"], "".join(parts), STYLE)


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = [[escape(code), escape(answer["description"])] for code, answer in operation["responses"].items()]
    parts = [f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['summary'])}.</p>"]
    if "description" in operation:
        parts.append(f"<p>{escape(operation['description'])}</p>")
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for form in content["schema"]["anyOf"]:
            body = json.dumps(form["examples"][0], ensure_ascii=False)
            parts.append(f"<pre>curl HOST:PORT{escape(path)} -d {escape(repr(body))}</pre>")
        parts.append(_block("The body", content["schema"]))
    return "".join(parts) + table(["code", "answer"], rows)


def _block(name: str, schema: Mapping[str, Any]) -> str:
    shown = escape(json.dumps(schema, ensure_ascii=False, indent=2))
    return f"<details><summary>{escape(name)}</summary><pre>{shown}</pre></details>"
