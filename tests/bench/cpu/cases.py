# SPDX-License-Identifier: Apache-2.0
"""What is measured: for each family its sizes, and how ours, torch and NumPy do it.

All work on the same input tensors, and write into tensors that were made before wherever torch's operator can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from triton_jit_ctypes import Arg, Library, byref, dtype, ptr

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
Call = Callable[[], Any]

_DTYPES = {
    torch.float32: "fp32", torch.bfloat16: "bf16", torch.int8: "i8", torch.int32: "i32", torch.int64: "i64",
}  # fmt: skip


@dataclass
class Case:
    """One line of the table: the candidates, where they leave their results, and the work of a call."""

    candidates: dict[str, Call]
    results: dict[str, torch.Tensor] = field(default_factory=dict)
    tolerance: float = 1e-5
    bytes: int = 0
    flops: int = 0

    def check(self) -> None:
        """Runs every candidate once; their results must be torch's."""
        results = {name: call() for name, call in self.candidates.items()}
        results |= self.results
        want = results["torch"].float()
        for name, got in results.items():
            if isinstance(got, np.ndarray):
                got = torch.from_numpy(got)
            torch.testing.assert_close(
                got.float(),
                want,
                rtol=self.tolerance,
                atol=self.tolerance,
                msg=lambda text, name=name: f"{name}: {text}",
            )


@dataclass(frozen=True)
class Family:
    """A kind of kernel. ``reach`` is the speed relative to torch's that we want (0: any), ``sizes`` go from the first
    cache to memory; the first two make a quick run."""

    name: str
    make: Callable[..., Case]
    sizes: tuple[tuple[Any, ...], ...]
    reach: float = 0.0


class Kernels:
    """Our side: ``kernels("rows.softmax", grid, ...)`` is a call that is ready to be made again and again."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def __call__(self, name: str, grid: tuple[int, ...], *args: Any) -> Call:
        module, _, function_name = name.partition(".")
        function = self.library.function(KERNELS / f"{module}.py", function_name)
        launch, array, count = function._call(grid, [self._arg(a) for a in args], None, {})
        call, handle, launch_ref, check = (
            self.library.c.tj_function_call,
            function.handle,
            byref(launch),
            self.library.check,
        )
        kept = (function, launch)

        def run() -> None:
            status = call(handle, launch_ref, array, count)
            if status:
                check(status)

        run.kept = kept  # type: ignore[attr-defined]
        return run

    @staticmethod
    def _arg(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        made: Arg = ptr(value.data_ptr(), _DTYPES[value.dtype])
        made.keep = value
        return made


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _size_in_bytes(*tensors: torch.Tensor) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


# ---- elementwise ----------------------------------------------------------------------------------


def _add(kernels: Kernels, n: int) -> Case:
    x, y = torch.randn(n), torch.randn(n)
    ours, theirs, numpy = torch.empty(n), torch.empty(n), np.empty(n, np.float32)
    xn, yn = x.numpy(), y.numpy()
    block = 4096
    return Case(
        {
            "ours": kernels("elementwise.add", (_cdiv(n, block),), x, y, ours, n, block),
            "torch": lambda: torch.add(x, y, out=theirs),
            "numpy": lambda: np.add(xn, yn, out=numpy),
        },
        {"ours": ours},
        bytes=_size_in_bytes(x, y, ours),
    )


_compiled_gelu = torch.compile(lambda x, y: x * functional.gelu(x + y), dynamic=False)


def _gelu_chain(kernels: Kernels, n: int) -> Case:
    x, y = torch.randn(n), torch.randn(n)
    ours, s, g, theirs = torch.empty(n), torch.empty(n), torch.empty(n), torch.empty(n)
    block = 4096

    def eager() -> torch.Tensor:
        torch.add(x, y, out=s)
        torch.ops.aten.gelu.out(s, out=g)
        return torch.mul(x, g, out=theirs)

    return Case(
        {
            "ours": kernels("elementwise.gelu_chain", (_cdiv(n, block),), x, y, ours, n, block),
            "torch": eager,
            "compiled": lambda: _compiled_gelu(x, y),
        },
        {"ours": ours},
        bytes=_size_in_bytes(x, y, ours),
    )


# ---- rows -----------------------------------------------------------------------------------------

_LONG = 16384  # rows beyond this are walked in blocks
_BLOCK = 4096
_ROW_SIZES = ((16, 256), (128, 512), (1024, 1024), (4096, 4096), (8192, 1000), (64, 262144))


def _row_kernel(kernels: Kernels, name: str, rows: int, columns: int, *args: Any) -> Call:
    if columns > _LONG:
        return kernels(f"rows.{name}_long", (rows,), *args, columns, _BLOCK)
    return kernels(f"rows.{name}", (rows,), *args, columns, _power_of_two(columns))


def _softmax(kernels: Kernels, rows: int, columns: int) -> Case:
    x = torch.randn(rows, columns)
    ours, theirs, numpy = torch.empty_like(x), torch.empty_like(x), np.empty((rows, columns), np.float32)
    xn = x.numpy()

    def with_numpy() -> np.ndarray:
        np.subtract(xn, xn.max(axis=1, keepdims=True), out=numpy)
        np.exp(numpy, out=numpy)
        return np.divide(numpy, numpy.sum(axis=1, keepdims=True), out=numpy)

    return Case(
        {
            "ours": _row_kernel(kernels, "softmax", rows, columns, x, ours),
            "torch": lambda: torch.softmax(x, 1, out=theirs),
            "numpy": with_numpy,
        },
        {"ours": ours},
        bytes=_size_in_bytes(x, ours),
    )


def _layer_norm(kernels: Kernels, rows: int, columns: int) -> Case:
    x, weight, bias = torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)
    ours, theirs, mean, scale = torch.empty_like(x), torch.empty_like(x), torch.empty(rows, 1), torch.empty(rows, 1)
    xn, wn, bn = x.numpy(), weight.numpy(), bias.numpy()

    def with_torch() -> torch.Tensor:
        torch.ops.aten.native_layer_norm.out(x, [columns], weight, bias, 1e-5, out0=theirs, out1=mean, out2=scale)
        return theirs

    def with_numpy() -> np.ndarray:
        centred = xn - xn.mean(axis=1, keepdims=True)
        variance = np.square(centred).mean(axis=1, keepdims=True)
        return centred / np.sqrt(variance + 1e-5) * wn + bn

    block = _power_of_two(columns)
    return Case(
        {
            "ours": kernels("rows.layer_norm", (rows,), x, weight, bias, ours, columns, 1e-5, block),
            "torch": with_torch,
            "numpy": with_numpy,
        },
        {"ours": ours},
        bytes=_size_in_bytes(x, ours),
        tolerance=1e-4,
    )


def _row_sum(kernels: Kernels, rows: int, columns: int) -> Case:
    x = torch.randn(rows, columns)
    ours, theirs, xn = torch.empty(rows), torch.empty(rows), x.numpy()
    return Case(
        {
            "ours": _row_kernel(kernels, "row_sum", rows, columns, x, ours),
            "torch": lambda: torch.sum(x, 1, out=theirs),
            "numpy": lambda: xn.sum(axis=1),
        },
        {"ours": ours},
        bytes=_size_in_bytes(x),
        tolerance=1e-2,
    )


def _cumsum(kernels: Kernels, rows: int, columns: int) -> Case:
    x = torch.randn(rows, columns)
    ours, theirs, numpy = torch.empty_like(x), torch.empty_like(x), np.empty((rows, columns), np.float32)
    xn = x.numpy()
    return Case(
        {
            "ours": _row_kernel(kernels, "cumsum", rows, columns, x, ours),
            "torch": lambda: torch.cumsum(x, 1, out=theirs),
            "numpy": lambda: np.cumsum(xn, axis=1, out=numpy),
        },
        {"ours": ours},
        bytes=_size_in_bytes(x, ours),
        tolerance=1e-1 if columns > _LONG else 1e-2,
    )


# ---- moves ----------------------------------------------------------------------------------------


def _transpose(kernels: Kernels, rows: int, columns: int) -> Case:
    x = torch.randn(rows, columns)
    ours, theirs, numpy = torch.empty(columns, rows), torch.empty(columns, rows), np.empty((columns, rows), np.float32)
    xn, block_r, block_c = x.numpy(), 8, 128
    return Case(
        {
            "ours": kernels(
                "moves.transpose",
                (_cdiv(rows, block_r), _cdiv(columns, block_c)),
                *(x, ours, rows, columns, block_r, block_c),
            ),
            "torch": lambda: theirs.copy_(x.t()),
            "numpy": lambda: np.copyto(numpy, xn.T),
        },
        {"ours": ours, "numpy": torch.from_numpy(numpy)},
        bytes=_size_in_bytes(x, ours),
    )


def _gather(kernels: Kernels, table_rows: int, width: int, n: int) -> Case:
    table, index = torch.randn(table_rows, width), torch.randint(table_rows, (n,))
    ours, theirs, numpy = torch.empty(n, width), torch.empty(n, width), np.empty((n, width), np.float32)
    table_n, index_n = table.numpy(), index.numpy()
    return Case(
        {
            "ours": kernels("moves.gather_rows", (n,), table, index, ours, width, _power_of_two(width)),
            "torch": lambda: torch.index_select(table, 0, index, out=theirs),
            "numpy": lambda: np.take(table_n, index_n, axis=0, out=numpy, mode="clip"),
        },
        {"ours": ours},
        bytes=2 * _size_in_bytes(ours),
    )


# ---- products -------------------------------------------------------------------------------------

# M, N, K of a tile, rows of tiles in a group
_TILES = {torch.float32: (128, 128, 64, 4), torch.bfloat16: (128, 128, 128, 4), torch.int8: (128, 128, 128, 4)}
_CUBES = ((64,), (256,), (1024,), (2048,))


def _matmul(kind: torch.dtype, kernels: Kernels, n: int) -> Case:
    if kind == torch.int8:
        a, b = (torch.randint(-128, 128, (n, n), dtype=kind) for _ in range(2))
        ours, theirs, sums = torch.empty(n, n, dtype=torch.int32), torch.empty(n, n, dtype=torch.int32), "i32"
        candidates: dict[str, Call] = {"torch": lambda: torch.ops.aten._int_mm.out(a, b, out=theirs)}
    else:
        a, b = (torch.randn(n, n).to(kind) for _ in range(2))
        ours, theirs, sums = torch.empty(n, n, dtype=kind), torch.empty(n, n, dtype=kind), "fp32"
        candidates = {"torch": lambda: torch.mm(a, b, out=theirs)}
    if kind == torch.float32:
        an, bn, numpy = a.numpy(), b.numpy(), np.empty((n, n), np.float32)
        candidates["numpy"] = lambda: np.matmul(an, bn, out=numpy)
    *tile, group = _TILES[kind]
    m, columns, k = (min(extent, n) for extent in tile)
    grid = (_cdiv(n, m) * _cdiv(n, columns),)
    mine = kernels("matmul.matmul", grid, a, b, ours, n, n, n, m, columns, k, group, dtype(sums))
    return Case(
        {"ours": mine, **candidates},
        {"ours": ours},
        flops=2 * n**3,
        tolerance={torch.float32: 1e-3, torch.bfloat16: 0.02 * math.sqrt(n), torch.int8: 0}[kind],
    )


def _attention(causal: bool, kernels: Kernels, heads: int, length: int) -> Case:
    dim, m, n = 64, 64, 64
    q, k, v = (torch.randn(1, heads, length, dim) for _ in range(3))
    ours = torch.empty_like(q)
    mine = kernels(
        "attention.attention", (_cdiv(length, m), heads), q, k, v, ours, length, dim**-0.5, causal, m, n, dim
    )
    return Case(
        {"ours": mine, "torch": lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal)},
        {"ours": ours},
        flops=4 * heads * length**2 * dim // (2 if causal else 1),
        tolerance=1e-4,
    )


def families() -> Iterator[Family]:
    """The table's lines, in its order."""
    flat = ((2048,), (32768,), (1 << 20,), (1 << 25,))
    heads = ((4, 128), (8, 1024), (4, 4096))
    yield Family("add", _add, flat, 1.2)
    yield Family("gelu-chain", _gelu_chain, flat, 1.2)
    yield Family("softmax", _softmax, _ROW_SIZES, 2.0)
    yield Family("layer-norm", _layer_norm, _ROW_SIZES[:-1], 1.2)
    yield Family("row-sum", _row_sum, _ROW_SIZES, 1.2)
    yield Family("cumsum", _cumsum, _ROW_SIZES, 1.2)
    yield Family("transpose", _transpose, ((64, 64), (256, 256), (1024, 1024), (8192, 4096)), 1.2)
    yield Family("gather", _gather, ((64, 64, 64), (1000, 64, 1024), (8192, 256, 8192), (50000, 768, 16384)), 1.2)
    for name, kind, reach in (("f32", torch.float32, 0.8), ("bf16", torch.bfloat16, 1.0), ("int8", torch.int8, 0.0)):
        yield Family(f"matmul-{name}", lambda *a, kind=kind: _matmul(kind, *a), _CUBES, reach)
    yield Family("attention", lambda *a: _attention(False, *a), heads)
    yield Family("attention-causal", lambda *a: _attention(True, *a), heads)
