"""The OpenAPI 3.1 document of a collector, made from the table of its endpoints."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET

import deniable
from deniable.collect.kit.answers import JSON
from deniable.collect.web.access import OPEN
from deniable.collect.web.routes import ELSEWHERE, ENDPOINTS, ID_PATTERN, REPORTS, Endpoint
from deniable.collect.web.shapes import Failure, Rejected

_REF = "#/components/schemas/{name}"
_BEARER = {"type": "http", "scheme": "bearer", "description": "a token of deniable token add"}


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(_document())


def _document() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": deniable.__version__,
            "summary": "Collects reports that hide every single answer, and tells what the crowd says.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": _BEARER}},
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": endpoint.name, "summary": endpoint.summary, "parameters": _parameters(endpoint, schemas)}
    if endpoint.role != OPEN:
        operation |= {"security": [{"token": []}], "description": f"Needs the role {endpoint.role}."}
    if endpoint.bodies:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.bodies, schemas)}
    answers = {str(endpoint.status): _answer(endpoint.status, endpoint.answers or {}, schemas)}
    if endpoint.path in ELSEWHERE:  # two successes
        answers["200"] = _answer(200, {JSON: Rejected} if endpoint.path == REPORTS else {}, schemas)
    for status in endpoint.statuses:
        answers[str(status)] = _answer(status, {JSON: Failure}, schemas)
        if status in {429, 503, 507}:
            wait = {"description": "seconds to wait", "schema": {"type": "integer"}, "required": status == 429}
            answers[str(status)]["headers"] = {"Retry-After": wait}
    return operation | {"responses": answers}


def _parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    if "{id}" in endpoint.path:
        schema = {"type": "string", "pattern": ID_PATTERN}
        parameters.append({"name": "id", "in": "path", "required": True, "schema": schema, "description": "the task's id"})
    for field in msgspec.structs.fields(endpoint.query):
        needed = field.default is NODEFAULT and field.default_factory is NODEFAULT
        schema = _schema(field.type, schemas)
        if not needed and field.default is not UNSET and field.default_factory is NODEFAULT:
            schema = schema | {"default": field.default}
        parameters.append({"name": field.encode_name, "in": "query", "required": needed, "schema": schema})
    return parameters


def _answer(status: int, content: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    return answer | ({"content": _content(content, schemas)} if content else {})


def _content(kinds: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return {media: {"schema": _schema(kind, schemas)} for media, kind in kinds.items()}


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type, whose parts go to the components; a dict is one already."""
    if isinstance(kind, dict):
        return kind
    (found,), parts = msgspec.json.schema_components([kind], ref_template=_REF)
    schemas |= {name: _portable(part) for name, part in parts.items()}
    return dict(_portable(found))


def _portable(schema: Any) -> Any:
    """The schema with patterns that mean the same outside of Python, whose $ would take a line's end."""
    if isinstance(schema, list):
        return [_portable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _portable(part) for name, part in schema.items()}
    if isinstance(found.get("pattern"), str):
        found["pattern"] = found["pattern"].replace(r"\Z", "$")
    return found
