# SPDX-License-Identifier: Apache-2.0
"""A good kernel, in a file that prints and warns while it is imported."""

import sys
import warnings

import triton
import triton.language as tl

print("printed to stdout")
print("printed to stderr", file=sys.stderr)
warnings.warn("warned", stacklevel=1)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)
