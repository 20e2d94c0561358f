# SPDX-License-Identifier: Apache-2.0
"""Run as a program: kernels under vendors' target names and warp sizes, for test_vendors.py.

Names stay registered for the rest of a process, hence one of its own.
"""

from __future__ import annotations

import sys

import numpy as np
import triton
import triton.language as tl
import triton_jit_cpu
from runner import compile_kernel
from triton.backends import backends
from triton.backends.compiler import GPUTarget

# A name, an architecture as its vendor writes it, and its usual warp size.
VENDORS = {
    "cuda": (90, 32), "hip": ("gfx942", 64), "xpu": ("pvc", 16), "musa": ("31", 128), "mlu": ("590", 1),
    "npu": ("Ascend910B", 1), "maca": ("xcore1000", 64), "gcu": ("gcu400", 16), "sunrise": ("s2", 32),
}  # fmt: skip


@triton.jit
def mixed(x, y, w, out, counts, n, N: tl.constexpr):
    """A product, a softmax, a scan, atomics, a gather and a descriptor."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a, b = tl.load(x + at), tl.load(y + at)
    s = tl.dot(a, b) * tl.rsqrt(n.to(tl.float32))
    e = tl.exp(s - tl.max(s, 1)[:, None])
    p = e / tl.sum(e, 1)[:, None]
    d = tl.make_tensor_descriptor(w, [N, N], [N, 1], [N, N])
    d.store([0, 0], p)
    tl.store(out + at, tl.cumsum(tl.where(i[None, :] < n, p, 0.0), 1))
    tl.atomic_add(counts + tl.argmax(p, 1), 1)


def main() -> None:
    """Compiles and runs the kernel under every name, and under one name for every warp size."""
    triton_jit_cpu.register(VENDORS)
    assert set(backends) == {"cpu"}, backends
    targets = [GPUTarget(name, arch, warp) for name, (arch, warp) in VENDORS.items()]
    targets += [GPUTarget("musa", "31", warp) for warp in (1, 16, 32, 64)]
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    s = x.astype(np.float64) @ y / np.sqrt(13)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    hashes = set()
    for number, target in enumerate(targets):
        w, out, counts = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32), np.zeros(16, np.int32)
        args = dict(x=x, y=y, w=w, out=out, counts=counts, n=13, N=16)
        program, values = compile_kernel(mixed, args, target, num_warps=1 << number % 4, num_stages=2)
        metadata = program.compiled.metadata
        assert (metadata.target, metadata.warp_size) == (target, target.warp_size)
        assert metadata.num_warps == 1 << number % 4 and metadata.shared == 0
        hashes.add(metadata.hash)
        assert program.run((1,), values) == 0
        np.testing.assert_allclose(w, p, rtol=1e-4)
        np.testing.assert_allclose(out, np.cumsum(np.where(np.arange(16) < 13, p, 0), 1), rtol=1e-4)
        np.testing.assert_array_equal(counts, np.bincount(p.argmax(1), minlength=16))
        print(target.backend, target.warp_size)
    assert len(hashes) == len(targets)  # the target is part of Triton's cache key


if __name__ == "__main__":
    sys.exit(main())
