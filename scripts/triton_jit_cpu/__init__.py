# SPDX-License-Identifier: Apache-2.0
"""The CPU code generator: a Triton backend that lowers TTIR to C.

``register()`` makes ``triton.compile(..., target=GPUTarget("cpu", "native", 1))`` work in this
process. The artifact is a shared object with the two symbols of cpu_abi.h.

The way of a kernel: backend.py (Triton's plugin) runs Triton's passes; ttir.py reads the text into
ir.py's values; sanitize/ adds checks where asked for; for each function plan.py decides which tiles
are stored, func.py writes it with the lowerings of ops/ (all listed in optable.py), tiles as the
loops of nest/; module.py puts functions, helpers of c/ and entry points together; toolchain.py
compiles it.
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
