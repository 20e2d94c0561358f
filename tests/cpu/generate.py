# SPDX-License-Identifier: Apache-2.0
"""Kernels made from expressions, so that one compile covers many operations."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from runner import As, Program, launch

_FOLDER = Path(tempfile.mkdtemp(prefix="tj_cpu_test_kernels_"))
_NUMBER = itertools.count()

_HEAD = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice


"""


def module(text: str) -> Any:
    """Imports Python source that defines kernels."""
    name = f"generated_kernels_{next(_NUMBER)}"
    path = _FOLDER / f"{name}.py"
    path.write_text(_HEAD + text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def elementwise(
    expressions: list[tuple[str, Any]], block: int = 128, options: dict[str, Any] | None = None, **inputs: Any
) -> tuple[list[np.ndarray], Program]:
    """Evaluates expressions of the inputs, each with the NumPy type (or As type) of its result.

    An input is an array (or As of one); all have the same length, which need not be a
    multiple of the block.
    """
    names = list(inputs)
    length = len(
        next(iter(inputs.values())).value
        if isinstance(next(iter(inputs.values())), As)
        else next(iter(inputs.values()))
    )
    outputs = [f"out{i}" for i in range(len(expressions))]
    lines = [
        "@triton.jit",
        f"def kernel({', '.join([*('p_' + n for n in names), *outputs])}, n, B: tl.constexpr):",
        "    offs = tl.program_id(0) * B + tl.arange(0, B)",
        "    mask = offs < n",
    ]
    lines += [f"    {n} = tl.load(p_{n} + offs, mask=mask)" for n in names]
    lines += [f"    tl.store(out{i} + offs, {text}, mask=mask)" for i, (text, _) in enumerate(expressions)]
    kernel = module("\n".join(lines) + "\n").kernel
    outs: list[np.ndarray] = []
    args: dict[str, Any] = {f"p_{n}": v for n, v in inputs.items()}
    for i, (_, kind) in enumerate(expressions):
        if isinstance(kind, As):
            array = np.zeros(length, kind.value)
            args[f"out{i}"] = As(kind.type, array)
        else:
            array = np.zeros(length, kind)
            args[f"out{i}"] = array
        outs.append(array)
    program = launch(kernel, (-(-length // block),), options=options, **args, n=length, B=block)
    return outs, program
