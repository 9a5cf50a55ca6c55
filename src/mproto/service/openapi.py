"""The OpenAPI document of the service, with its limits and the types of its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from mproto.service.schemas import BatchResponse, ErrorResponse, Health, ModelInfo, SingleResponse
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.service.limits import Limits

ERRORS = {
    401: "The token is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    422: "The body is not JSON, does not follow the schema, or exceeds a limit.",
    429: "The queue is full; `Retry-After` says when to try again.",
    500: "The model or the service failed on this request.",
    503: "The model is loading, or the service is stopping; `Retry-After` says when to try again.",
}
HEADERS = {
    401: "WWW-Authenticate",
    429: "Retry-After",
    503: "Retry-After",
}
EXAMPLE = "Selegiline-induced postural hypotension"
Json = dict[str, Any]


def openapi_document(limits: Limits, labels: Sequence[str], *, with_token: bool) -> Json:
    """Return the OpenAPI document.

    Args:
        limits: the limits of the service, which become part of the schema.
        labels: the types of the model; empty while it is loading.
        with_token: whether clients must send a token.
    """
    always = (401, 500) if with_token else (500,)
    entities = {"anyOf": [_ref(SingleResponse), _ref(BatchResponse)]}
    paths = {
        "/v1/entities": {
            "post": {
                "operationId": "entities",
                "summary": "Find the entities of one text, or of each of several texts",
                "description": "Send either `text` or `texts`. Offsets count Unicode code points; the end is exclusive.",
                "requestBody": {"required": True, "content": _content(_request(limits, labels))},
                "responses": _responses("The entities", entities, (408, 413, 422, 429, 503, *always)),
            }
        },
        "/v1/model": _get("model", "The model and the limits of the service", ModelInfo, (503, *always)),
        "/health/live": _get("live", "Liveness: the process responds", Health, (500,)),
        "/health/ready": _get("ready", "Readiness: the model is loaded, and requests are accepted", Health, (500, 503)),
        "/metrics": _page("metrics", "Metrics for Prometheus", "text/plain", always),
        "/docs": _page("docs", "This document as an HTML page", "text/html", always),
        "/openapi.json": _get("openapi", "This OpenAPI document", None, always),
    }
    models = (SingleResponse, BatchResponse, ModelInfo, Health, ErrorResponse)
    _, schemas = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    document: Json = {
        "openapi": "3.1.0",
        "info": {"title": "mproto", "version": __version__, "description": "Named-entity recognition."},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }
    if with_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in paths.items():
            for operation in methods.values():
                operation["security"] = [] if path.startswith("/health/") else [{"token": []}]
    return document


def _request(limits: Limits, labels: Sequence[str]) -> Json:
    text = {"type": "string", "maxLength": limits.characters}
    type_ = {"type": "string", "enum": list(labels)} if labels else {"type": "string"}
    score = {"type": "number", "minimum": 0, "maximum": 1}
    each: Json = {"type": "object", "description": "a threshold for some types; the others have none"}
    each |= {"properties": dict.fromkeys(labels, score), "additionalProperties": False if labels else score}
    shared = {
        "threshold": {"anyOf": [score, each], "description": "leave out entities with a lower score"},
        "types": {"type": "array", "items": type_, "minItems": 1, "description": "return only entities of these types"},
    }

    def form(name: str, schema: Json, example: object) -> Json:
        properties = {name: schema, **shared}
        return {
            "type": "object",
            "properties": properties,
            "required": [name],
            "additionalProperties": False,
            "examples": [{name: example}],
        }

    several = {"type": "array", "items": text, "maxItems": limits.texts}
    return {"anyOf": [form("text", text, EXAMPLE), form("texts", several, [EXAMPLE, "Aspirin helps."])]}


def _get(id: str, summary: str, model: type | None, errors: Sequence[int]) -> Json:
    schema = {"type": "object"} if model is None else _ref(model)
    return {"get": {"operationId": id, "summary": summary, "responses": _responses(summary, schema, errors)}}


def _page(id: str, summary: str, media_type: str, errors: Sequence[int]) -> Json:
    responses = _responses(summary, {"type": "string"}, errors)
    responses["200"]["content"] = _content({"type": "string"}, media_type)
    return {"get": {"operationId": id, "summary": summary, "responses": responses}}


def _responses(summary: str, schema: Json, errors: Sequence[int]) -> Json:
    responses: Json = {"200": {"description": summary, "content": _content(schema)}}
    for code in sorted(errors):
        responses[str(code)] = {"description": ERRORS[code], "content": _content(_ref(ErrorResponse))}
        if code in HEADERS:
            responses[str(code)]["headers"] = {HEADERS[code]: {"schema": {"type": "string"}}}
    return responses


def _content(schema: Json, media_type: str = "application/json") -> Json:
    return {media_type: {"schema": schema}}


def _ref(model: type) -> Json:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
