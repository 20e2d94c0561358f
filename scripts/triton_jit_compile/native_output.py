# SPDX-License-Identifier: Apache-2.0
"""What is written to descriptor 2 by any code of the process, C++ included.

Descriptor 2 becomes a pipe to a small forked process that passes every byte on to the real one and
keeps a copy for the worker. A separate process, because the last words of a compiler that calls
``abort`` have to reach the parent too; it holds the frame pipe open until they have.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket

_CHUNK = 1 << 16
_KEPT = 1 << 20  # bytes of output that are kept for the worker; all of it is passed on
_ERROR_LINE = re.compile(r"(?:^|[\s:])(?:fatal )?error: |LLVM ERROR: ")


def error_lines(text: str) -> str:
    """The lines that report an error, each with the lines that follow it up to the next message."""
    lines = text.splitlines()
    found = [number for number, line in enumerate(lines) if _ERROR_LINE.search(line)]
    return "\n".join(lines[found[0] :]) if found else ""


class NativeOutput:
    """The worker's side of the copying process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    @staticmethod
    def start(held_open: int, close_in_child: int) -> NativeOutput:
        """Fork the copying process; call before there are threads.

        ``held_open`` stays open in it, so that whoever waits for the end of the frames has the
        output first; the worker's request pipe ``close_in_child`` does not.
        """
        read_end, write_end = os.pipe()
        ours, theirs = socket.socketpair()
        target = os.dup(2)
        if os.fork() == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGPIPE, signal.SIG_IGN)
                for fd in (write_end, ours.fileno(), close_in_child, 0, 1, 2):
                    os.close(fd)
                _copy(read_end, target, theirs)
            finally:
                os._exit(0)
        os.close(read_end)
        os.close(target)
        theirs.close()
        os.dup2(write_end, 2)
        os.dup2(write_end, 1)
        os.close(write_end)
        return NativeOutput(ours)

    def take(self) -> str:
        """What was written since the last call."""
        try:
            self._control.sendall(b"?")
            size = int.from_bytes(_receive(self._control, 4), "little")
            return _receive(self._control, size).decode("utf-8", "replace")
        except OSError:  # the copying process is gone
            return ""


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, _CHUNK))
        if not part:
            raise ConnectionError("the copying process ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _copy(source: int, target: int, control: socket.socket) -> None:
    """Pass output on; answer each question with what came since the last one.

    The worker's death shows as the end of ``control``, which no program that it started holds
    open; the pipe itself may be held by one of those.
    """
    os.set_blocking(source, False)
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(control, select.POLLIN)
    kept = bytearray()
    while True:
        ready = {fd for fd, _ in poll.poll()}
        asked = control.fileno() in ready and control.recv(1)
        ended = control.fileno() in ready and not asked
        if not _drain(source, target, kept) and not asked and not ended:
            poll.unregister(source)
        if ended:
            return
        if asked:
            control.sendall(len(kept).to_bytes(4, "little") + kept)
            kept.clear()


def _drain(source: int, target: int, kept: bytearray) -> bool:
    """Move what is in the pipe; False at its end."""
    while True:
        try:
            data = os.read(source, _CHUNK)
        except BlockingIOError:
            return True
        if not data:
            return False
        kept += data[: _KEPT - len(kept)]
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(target, view) :]
            except BrokenPipeError:
                break
            except BlockingIOError:
                select.select([], [target], [])
