# SPDX-License-Identifier: Apache-2.0
"""The worker: answers framed requests on stdin until it is closed.

The process keeps the frames to itself: descriptor 1 becomes a copy of descriptor 2, so nothing
that a kernel file or a library prints can get between them. What C++ code writes to descriptor 2
is read back (native_output.py): a compile that printed an error did not succeed, whatever it
returned.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from typing import Any

from .cache import discard
from .native_output import NativeOutput, error_lines
from .output import WARNING
from .protocol import MalformedMessage, decode_message, encode_message, read_frame, write_frame
from .service import handle
from .snapshot import known
from .triton_api import triton_api

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_POLL_SECONDS = 1.0


def serve() -> int:
    """Serve requests; returns the exit status."""
    parent = os.getppid()
    frames_in, frames_out = os.dup(_STDIN), os.dup(_STDOUT)
    with open(os.devnull, "rb") as null:
        os.dup2(null.fileno(), _STDIN)
    os.dup2(_STDERR, _STDOUT)
    _stay_quiet()
    native = NativeOutput.start(frames_out, close_in_child=frames_in)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            request = read_frame(frames_in)
        except EOFError:
            return 0
        except (MalformedMessage, OSError) as error:
            sys.stderr.write(f"libtriton_jit worker: {error}\n")
            return 1
        try:
            write_frame(frames_out, _answer(request, frames_out, native))
        except BrokenPipeError:
            return 0
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # LLVM installs its own handlers when it compiles


def _stay_quiet() -> None:
    """Ctrl-C in the host's terminal is the host's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.setsid()
    except OSError:  # leads a process group already
        pass


def _end_with(parent: int) -> None:
    """End when the parent process is gone, even in the middle of a compile.

    PR_SET_PDEATHSIG would also fire when only the *thread* that started the worker ends.
    """
    try:
        watched = os.pidfd_open(parent)
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        if os.getppid() == parent:
            poll.poll()
    except (OSError, AttributeError):  # no pidfd here
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
    os._exit(0)


def _answer(request: bytes, frames_out: int, native: NativeOutput) -> bytes:
    def log(level: int, text: str) -> None:
        write_frame(frames_out, encode_message({"log": {"level": level, "text": text}}))

    native.take()
    reply = handle(request, log)
    printed = native.take()
    if not printed.strip():
        return reply
    body, sections = decode_message(reply)
    errors = error_lines(printed)
    if body.get("status") == "OK" and "hash" in body and errors:
        return _refuse(request, body, printed, errors)
    if body.get("status") not in ("OK", "NEED_SNAPSHOT"):
        body["message"] = f"{body.get('message', '')}\noutput of the compiler:\n{printed.rstrip()}"
        return encode_message(body)
    log(WARNING, printed.rstrip("\n"))
    return reply


def _refuse(request: bytes, body: dict[str, Any], printed: str, errors: str) -> bytes:
    """Turn a compile that printed errors into a failure, and keep its artifact out of the disk cache."""
    asked, _ = decode_message(request)
    function = known(asked["id"])
    name, path = str(body.get("name")), ""
    if function is not None:
        discard(triton_api(), str(body["hash"]), function.jit.__name__)
        name, path = function.name, f" ({function.location.path})"
    message = f"kernel '{name}'{path}: the compiler printed an error:\n{errors}"
    return encode_message({"v": 1, "status": "E_COMPILE", "message": message, "traceback": printed})
