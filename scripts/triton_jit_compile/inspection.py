# SPDX-License-Identifier: Apache-2.0
"""Looking at loaded modules: the JIT function inside its decorators, and what it reaches."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .errors import Failure
from .triton_api import TritonApi

_LISTED = 20
_WRAPPER_ATTRIBUTES = ("__wrapped__", "fn", "func")


def find_function(api: TritonApi, module: ModuleType, name: str, where: str) -> tuple[Any, list[str]]:
    """The JIT function that ``module`` knows as ``name`` and its tuned parameters."""
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _no_such_kernel(api, module, name, where) from None
    chain = _chain_to_jit(api, found)
    if chain is None:
        kind = type(found)
        raise Failure(
            "E_NOT_JIT",
            f"'{name}' in {where} is a {kind.__module__}.{kind.__qualname__}, not a Triton kernel: "
            "decorate it with @triton.jit",
        )
    jit = chain[-1]
    return jit, _tuned_parameters(api, chain)


def _chain_to_jit(api: TritonApi, found: Any) -> list[Any] | None:
    """``found``, the wrappers inside it, and last the JITFunction; None if there is none.

    A ``functools.wraps`` wrapper copies the attributes of what it wraps, so its ``fn`` may be the
    plain function that its ``__wrapped__`` (the JITFunction) holds: every way in is tried.
    """
    seen: set[int] = set()

    def search(value: Any, chain: list[Any]) -> list[Any] | None:
        if id(value) in seen:
            return None
        seen.add(id(value))
        chain = [*chain, value]
        if isinstance(value, api.JITFunction):
            return chain
        for attribute in _WRAPPER_ATTRIBUTES:
            inner = getattr(value, attribute, None)
            if inner is not None and not isinstance(inner, ModuleType):
                result = search(inner, chain)
                if result is not None:
                    return result
        return None

    return search(found, [])


def _tuned_parameters(api: TritonApi, chain: list[Any]) -> list[str]:
    """The kernel parameters that an @autotune or @heuristics in the chain gives a value."""
    names: set[str] = set()
    for wrapper in chain[:-1]:
        if isinstance(wrapper, api.Autotuner):
            for config in wrapper.configs:
                names.update(config.kwargs)
        elif isinstance(wrapper, api.Heuristics):
            names.update(wrapper.values)
    return [name for name in chain[-1].arg_names if name in names]


def _no_such_kernel(api: TritonApi, module: ModuleType, name: str, where: str) -> Failure:
    kernels = [key for key, value in vars(module).items() if _is_kernel_of(api, module, value)]
    message = f"{where} has no '{name}'."
    others = [key for key in vars(module) if not key.startswith("__") and key not in kernels]
    close = difflib.get_close_matches(name, kernels, n=3, cutoff=0.75)
    close = close or difflib.get_close_matches(name, others, n=1, cutoff=0.75)
    if close:
        message += " Did you mean " + " or ".join(f"'{key}'" for key in close) + "?"
    if kernels:
        more = f" and {len(kernels) - _LISTED} more" if len(kernels) > _LISTED else ""
        message += f" Its @triton.jit functions: {', '.join(kernels[:_LISTED])}{more}."
    else:
        message += " It has no @triton.jit function at all."
    return Failure("E_KERNEL_NOT_FOUND", message)


def _is_kernel_of(api: TritonApi, module: ModuleType, value: Any) -> bool:
    chain = _chain_to_jit(api, value) if hasattr(value, "fn") or hasattr(value, "__wrapped__") else None
    return chain is not None and not str(getattr(chain[-1], "__module__", "")).startswith("triton.language")


def reached_functions(api: TritonApi, jit: Any) -> Iterator[Any]:
    """``jit`` and the JIT callables that it can reach by name, transitively (a superset)."""
    todo, seen = [jit], set()
    while todo:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        yield function
        plain = getattr(function, "fn", None)
        code = getattr(plain, "__code__", None)
        if code is None:
            continue
        scope = dict(plain.__globals__)
        for cell_name, cell in zip(code.co_freevars, plain.__closure__ or ()):
            try:
                scope[cell_name] = cell.cell_contents
            except ValueError:  # an empty cell
                continue
        for name in (*code.co_names, *code.co_freevars):
            value = scope.get(name)
            values = [value]
            if isinstance(value, ModuleType):
                values = [vars(value).get(attribute) for attribute in code.co_names]
            todo.extend(value for value in values if isinstance(value, api.JITCallable))


def reached_files(api: TritonApi, jit: Any) -> Iterator[tuple[str, str]]:
    """(module name, real path) of the files that define what ``jit`` reaches, Triton's own apart."""
    triton = os.path.dirname(os.path.realpath(api.module.__file__)) + os.sep
    for function in reached_functions(api, jit):
        code = getattr(getattr(function, "fn", None), "__code__", None)
        if code is None:
            continue
        path = os.path.realpath(code.co_filename)
        if not path.startswith(triton):
            yield str(function.__module__), path
