# SPDX-License-Identifier: Apache-2.0
"""Inline assembly whose constraints fail an assertion in LLVM, which aborts."""

import triton
import triton.language as tl


@triton.jit
def failed_assertion(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=@,@", [tl.load(x + at)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + at, value)
