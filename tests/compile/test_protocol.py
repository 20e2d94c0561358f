# SPDX-License-Identifier: Apache-2.0
"""Message bytes: round trips, and every way in which they can be malformed."""

import json
import struct

import pytest
from conftest import script
from triton_jit_compile.protocol import MalformedMessage, decode_message, encode_message


def test_round_trip() -> None:
    body = {"v": 1, "text": "ü\n\0", "list": [1, None, True]}
    sections = [("a", b""), ("b", bytes(range(256)))]
    decoded, parts = decode_message(encode_message(body, sections))
    assert parts == dict(sections)
    assert {key: decoded[key] for key in body} == body


def test_no_sections() -> None:
    assert decode_message(encode_message({"v": 1})) == ({"v": 1}, {})


def test_text_that_is_not_utf8() -> None:
    assert decode_message(encode_message({"a": "x\udcffy\U0001f600\0"}))[0] == {"a": "x?y\U0001f600\0"}


def _message(body: object, tail: bytes = b"") -> bytes:
    text = json.dumps(body).encode()
    return struct.pack("<I", len(text)) + text + tail


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\1\0",
        struct.pack("<I", 10) + b"{}",
        struct.pack("<I", 0xFFFFFFFF) + b"{}",
        struct.pack("<I", 2) + b"[}",
        struct.pack("<I", 2) + b"\xff\xfe",
        _message([1]),
        _message({}, b"tail"),
        _message({"sections": 1}),
        _message({"sections": [1]}),
        _message({"sections": [{"name": "a", "size": -1}]}),
        _message({"sections": [{"name": "a", "size": True}]}, b"x"),
        _message({"sections": [{"name": "a", "size": 5}]}, b"1234"),
        _message({"sections": [{"name": "a", "size": 1 << 70}]}, b"1234"),
        _message({"sections": [{"name": "a", "size": 1}, {"name": "a", "size": 1}]}, b"12"),
        _message({"sections": [{"name": 7, "size": 1}]}, b"1"),
        struct.pack("<I", 200000) + b"[" * 200000,
    ],
)
def test_malformed(message: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_message(message)
    reply, _ = decode_message(script.handle(message, None))
    assert reply["status"] == "E_INTERNAL"
    assert "malformed request" in reply["message"]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"v": 2, "op": "describe"},
        {"v": 1, "op": "launch"},
        {"v": 1, "op": "describe", "backend": "cuda"},
        {"v": 1, "op": "describe", "backend": "cuda", "source": 1, "name": "k"},
        {"v": 1, "op": "describe", "backend": "cuda", "source": "x", "name": "k", "text_section": True},
        {"v": 1, "op": "compile", "id": "0", "target": 5, "args": []},
        {"v": 1, "op": "compile", "id": None, "target": {"backend": "cuda", "arch": "90", "warp_size": 32}},
    ],
)
def test_requests_that_make_no_sense(request_: dict) -> None:
    reply, _ = decode_message(script.handle(encode_message(request_), None))
    assert reply["status"] == "E_INTERNAL", reply


def test_not_even_bytes() -> None:
    reply, _ = decode_message(script.handle(None, None))
    assert reply["status"] == "E_INTERNAL"
