# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in the CPU code generator.

Every class has ``status``, the name of the library's status for it, and a message that
says what failed, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Loc
from .location import chain, user_frames, where


class CpuError(Exception):
    """Base of all errors raised by this package."""

    status = "E_COMPILE"
    explains = True  # the message says it all: nobody needs the traceback


class UnsupportedOp(CpuError):
    """The kernel uses an operation that the CPU backend cannot express.

    The message has the operation, the place and text of its source line, and the calls that lead
    there. Where only types are at hand, ``at`` is None and whoever lowers the operation tells the
    place with ``located``; a caller of the function that it stands in adds itself with ``called_from``.
    """

    status = "E_COMPILE"

    def __init__(self, op: str, at: Loc | None, why: str = "") -> None:
        self.op = op
        self.loc = at
        self.why = why
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"{where(self.loc or Loc())}: the CPU backend has no lowering for '{self.op}'"
        lines = [f"{text}: {self.why}" if self.why else text, *chain(self.loc or Loc())]
        return "\n".join(lines)

    def located(self, at: Loc) -> UnsupportedOp:
        """Tells the place, if it is not known yet."""
        if self.loc is None or not self.loc.frames:
            self.loc = at
            self.args = (self._text(),)
        return self

    def called_from(self, call: Loc) -> None:
        """Adds a call of the function in which the operation stands."""
        mine = self.loc or Loc()
        self.loc = Loc(mine.frames + user_frames(call), mine.name)
        self.args = (self._text(),)


class BadTtir(CpuError):
    """The TTIR text could not be read. Points at a Triton release that is not known yet."""

    status = "E_COMPILE"
    explains = False


class BadOption(CpuError, ValueError):
    """A compile option or environment variable has a value that it cannot have."""

    status = "E_OPTION_VALUE"


class CompilerMissing(CpuError):
    """No C compiler on this machine, or the one asked for cannot be run."""

    status = "E_NO_C_COMPILER"


class CompilerFailed(CpuError):
    """The C compiler ran and failed."""

    status = "E_C_COMPILER"

    def __init__(self, command: Sequence[str], code: int, output: str) -> None:
        self.command = list(command)
        self.output = output
        how = f"killed by signal {-code}" if code < 0 else f"exit status {code}"
        line = " ".join(_quote(part) for part in command)
        super().__init__(f"the C compiler failed ({how}): {line}\n{output.strip() or '(it printed nothing)'}")


class XdslMissing(CpuError, ModuleNotFoundError):
    """The Python package xdsl, which reads TTIR, is not installed."""

    status = "E_NO_XDSL"

    def __init__(self, detail: str = "") -> None:
        text = (
            "the CPU backend reads Triton's TTIR with the Python package 'xdsl', which is not importable"
            " in this Python; install it with: python3 -m pip install xdsl"
        )
        super().__init__(f"{text} ({detail})" if detail else text)
        self.name = "xdsl"


class ScratchFolder(CpuError):
    """No folder for the compiler's temporary files could be written."""

    status = "E_IO"


def _quote(part: str) -> str:
    """One argument of a command line as a shell would need it."""
    import shlex

    return shlex.quote(part)
