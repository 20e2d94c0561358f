# SPDX-License-Identifier: Apache-2.0
"""The CPU code generator: a Triton backend that lowers TTIR to C.

``register()`` makes ``triton.compile(..., target=GPUTarget("cpu", "native", 1))`` work in this
process. The artifact is a shared object with the two symbols of cpu_abi.h.
"""

from __future__ import annotations

from collections.abc import Iterable

from .errors import (
    BadTtir,
    CompilerFailed,
    CompilerMissing,
    CpuError,
    ScratchFolder,
    UnsupportedOp,
    XdslMissing,
)

__all__ = [
    "BadTtir", "CompilerFailed", "CompilerMissing", "CpuError", "ScratchFolder", "UnsupportedOp", "XdslMissing",
    "register",
]  # fmt: skip


def register(names: Iterable[str] = ("cpu",)) -> None:
    """Registers the backend in this process; see backend.register."""
    from .backend import register as register_backend

    register_backend(names)
