# SPDX-License-Identifier: Apache-2.0
"""A kernel of which tests make many variants."""

import triton
import triton.language as tl


@triton.jit
def block_ids_plus(out, n, BLOCK: tl.constexpr, PLUS: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.program_id(0) + PLUS, mask=o < n)
