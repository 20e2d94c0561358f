# SPDX-License-Identifier: Apache-2.0
"""Measures what the first call of a kernel costs after Triton's front end: the generator and the C compiler.

    compile_time.py <library> --child <file for the numbers>

Every variant is new: the cache is a folder of this run, and each repetition asks for another block size.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts")]

import numpy as np  # noqa: E402
from triton_jit_ctypes import Library, dtype  # noqa: E402

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


def _timed(spent: dict[str, list[float]], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **more: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **more)
        finally:
            spent.setdefault(name, []).append(time.perf_counter() - start)

    return run


def main(library: str, file: str) -> None:
    """Compiles each kernel several times."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        # The library compiles in the interpreter of its process, which is this one.
        from triton_jit_cpu.backend import CpuBackend

        spent: dict[str, list[float]] = {}
        CpuBackend.make_c = staticmethod(_timed(spent, "generator", CpuBackend.make_c))  # type: ignore[method-assign]
        CpuBackend.make_so = staticmethod(_timed(spent, "cc", CpuBackend.make_so))  # type: ignore[method-assign]
        tj = Library(library)
        x = np.zeros(1 << 16, np.float32)
        # What only the very first compile of a process pays is imports; it is bench_miss that shows that.
        tj.function(KERNELS / "elementwise.py", "add").prepare(x, x, x, 1024, 64)
        softmax = tj.function(KERNELS / "rows.py", "softmax")
        matmul = tj.function(KERNELS / "matmul.py", "matmul")
        rows = []
        for name, reach, variants in (
            ("softmax", 0.5, [(softmax, (x, x, n - 3, n)) for n in (256, 512, 1024, 2048, 4096)]),
            ("matmul", 1.5, [(matmul, (x, x, x, 9, 9, 9, 64, 64, k, 8, dtype("fp32"))) for k in (16, 32, 64, 128)]),
        ):
            spent.clear()
            for function, args in variants:
                function.prepare(*args)
            rows.append({"kernel": name, "reach": reach, **{k: statistics.median(v) for k, v in spent.items()}})
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3])
