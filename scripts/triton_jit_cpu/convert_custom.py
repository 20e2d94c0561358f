# SPDX-License-Identifier: Apache-2.0
"""Conversions of fp8e4b15, which MLIR has no type for and Triton carries as bytes."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language import core


def convert_custom_float8(arg: Any, dst_ty: Any, fp_downcast_rounding: Any, _semantic: Any = None) -> Any:
    """fp8e4b15 to or from any floating-point type, through fp16."""
    del fp_downcast_rounding
    if arg.type.scalar.is_fp8e4b15():
        half = core.extern_elementwise(
            "", "", [arg], {(tl.float8e4b15,): ("tj_e4b15_to_f16", tl.float16)}, is_pure=True, _semantic=_semantic
        )
        return half if dst_ty.scalar == tl.float16 else _semantic.cast(half, dst_ty)
    half = arg
    if arg.type.scalar != tl.float16:  # as on GPUs: towards zero first, then to nearest
        half = _semantic.cast(arg, tl.float16, "rtz" if arg.type.scalar == tl.float32 else None)
    return core.extern_elementwise(
        "", "", [half], {(tl.float16,): ("tj_f16_to_e4b15", tl.float8e4b15)}, is_pure=True, _semantic=_semantic
    )
