"""The OpenAPI document of an application."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ._error_replies import UNAUTHORIZED
from ._operations import EVENT_STREAM, JSON
from ._schemas import ID, TEXT, Fields, record, ref, schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._error_replies import ErrorReply
    from ._operations import Operation, Reply

_PATH_PARAMETERS = {
    "chat_id": {**ID, "description": "Id of the chat."},
    "run_id": {**ID, "description": "Id of the run."},
    "key": {**TEXT, "minLength": 1, "description": "Key of the input, from its event."},
    "path": {**TEXT, "minLength": 1, "description": "Name of the file."},
}
_CONVERTER = re.compile(r"\{(\w+):\w+\}")
_PARAMETER = re.compile(r"\{(\w+)\}")
_DEFAULT_SCHEME: Fields = {
    "credentials": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "Credentials that the application's `authenticate` hook accepts; it may "
        "also take them elsewhere, such as in a cookie.",
    }
}


class OpenApiDocument:
    """The document of an application.

    Args:
        operations: The operations that it serves.
        title: Title of the application.
        version: Version of the application's interface.
        formats: Formats of events, with the content types of their streams.
        has_users: True if requests are authenticated.
        security_schemes: The ways to authenticate, by name; any one suffices.
    """

    def __init__(
        self,
        operations: Iterable[Operation],
        *,
        title: str,
        version: str,
        formats: Mapping[str, str],
        has_users: bool,
        security_schemes: Mapping[str, Mapping[str, Any]] | None,
    ) -> None:
        self._operations = tuple(operations)
        self._title = title
        self._version = version
        self._formats = formats
        self._schemes = dict(security_schemes or _DEFAULT_SCHEME) if has_users else {}

    def to_dict(self, root_path: str = "") -> Fields:
        """Return the document.

        Args:
            root_path: Path at which the application is mounted.
        """
        paths: Fields = {}
        for operation in self._operations:
            path = _CONVERTER.sub(r"{\1}", operation.path)
            paths.setdefault(path, {})[operation.method.lower()] = self._operation(operation)
        components: Fields = {"schemas": schemas()}
        if self._schemes:
            components["securitySchemes"] = self._schemes
        return {
            "openapi": "3.1.0",
            "info": {
                "title": self._title,
                "version": self._version,
                "description": "Chats whose runs can be started, stopped, streamed and resumed.",
            },
            "servers": [{"url": root_path or "/"}],
            "paths": paths,
            "components": components,
        }

    def _operation(self, operation: Operation) -> Fields:
        found: Fields = {
            "operationId": operation.operation_id,
            "tags": [operation.tag],
            "summary": operation.summary,
        }
        if operation.description:
            found["description"] = operation.description
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": _PATH_PARAMETERS[name]}
            for name in _PARAMETER.findall(_CONVERTER.sub(r"{\1}", operation.path))
        ]
        parameters += map(self._parameter, operation.parameters)
        if parameters:
            found["parameters"] = parameters
        if operation.body is not None:
            found["requestBody"] = {"required": True, "content": {JSON: {"schema": operation.body}}}
        found["responses"] = self._responses(operation)
        if self._schemes and not operation.is_public:
            found["security"] = [{name: []} for name in self._schemes]
        return found

    def _parameter(self, parameter: Fields) -> Fields:
        if parameter["name"] != "format":
            return parameter
        return {**parameter, "schema": {**parameter["schema"], "enum": list(self._formats)}}

    def _responses(self, operation: Operation) -> Fields:
        errors = operation.all_errors()
        has_users = bool(self._schemes) and not operation.is_public
        if has_users:
            errors = (UNAUTHORIZED, *errors)
        by_status: dict[int, list[ErrorReply]] = {}
        for error in errors:
            if error not in by_status.setdefault(error.status, []):
                by_status[error.status].append(error)
        responses = {status: _error(codes) for status, codes in by_status.items()}
        for status, reply in operation.replies.items():
            responses[status] = self._reply(operation, reply)
        found: Fields = {str(status): responses[status] for status in sorted(responses)}
        if has_users:
            found["default"] = {
                "description": "Another error of the application's `authenticate` hook.",
                "content": {JSON: {"schema": ref("Error")}},
            }
        return found

    def _reply(self, operation: Operation, reply: Reply) -> Fields:
        found: Fields = {"description": reply.description}
        if reply.headers:
            found["headers"] = {
                name: {"description": description, "required": True, "schema": TEXT}
                for name, description in reply.headers.items()
            }
        if reply.schema is not None:
            content: Fields = {"schema": reply.schema}
            types = {reply.content_type}
            if operation.operation_id == "readEvents" and reply.content_type == EVENT_STREAM:
                # Formats of the application's own may have types of their own.
                types.update(self._formats.values())
            found["content"] = dict.fromkeys(sorted(types), content)
        if reply.links:
            found["links"] = {
                name: {"operationId": name, **link} for name, link in reply.links.items()
            }
        return found


def _error(codes: list[ErrorReply]) -> Fields:
    """Return the response for the errors of one status."""
    names = sorted({each.code for each in codes})
    found: Fields = {
        "description": "\n".join(f"- `{each.code}`: {each.reason}" for each in codes),
        "content": {
            JSON: {
                "schema": record(error=record(code={"enum": names}, message=TEXT)),
            }
        },
    }
    if codes[0].status in (429, 503):
        found["headers"] = {
            "Retry-After": {
                "description": "Seconds to wait before a retry.",
                "required": True,
                "schema": {"type": "integer", "minimum": 0},
            }
        }
    return found
