# SPDX-License-Identifier: Apache-2.0
"""Imported by language.py."""

import triton
import triton.language as tl

SCALE = tl.constexpr(1000)
_OFFSET = tl.constexpr(100)


@triton.jit
def add_offset(x, y=_OFFSET):
    return x + y
