# SPDX-License-Identifier: Apache-2.0
"""What Python code prints while a request runs goes to the request's log, and only that.

``sys.stdout``, ``sys.stderr`` and ``warnings.showwarning`` are replaced while at least one request
runs. The replacements look up the request of the calling thread: what other threads print passes
through to the streams that were there before.
"""

from __future__ import annotations

import io
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ERROR, WARNING, INFO, DEBUG = 1, 2, 3, 4

Log = Callable[[int, str], object]

_thread = threading.local()
_lock = threading.Lock()
_users = 0
_replaced: tuple[Any, Any, Any, Any, Any, Any] | None = None


class Capture:
    """Collects the lines that one request prints and hands them to its log."""

    def __init__(self, log: Log | None) -> None:
        self._log = log
        self._partial = {WARNING: "", INFO: ""}

    def emit(self, level: int, text: str) -> None:
        """Log one text; a log that raises does not fail the request."""
        if self._log is None or not text:
            return
        inner, _thread.capture = current(), None  # what the callback itself prints is the host's
        try:
            self._log(level, text)
        except BaseException:  # noqa: BLE001 - a host's callback must not change a compile's result
            pass
        finally:
            _thread.capture = inner

    def write(self, level: int, text: str) -> None:
        """Take printed text; whole lines are logged at once."""
        *lines, self._partial[level] = (self._partial[level] + text).split("\n")
        if lines:
            self.emit(level, "\n".join(lines))

    def flush(self) -> None:
        """Log what was printed without a final newline."""
        for level, text in self._partial.items():
            self._partial[level] = ""
            self.emit(level, text)


class _Bytes(io.RawIOBase):
    """The ``buffer`` of a proxy: ``sys.stdout.buffer.write`` is captured too."""

    def __init__(self, proxy: _Proxy) -> None:
        super().__init__()
        self._proxy = proxy

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        capture = current()
        if capture is None:
            return self._proxy.original.buffer.write(data)
        data = bytes(data)
        capture.write(self._proxy.level, data.decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        self._proxy.flush()


class _Proxy(io.TextIOBase):
    """Stands for ``sys.stdout`` or ``sys.stderr``; everything but writing is the original's."""

    def __init__(self, original: Any, level: int) -> None:
        super().__init__()
        self.original = original  # may be None: a process without a console
        self.level = level
        self.buffer = _Bytes(self)

    def write(self, text: str) -> int:
        capture = current()
        if capture is not None:
            capture.write(self.level, str(text))
        elif self.original is not None:
            self.original.write(text)
        return len(text)

    def flush(self) -> None:
        if current() is None and self.original is not None:
            self.original.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return current() is None and self.original is not None and self.original.isatty()

    def fileno(self) -> int:
        if self.original is None:
            raise io.UnsupportedOperation("fileno")
        return self.original.fileno()

    @property
    def encoding(self) -> str:
        return getattr(self.original, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:
        return getattr(self.original, "errors", None) or "replace"

    def close(self) -> None:
        """Leave the host's stream open."""


def current() -> Capture | None:
    """The capture of the request that the calling thread runs, if any."""
    return getattr(_thread, "capture", None)


def warn(text: str) -> None:
    """Log a warning of this package for the running request."""
    capture = current()
    if capture is not None:
        capture.emit(WARNING, text)


def _install() -> None:
    global _replaced
    before = (sys.stdout, sys.stderr, warnings.showwarning)
    show_before = before[2]

    def showwarning(
        message: Any, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None
    ) -> None:
        capture = current()
        if capture is None or file is not None:
            show_before(message, category, filename, lineno, file, line)
        else:
            text = warnings.formatwarning(message, category, filename, lineno, line)
            capture.emit(WARNING, text.rstrip("\n"))

    ours = (_Proxy(before[0], INFO), _Proxy(before[1], WARNING), showwarning)
    sys.stdout, sys.stderr, warnings.showwarning = ours
    _replaced = (*before, *ours)


def _uninstall() -> None:
    """Put back what was there, unless the host has replaced it in the meantime."""
    global _replaced
    if _replaced is None:
        return
    out, err, show, our_out, our_err, our_show = _replaced
    _replaced = None
    if sys.stdout is our_out:
        sys.stdout = out
    if sys.stderr is our_err:
        sys.stderr = err
    if warnings.showwarning is our_show:
        warnings.showwarning = show


@contextmanager
def captured(log: Log | None) -> Iterator[Capture]:
    """Send what the calling thread prints to ``log``; may be nested."""
    global _users
    capture = Capture(log)
    outer = current()
    with _lock:
        if _users == 0:
            _install()
        _users += 1
    _thread.capture = capture
    try:
        yield capture
    finally:
        capture.flush()
        _thread.capture = outer
        with _lock:
            _users -= 1
            if _users == 0:
                _uninstall()
