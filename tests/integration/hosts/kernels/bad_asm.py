# SPDX-License-Identifier: Apache-2.0
"""Inline assembly with constraints that LLVM refuses: it ends the process, or prints and goes on."""

import triton
import triton.language as tl


@triton.jit
def bad_asm(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=k,k", [tl.load(x + at)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + at, value)
