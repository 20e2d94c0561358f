# SPDX-License-Identifier: Apache-2.0
"""The one exception that becomes an error reply, and how other exceptions turn into it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_HIDDEN = (_OWN_FOLDER, "<frozen importlib")


class Failure(Exception):
    """A request that failed: ``status`` is a wire name such as ``E_SYNTAX``."""

    def __init__(self, status: str, message: str, traceback_text: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.traceback_text = traceback_text


def user_traceback(error: BaseException) -> str:
    """The traceback of ``error`` without the frames of this package and of importlib."""
    record = traceback.TracebackException.from_exception(error)
    _drop_own_frames(record, set())
    return "".join(record.format())


def _drop_own_frames(record: traceback.TracebackException | None, seen: set[int]) -> None:
    if record is None or id(record) in seen:
        return
    seen.add(id(record))
    record.stack[:] = [frame for frame in record.stack if not frame.filename.startswith(_HIDDEN)]
    _drop_own_frames(record.__cause__, seen)
    _drop_own_frames(record.__context__, seen)


def causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it was raised from, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def last_user_frame(error: BaseException) -> traceback.FrameSummary | None:
    """The innermost frame of ``error`` that lies outside this package and importlib."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HIDDEN)]
    return frames[-1] if frames else None


def text_of(error: BaseException) -> str:
    """``str(error)``, also where that itself raises."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a user's __str__
        return "(its text cannot be had)"


def os_error_text(error: OSError) -> str:
    """errno text of an OSError, without Python's class name."""
    return error.strerror or str(error) or type(error).__name__


def from_source_error(error: BaseException, source: str) -> Failure:
    """What loading ``source`` raised, as a failure that names file, line and source text."""
    if isinstance(error, Failure):
        return error
    text = user_traceback(error)
    if isinstance(error, MemoryError):
        return Failure("E_OUT_OF_MEMORY", f"out of memory while loading {source}", text)
    if isinstance(error, SyntaxError):
        return Failure("E_SYNTAX", _syntax_message(error, source), text)
    frame = last_user_frame(error)
    where = f"{frame.filename}:{frame.lineno}" if frame else source
    line = f"\n    {frame.line}" if frame and frame.line else ""
    name = type(error).__name__
    detail = f": {text_of(error)}" if text_of(error) else ""
    if isinstance(error, ImportError):
        hint = ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            hint = (
                f"\ninstall the module '{error.name.partition('.')[0]}' for the Python that compiles, "
                "put it next to the file, or add its folder to PYTHONPATH"
            )
        return Failure("E_IMPORT", f"{where}: {name}{detail}{line}{hint}", text)
    return Failure("E_SOURCE_RAISED", f"{where}: the source raised {name}{detail} while it was loaded{line}", text)


def _syntax_message(error: SyntaxError, source: str) -> str:
    where = f"{error.filename or source}:{error.lineno or 0}"
    message = f"{where}: {type(error).__name__}: {error.msg}"
    if error.text:
        line = error.text.rstrip("\n")
        message += f"\n    {line}"
        if error.offset and error.offset > 0:
            message += "\n    " + " " * (error.offset - 1) + "^"
    return message
