# SPDX-License-Identifier: Apache-2.0
"""Triton's own answer to a call: ``kernel.warmup`` with a driver that has no device.

It runs as in any Python program, up to the moment when ``triton.compile`` has the hash of the
artifact and asks for its folder in the cache; there it is stopped.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import jit


class Driver:
    """The active driver of these tests: it names a target. Each target is a device number."""

    def __init__(self) -> None:
        self.targets: list[GPUTarget] = []
        self.current = 0

    def use(self, target: dict[str, Any]) -> None:
        arch = int(target["arch"]) if target["arch"].isdigit() else target["arch"]
        wanted = GPUTarget(target["backend"], arch, target["warp_size"])
        if wanted not in self.targets:
            self.targets.append(wanted)
        self.current = self.targets.index(wanted)

    def get_current_target(self) -> GPUTarget:
        return self.targets[self.current]

    def get_current_device(self) -> int:
        return self.current

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return None


driver = Driver()
driver.use({"backend": "cuda", "arch": "90", "warp_size": 32})
triton.runtime.driver.set_active(driver)


@dataclass
class Answer:
    """What Triton made of a call."""

    key: str = ""  # of its in-memory cache
    hash: str = ""  # of its disk cache
    specialization: list[Any] | None = None
    arguments: list[Any] | None = None  # bound, defaults filled in
    error: Exception | None = None  # what it raised instead


class _Stop(BaseException):
    pass


@contextmanager
def _watching(answer: Answer) -> Iterator[None]:
    """Within the block Triton fills ``answer`` and compiles nothing."""
    compute_cache_key, pack_args = jit.compute_cache_key, jit.JITFunction._pack_args
    get_cache_manager = triton.compiler.compiler.get_cache_manager

    def compute(_: Any, specialization: Any, options: Any) -> str:
        # Without Triton's memo of keys: it takes 1, True and 1.0 for the same constant.
        answer.key = compute_cache_key({}, specialization, options)
        return answer.key

    def pack(self: Any, backend: Any, kwargs: Any, bound: Any, specialization: Any, options: Any) -> Any:
        answer.specialization, answer.arguments = specialization, list(bound.values())
        return pack_args(self, backend, kwargs, bound, specialization, options)

    def manager(hash_: str) -> Any:
        answer.hash = hash_
        raise _Stop

    jit.compute_cache_key, jit.JITFunction._pack_args = compute, pack
    triton.compiler.compiler.get_cache_manager = manager
    try:
        yield
    except _Stop:
        pass
    except Exception as error:  # noqa: BLE001 - whatever Triton raises
        answer.error = error
    finally:
        jit.compute_cache_key, jit.JITFunction._pack_args = compute_cache_key, pack_args
        triton.compiler.compiler.get_cache_manager = get_cache_manager


def plain(kernel: Any) -> Any:
    """The JITFunction within @autotune and @heuristics."""
    while not isinstance(kernel, jit.JITFunction):
        kernel = kernel.fn
    return kernel


def keyword_only(kernel: Any) -> set[str]:
    """Names of parameters that a Python call cannot pass by position."""
    parameters = plain(kernel).signature.parameters.values()
    return {one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


_twins: dict[Any, Any] = {}


def annotated(kernel: Any, types: dict[str, str]) -> Any:
    """A twin of ``kernel`` as if the parameters without an annotation had these."""
    kernel = plain(kernel)
    twin = _twins.get((kernel, *types.items()))
    if twin is None:
        twin = jit.JITFunction(
            kernel.fn,
            do_not_specialize=kernel.do_not_specialize,
            do_not_specialize_on_alignment=kernel.do_not_specialize_on_alignment,
            debug=kernel.debug,
        )
        for i, own in enumerate(twin.params):
            if own.name in types and not own.annotation_type:
                parameter = own._param.replace(annotation=types[own.name])
                lists = own.do_not_specialize, own.do_not_specialize_on_alignment
                twin.params[i] = jit.KernelParam(i, parameter, *lists)
        _twins[(kernel, *types.items())] = twin
    return twin


def ask(kernel: Any, args: list[Any], kwargs: dict[str, Any]) -> Answer:
    """What Triton makes of a call; nothing is compiled."""
    answer = Answer()
    with _watching(answer):
        kernel.warmup(*args, grid=(1,), **kwargs)
    assert answer.error or answer.hash, "triton.compile was not reached"
    return answer


def compile_really(kernel: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """The compiled kernel, and whether the disk cache had it."""
    hits = []
    triton.knobs.compilation.listener = lambda **event: hits.append(event["cache_hit"])
    try:
        compiled = kernel.warmup(*args, grid=(1,), **kwargs)
    finally:
        triton.knobs.compilation.listener = None
        kernel.device_caches.clear()  # the disk cache is what these tests are about
    assert len(hits) == 1, "triton.compile was not reached once"
    return compiled, hits[0]
