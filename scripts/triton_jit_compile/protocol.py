# SPDX-License-Identifier: Apache-2.0
"""Messages and frames.

A message is ``u32 size of the JSON (little endian), JSON in UTF-8, sections back to back``; the
JSON's ``sections`` list names them in order with their sizes. On a pipe a frame is ``u32 size``
and the message. Requests and replies have the same form.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable
from typing import Any

MAX_MESSAGE = 1 << 30
_SIZE = struct.Struct("<I")


class MalformedMessage(ValueError):
    """Bytes that are not a message."""


def encode_message(body: dict[str, Any], sections: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """Build the bytes of a message."""
    parts = list(sections)
    if parts:
        body = {**body, "sections": [{"name": name, "size": len(data)} for name, data in parts]}
    # a lone surrogate, as in a path that is not UTF-8, has no place in a message
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    message = b"".join([_SIZE.pack(len(text)), text, *(data for _, data in parts)])
    if len(message) > MAX_MESSAGE:
        raise MalformedMessage(f"a message of {len(message)} bytes exceeds {MAX_MESSAGE}")
    return message


def decode_message(message: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Take a message apart; raises MalformedMessage."""
    if len(message) < _SIZE.size:
        raise MalformedMessage(f"{len(message)} bytes are too few for a message")
    (json_size,) = _SIZE.unpack_from(message)
    start = _SIZE.size + json_size
    if start > len(message):
        raise MalformedMessage(f"a JSON part of {json_size} bytes in a message of {len(message)}")
    try:
        body = json.loads(message[_SIZE.size : start].decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise MalformedMessage(f"the JSON part does not parse: {error}") from None
    if not isinstance(body, dict):
        raise MalformedMessage("the JSON part is not an object")
    listed = body.get("sections", [])
    if not isinstance(listed, list):
        raise MalformedMessage("'sections' is not a list")
    sections: dict[str, bytes] = {}
    for entry in listed:
        if not isinstance(entry, dict):
            raise MalformedMessage("a section is not an object")
        name, size = entry.get("name"), entry.get("size")
        if not isinstance(name, str) or type(size) is not int or size < 0:
            raise MalformedMessage(f"a section has no name and size: {entry!r}")
        if size > len(message) - start:
            raise MalformedMessage(f"section '{name}' of {size} bytes reaches past the end")
        if name in sections:
            raise MalformedMessage(f"section '{name}' occurs twice")
        sections[name] = message[start : start + size]
        start += size
    if start != len(message):
        raise MalformedMessage(f"{len(message) - start} bytes after the last section")
    return body, sections


def _read_exactly(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_frame(fd: int) -> bytes:
    """Read one frame; raises EOFError when the other side closed the pipe."""
    (size,) = _SIZE.unpack(_read_exactly(fd, _SIZE.size))
    if size > MAX_MESSAGE:
        raise MalformedMessage(f"a frame of {size} bytes exceeds {MAX_MESSAGE}")
    return _read_exactly(fd, size)


def write_frame(fd: int, message: bytes) -> None:
    """Write one frame."""
    data = memoryview(_SIZE.pack(len(message)) + message)
    while data:
        data = data[os.write(fd, data) :]
