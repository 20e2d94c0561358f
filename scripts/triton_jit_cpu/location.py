# SPDX-License-Identifier: Apache-2.0
"""Places in the Triton source, and how messages name them."""

from __future__ import annotations

import linecache
import os

from .ir import Loc

_TRITON_LANGUAGE = os.sep + os.path.join("triton", "language") + os.sep

Frame = tuple[str, int]


def user_frames(loc: Loc) -> tuple[Frame, ...]:
    """The call chain, innermost frame first, from the first one outside Triton's own language package."""
    for number, frame in enumerate(loc.frames):
        if _TRITON_LANGUAGE not in frame[0]:
            return loc.frames[number:]
    return loc.frames


def user_frame(loc: Loc) -> Frame | None:
    """The innermost frame that is not inside Triton's own language package."""
    frames = user_frames(loc)
    return frames[0] if frames else None


def place(frame: Frame | None) -> str:
    """``file:line``."""
    return f"{frame[0]}:{frame[1]}" if frame else "unknown location"


def where(loc: Loc) -> str:
    """``file:line`` of a location: the innermost frame in user code."""
    return place(user_frame(loc))


def source_line(frame: Frame | None) -> str:
    """The text of a source line without its indentation; "" where the file cannot be read."""
    return linecache.getline(*frame).strip() if frame else ""


def chain(loc: Loc) -> list[str]:
    """The lines of a message behind its first: the source text, and who called the function it stands in."""
    frames = user_frames(loc)
    lines = []
    for number, frame in enumerate(frames):
        if number:
            lines.append(f"  called from {place(frame)}")
        text = source_line(frame)
        if text:
            lines.append(f"    {text}")
    return lines
