# SPDX-License-Identifier: Apache-2.0
"""Compiles a Triton kernel for the CPU backend and runs it on NumPy arrays through ctypes.

It stands in for the C library: same artifact, same entry points, no thread pool.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
# Compile what is there, not what an earlier run left in the user's cache.
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="tj_cpu_test_cache_"))

import triton  # noqa: E402
import triton_jit_cpu  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

triton_jit_cpu.register()

# Triton's name -> ctypes type of a parameter
_SCALARS = {
    "i1": ctypes.c_uint8, "u1": ctypes.c_uint8, "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64, "fp32": ctypes.c_float, "fp64": ctypes.c_double, "fp16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
}  # fmt: skip

_POINTERS = {
    np.dtype(np.float16): "fp16", np.dtype(np.float32): "fp32", np.dtype(np.float64): "fp64", np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64", np.dtype(np.uint8): "u8",
    np.dtype(np.uint16): "u16", np.dtype(np.uint32): "u32", np.dtype(np.uint64): "u64", np.dtype(np.bool_): "i1",
}  # fmt: skip


CPU = GPUTarget("cpu", "native", 1)


@dataclass(frozen=True)
class As:
    """An argument with its Triton type said explicitly: ``As("*bf16", bits)``, ``As("i64", 3)``."""

    type: str
    value: Any


class _Host(ctypes.Structure):
    _fields_ = [
        ("ctx", ctypes.c_void_p), ("print", ctypes.c_void_p), ("fail", ctypes.c_void_p), ("wait", ctypes.c_void_p),
        ("sanitizer", ctypes.c_void_p),
    ]  # fmt: skip


class Info(ctypes.Structure):
    """tj_cpu_info."""

    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("scratch_size", ctypes.c_uint64),
        ("params_size", ctypes.c_uint32),
        ("n_params", ctypes.c_uint32),
        ("params", ctypes.POINTER(ctypes.c_char_p)),
    ]


_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t)


@dataclass
class Program:
    """A loaded artifact."""

    compiled: Any
    lib: ctypes.CDLL
    info: Info
    types: list[str]
    prints: list[str] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    entry: Any = None  # called instead of tj_cpu_run_1

    @property
    def c(self) -> str:
        """The generated C."""
        return self.compiled.asm["c"]

    def run(self, grid: Sequence[int], values: Sequence[Any], first: int = 0, last: int | None = None) -> int:
        """Runs programs of a grid on the run-time arguments."""
        gx, gy, gz = (*grid, 1, 1)[:3]
        fields = [(f"p{i}", _ctype(t)) for i, t in enumerate(self.types)]
        struct = type("Params", (ctypes.Structure,), {"_fields_": fields})
        params = struct()
        for i, (kind, value) in enumerate(zip(self.types, values)):
            if kind.startswith("*"):
                value = value.ctypes.data if isinstance(value, np.ndarray) else value
            setattr(params, f"p{i}", value)
        block = (ctypes.c_char * (ctypes.sizeof(struct) + 64))()
        at = (-ctypes.addressof(block)) % 16
        ctypes.memmove(ctypes.addressof(block) + at, ctypes.byref(params), ctypes.sizeof(struct))
        # Guard bytes behind the scratch arena show writes past its end.
        scratch = (ctypes.c_char * (self.info.scratch_size + 64 + 64))()
        base = (-ctypes.addressof(scratch)) % 64
        end = base + self.info.scratch_size
        ctypes.memset(ctypes.addressof(scratch), 0xA5, len(scratch))
        self.prints.clear()
        self.failures.clear()
        on_print = _PRINT(lambda ctx, text, size: self.prints.append(ctypes.string_at(text, size).decode()))
        on_fail = _FAIL(
            lambda ctx, kind, text, size: self.failures.append((kind, ctypes.string_at(text, size).decode()))
        )
        on_wait = _WAIT(lambda ctx: int(bool(self.failures)))
        services = [ctypes.cast(f, ctypes.c_void_p) for f in (on_print, on_fail, on_wait)]
        host = _Host(None, *services, None)
        sizes = (ctypes.c_uint32 * 3)(gx, gy, gz)
        rc = (self.entry or self.lib.tj_cpu_run_1)(
            ctypes.c_void_p(ctypes.addressof(block) + at), sizes, ctypes.c_uint64(first),
            ctypes.c_uint64(gx * gy * gz if last is None else last), ctypes.c_void_p(ctypes.addressof(scratch) + base),
            ctypes.byref(host),
        )  # fmt: skip
        assert bytes(scratch[end : end + 64 - base]) == b"\xa5" * (64 - base), "scratch written past its end"
        return rc


def _ctype(kind: str) -> Any:
    return ctypes.c_void_p if kind.startswith("*") else _SCALARS[kind]


def compile_kernel(
    kernel: Any, args: dict[str, Any], target: GPUTarget = CPU, **options: Any
) -> tuple[Program, list[Any]]:
    """Compiles for these arguments; returns the program and the run-time values."""
    signature, constants, attrs, types, values = {}, {}, {}, [], []
    for number, name in enumerate(kernel.arg_names):
        value = args[name] if name in args else kernel.params[number].default
        if kernel.params[number].is_constexpr or value is None:
            signature[name] = "constexpr"
            constants[(number,)] = value
            continue
        if isinstance(value, As):
            kind, value = value.type, value.value
        elif isinstance(value, np.ndarray):
            kind = "*" + _POINTERS[value.dtype]
        elif isinstance(value, bool):
            kind = "u1"
        elif isinstance(value, int):
            kind = "i32" if -(2**31) <= value < 2**31 else "i64"
        else:
            kind = "fp32"
        signature[name] = kind
        types.append(kind)
        values.append(value)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attrs)
    compiled = triton.compile(source, target=target, options=options)
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(compiled.asm["so"])
        file.flush()
        lib = ctypes.CDLL(file.name)
    info = Info.in_dll(lib, "tj_cpu_info_1")
    assert info.abi == 2
    program = Program(compiled, lib, info, types)
    return program, values


def launch(kernel: Any, grid: Sequence[int], options: dict[str, Any] | None = None, **args: Any) -> Program:
    """Compiles and runs; fails if the program does."""
    program, values = compile_kernel(kernel, args, **(options or {}))
    rc = program.run(grid, values)
    assert rc == 0, program.failures
    return program


# Narrow formats as bits


def bf16_bits(x: np.ndarray) -> np.ndarray:
    """float32 to bfloat16 bits, to nearest even."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    nan = np.isnan(x)
    out = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(nan, (u >> 16).astype(np.uint16) | 0x40, out).astype(np.uint16)


def bf16_value(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits to float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
