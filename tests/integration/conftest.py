# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests that call kernels through the public interface: the library, kernels, child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUPPORT = ROOT / "tests" / "support"
KERNELS = HERE / "kernels"
LIBRARY = os.environ.get("TJ_LIBRARY") or str(ROOT / "build" / "release" / "lib" / "libtriton_jit.so")

# What scripts/test sets. A run of its own starts from an empty cache.
if "TRITON_CACHE_DIR" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="tj-test-cache-")
    os.environ["TRITON_CACHE_DIR"] = _cache.name

os.environ.setdefault("TRITON_JIT_PYTHON", sys.executable)  # for the worker
sys.path.insert(0, str(SUPPORT))

from triton_jit_ctypes import Function, Library  # noqa: E402


@pytest.fixture(scope="session")
def tj() -> Library:
    """The library, in this process."""
    return Library(LIBRARY)


@pytest.fixture(scope="session")
def kernel(tj: Library) -> Callable[..., Function]:
    """``kernel("scalars.store")``: a function of kernels/."""

    def get(name: str, **more: Any) -> Function:
        module, _, function = name.partition(".")
        return tj.function(KERNELS / f"{module}.py", function, **more)

    return get


@pytest.fixture
def log(tj: Library) -> Iterator[list[tuple[int, str]]]:
    """What the library logs during the test."""
    with tj.logging() as lines:
        yield lines


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """``write("a/b.py", text)``: a kernel file in the test's folder."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return make


@pytest.fixture
def child() -> Callable[..., str]:
    """``child(code, NAME=value)``: runs Python code with ``tj`` in a process of its own; returns what it printed."""

    def run(code: str, **environment: str) -> str:
        prelude = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import numpy as np
from triton_jit_ctypes import *
tj = Library({LIBRARY!r})
KERNELS = {str(KERNELS)!r}
"""
        done = subprocess.run(
            [sys.executable, "-c", prelude + textwrap.dedent(code)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
