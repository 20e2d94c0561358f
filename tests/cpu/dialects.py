# SPDX-License-Identifier: Apache-2.0
"""The operations that the installed Triton registers, and kernels given as TTIR text."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import triton
import triton._C.libtriton as libtriton
from runner import Info, Program
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget


def registered(candidates: Iterable[str]) -> set[str]:
    """Those of the names that MLIR knows as operations.

    Each is parsed in the generic form. MLIR complains about every one of them, but in other words
    about operations that are not registered; the complaints go to stderr.
    """
    context = ir.context()
    ir.load_dialects(context)
    known = set()
    with tempfile.NamedTemporaryFile("w+", suffix=".mlir") as file, tempfile.TemporaryFile("w+") as said:
        for name in candidates:
            for each in (file, said):
                each.seek(0)
                each.truncate()
            file.write(f'module {{ "{name}"() : () -> () }}')
            file.flush()
            stderr = os.dup(2)
            os.dup2(said.fileno(), 2)
            try:
                ir.parse_mlir_module(file.name, context)
                known.add(name)
            except RuntimeError:
                said.seek(0)
                if "unregistered" not in said.read():
                    known.add(name)
            finally:
                os.dup2(stderr, 2)
                os.close(stderr)
    return known


def dialect_operations(dialects: Iterable[str]) -> set[str]:
    """All operations of some dialects: the names are found as strings of libtriton.so and then tried."""
    pattern = re.compile(rf"(?=((?:{'|'.join(dialects)})\.[a-z][a-z0-9_.]{{1,60}})\0)".encode())
    binary = Path(libtriton.__file__).read_bytes()
    return registered({match.group(1).decode() for match in pattern.finditer(binary)})


def compile_text(text: str, types: list[str], folder: Path) -> Program:
    """A kernel from TTIR text; ``types`` are those of its parameters, as Triton names them."""
    path = folder / "kernel.ttir"
    path.write_text(text)
    compiled = triton.compile(str(path), target=GPUTarget("cpu", "native", 1))
    shared = folder / "kernel.so"
    shared.write_bytes(compiled.asm["so"])
    lib = ctypes.CDLL(str(shared))
    return Program(compiled, lib, Info.in_dll(lib, "tj_cpu_info_1"), types)
