# SPDX-License-Identifier: Apache-2.0
"""Requests to replies: the one entry, used embedded and by the worker."""

from __future__ import annotations

from typing import Any

from . import snapshot
from .compiling import Artifact, compile_function
from .describing import make_record
from .errors import Failure, text_of, user_traceback
from .output import Log, captured
from .protocol import MalformedMessage, decode_message, encode_message
from .snapshot import Function
from .targets import answering_for, requested_target, usual_target
from .triton_api import triton_api
from .values import Decoder


class _NeedSnapshot(Exception):
    def __init__(self, function_id: str) -> None:
        super().__init__(function_id)
        self.function_id = function_id


def handle(request: bytes, log: Log | None = None) -> bytes:
    """Answer one request; never raises. May be called by several threads at once."""
    try:
        with captured(log):
            return _answer(bytes(request))
    except _NeedSnapshot as need:
        return encode_message({"v": 1, "status": "NEED_SNAPSHOT", "id": need.function_id})
    except Failure as failure:
        return _error(failure.status, failure.message, failure.traceback_text)
    except MalformedMessage as error:
        return _error("E_INTERNAL", f"malformed request: {error}")
    except MemoryError:
        return _error("E_OUT_OF_MEMORY", "out of memory in the Python side of the compiler")
    except BaseException as error:  # noqa: BLE001 - a host must never see an exception
        return _error("E_INTERNAL", f"{type(error).__name__}: {text_of(error)}", user_traceback(error))


def _error(status: str, message: str, traceback_text: str = "") -> bytes:
    return encode_message({"v": 1, "status": status, "message": message, "traceback": traceback_text})


def _answer(message: bytes) -> bytes:
    request, sections = decode_message(message)
    if request.get("v") != 1:
        raise Failure("E_INTERNAL", f"request version {request.get('v')!r}: this script answers version 1")
    operations = {"describe": _describe, "compile": _compile}
    operation = operations.get(str(request.get("op")))
    if operation is None:
        raise Failure("E_INTERNAL", f"unknown operation {request.get('op')!r}")
    return operation(request, sections)


def _text_field(request: dict[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise Failure("E_INTERNAL", f"the request has no text '{name}'")
    return value


def _describe(request: dict[str, Any], sections: dict[str, bytes]) -> bytes:
    api = triton_api()
    target = usual_target(api, request.get("backend"))
    text = sections.get("text") if request.get("text_section") else None
    if request.get("text_section") and text is None:
        raise Failure("E_INTERNAL", "the request has no section 'text'")
    with answering_for(api, target):
        function = snapshot.open_function(api, _text_field(request, "source"), _text_field(request, "name"), text)
        record = make_record(api, function, target)
    return encode_message({"v": 1, "status": "OK", "record": record}, [("snapshot", function.serialise())])


def _compile(request: dict[str, Any], sections: dict[str, bytes]) -> bytes:
    api = triton_api()
    target = requested_target(api, request.get("target"))

    def function_by_id(function_id: str) -> Function:
        function = snapshot.known(function_id)
        if function is None:
            serialised = sections.get(f"snapshot:{function_id}")
            if serialised is None:
                raise _NeedSnapshot(function_id)
            with answering_for(api, target):
                function = snapshot.recreate(api, function_id, serialised)
        return function

    function = function_by_id(_text_field(request, "id"))
    decoder = Decoder(api, lambda function_id: function_by_id(function_id).jit)
    artifact: Artifact = compile_function(
        api,
        function,
        target,
        request.get("args"),
        request.get("options", {}),
        decoder,
        bool(request.get("key_only")),
    )
    return encode_message(artifact.body, artifact.sections)
