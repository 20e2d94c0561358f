# SPDX-License-Identifier: Apache-2.0
"""Stands in for scripts/standalone_compile.py: answers, prints, misbehaves and dies on request.

Needs nothing but Python, so that the C side can be tested without Triton.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

NUMBERS = itertools.count()


def encode(body: dict[str, Any], section: bytes | None = None) -> bytes:
    """Build a message with at most one section."""
    if section is not None:
        body = {**body, "sections": [{"name": "data", "size": len(section)}]}
    text = json.dumps(body).encode()
    return struct.pack("<I", len(text)) + text + (section or b"")


def facts() -> dict[str, Any]:
    """What this process was given."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    ignored = [int(number) for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN]
    return {
        "pid": os.getpid(),
        "number": next(NUMBERS),  # of this request, in the order in which they are served
        "parent": os.getppid(),
        "fds": sorted(int(name) for name in os.listdir("/proc/self/fd")),
        "blocked": sorted(int(number) for number in blocked),
        "ignored": sorted(ignored),
        "leads_session": os.getsid(0) == os.getpid(),
        "utf8": sys.flags.utf8_mode,
        "executable": sys.executable,
        "argv0": sys.argv[0],
        "prefix": sys.prefix,
        "path": sys.path,
        "version": list(sys.version_info[:2]),
    }


def handle(request: bytes, log: Callable[[int, str], object] | None) -> bytes:
    """Answer one request."""
    (size,) = struct.unpack_from("<I", request)
    body = json.loads(request[4 : 4 + size])
    op = body["op"]
    if op == "raise":
        raise RuntimeError("raised on request")
    if op == "not_bytes":
        return 5  # type: ignore[return-value]
    if op == "exit":
        os.write(2, b"last words\n")
        os._exit(3)
    if op == "abort":
        os.write(2, b"about to abort\n")
        os.abort()
    if op == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if op == "noise":
        for number in range(20000):
            os.write(2, b"noise line %d\n" % number)
        if body.get("then") == "exit":
            os._exit(4)
    if op == "sleep":
        time.sleep(body["seconds"])
    if op == "log" and log is not None:
        for number in range(body["count"]):
            log(3, f"log line {number}")
        log(2, "two\nlines")
    if op == "print":
        print("printed")
    if op == "die_later":
        threading.Timer(body["seconds"], lambda: os._exit(5)).start()
    section = bytes(body["size"]) if op == "big" else None
    return encode({"v": 1, "status": "OK", "op": op, "received": len(request), **facts()}, section)


RAW = {  # what is written to the socket instead of a frame; then the process waits
    "garbage_text": b"Hello, this is printed text and no frame 1234567890",
    "garbage_space": b"ab  cdefgh  this begins like a frame of half a gigabyte",
    "oversize": struct.pack("<I", 0x40000001) + b"xxxx",
    "small": struct.pack("<I", 3) + b"abc",
    "bad_json_size": struct.pack("<II", 100, 97) + b"{",
    "half": struct.pack("<II", 100, 20) + b'{"v":1',
}


def serve() -> None:
    """Answer frames on descriptors 0 and 1."""

    def read(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(0, size - len(data))
            if not part:
                sys.exit(0)
            data += part
        return data

    def write(message: bytes) -> None:
        data = memoryview(struct.pack("<I", len(message)) + message)
        while data:
            data = data[os.write(1, data) :]

    while True:
        (size,) = struct.unpack("<I", read(4))
        request = read(size)
        (json_size,) = struct.unpack_from("<I", request)
        op = json.loads(request[4 : 4 + json_size])["op"]
        if op in RAW:
            os.write(1, RAW[op])
            if op == "half":
                os._exit(6)
            time.sleep(60)
        if op == "close":  # gone from the socket, but not dead
            os.close(0)
            os.close(1)
            time.sleep(60)
        write(handle(request, lambda level, text: write(encode({"log": {"level": level, "text": text}}))))
        if op == "unasked":
            os.write(1, b"more")


if __name__ == "__main__":
    serve()
