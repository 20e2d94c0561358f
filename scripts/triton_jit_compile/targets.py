# SPDX-License-Identifier: Apache-2.0
"""Compile targets, and the answers that Triton gets about them while it compiles.

``tl.target_info`` and code at the top of kernel files ask Triton's *active driver*. Compiling
needs no driver, and a host's active driver has to stay as it is, so ``DriverConfig.active`` is
replaced once by a property that looks at the calling thread: inside ``answering_for`` it is a stub
that knows the compile target and nothing else, everywhere else it is what it was.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .errors import Failure
from .triton_api import TritonApi, pip_command

_thread = threading.local()
_lock = threading.Lock()
_load_lock = threading.Lock()  # the package is in sys.modules before it has run
_patched: set[int] = set()
_CPU_PACKAGE = "triton_jit_cpu"

# what stands for the device where a request names only the backend (architecture, warp size)
_USUAL = {"cuda": ("90", 32), "hip": ("gfx942", 64), "cpu": ("native", 1)}


class _NoBenchmarker:
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no benchmarks can run while a kernel is compiled for a target")


class StubDriver:
    """Answers which target is compiled for; there is no device behind it."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        """The target that is compiled for."""
        return self._target

    def get_current_device(self) -> int:
        """A device number, for code that only passes it on."""
        return 0

    def get_benchmarker(self) -> Any:
        """Something to hold; calling it fails."""
        return _NoBenchmarker()

    def get_active_torch_device(self) -> Any:
        """A torch device, for kernel files that have imported torch themselves."""
        torch = sys.modules.get("torch")
        if torch is None:
            raise RuntimeError("this process has not imported torch")
        kind = "cpu" if self._target.backend == "cpu" else "cuda"
        return torch.device(kind, 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"triton.runtime.driver.active.{name}: no device is in use while a kernel is loaded or compiled "
            f"for {self._target.backend}; ask for it where the kernel is launched"
        )


def _patch(api: TritonApi) -> None:
    config = type(api.driver)
    with _lock:
        if id(config) in _patched:
            return
        _patched.add(id(config))
        before = vars(config).get("active")

        def get(self: Any) -> Any:
            stub = getattr(_thread, "stub", None)
            if stub is not None:
                return stub
            return before.__get__(self, config) if before is not None else vars(self)["active"]

        def set_(self: Any, value: Any) -> None:
            if before is not None and getattr(before, "fset", None) is not None:
                before.__set__(self, value)
            else:
                vars(self)["active"] = value

        config.active = property(get, set_)


@contextmanager
def answering_for(api: TritonApi, target: Any) -> Iterator[None]:
    """Within the block, the calling thread's active driver is a stub for ``target``."""
    _patch(api)
    outer = getattr(_thread, "stub", None)
    _thread.stub = StubDriver(target)
    try:
        yield
    finally:
        _thread.stub = outer


def _load_cpu_backend() -> ModuleType:
    with _load_lock:
        return _load_cpu_package()


def _load_cpu_package() -> ModuleType:
    loaded = sys.modules.get(_CPU_PACKAGE)
    if loaded is not None:
        return loaded
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), _CPU_PACKAGE)
    path = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(_CPU_PACKAGE, path, submodule_search_locations=[folder])
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise Failure("E_NOT_SUPPORTED", f"the CPU code generator is not installed: {path} is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_CPU_PACKAGE] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(_CPU_PACKAGE, None)
        raise
    return module


def _register_cpu() -> None:
    try:
        _load_cpu_backend().register()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0] == "xdsl" or getattr(error, "status", "") == "E_NO_XDSL"
        if not missing:
            raise
        raise Failure(
            "E_NO_XDSL",
            "the CPU backend reads Triton's IR with the Python package 'xdsl', which "
            f"{sys.executable or 'this Python'} does not have. Install it with:\n    {pip_command('xdsl')}",
        ) from None


def _usual_warp_size(backend: str, arch: str) -> int:
    """The warp size of an architecture, for requests that leave it out."""
    if backend == "hip":
        return 64 if arch.startswith("gfx9") else 32
    return _USUAL.get(backend, ("", 32))[1]


def make_target(api: TritonApi, backend: Any, arch: Any, warp_size: Any = None) -> Any:
    """A GPUTarget of an available backend; raises Failure."""
    if not isinstance(backend, str) or not backend:
        raise Failure("E_NOT_SUPPORTED", f"{backend!r} is not the name of a backend")
    if warp_size is None:
        warp_size = _usual_warp_size(backend, str(arch))
    if type(warp_size) is not int or warp_size <= 0:
        raise Failure("E_NOT_SUPPORTED", f"a warp size of {warp_size!r} for backend '{backend}'")
    if backend == "cpu":
        _register_cpu()
    if backend == "cuda":  # Triton's CUDA backend computes with the compute capability
        text = str(arch).removeprefix("sm_").removeprefix("sm").rstrip("af")
        if not text.isdigit():
            raise Failure("E_NOT_SUPPORTED", f"'{arch}' is not a CUDA compute capability such as '90'")
        arch = int(text)
    elif not isinstance(arch, str):
        arch = str(arch)
    target = api.GPUTarget(backend, arch, warp_size)
    accepting = _accepting(api, target)
    if len(accepting) != 1:
        problem = "has no backend" if not accepting else f"has {len(accepting)} backends ({', '.join(accepting)})"
        names = [name for name in sorted({*_USUAL, *api.backends}) if name == "cpu" or _accepts_name(api, name)]
        raise Failure(
            "E_NOT_SUPPORTED",
            f"the installed triton {api.version_text} {problem} for '{backend}'; it compiles for {', '.join(names)}",
        )
    return target


def _accepting(api: TritonApi, target: Any) -> list[str]:
    return [name for name, entry in api.backends.items() if entry.compiler.supports_target(target)]


def _accepts_name(api: TritonApi, backend: str) -> bool:
    arch, warp_size = _USUAL.get(backend, ("native", 32))
    return bool(_accepting(api, api.GPUTarget(backend, int(arch) if arch.isdigit() else arch, warp_size)))


def requested_target(api: TritonApi, target: Any) -> Any:
    """The target of a compile request."""
    if not isinstance(target, dict):
        raise Failure("E_INTERNAL", f"{target!r} is not a target")
    return make_target(api, target.get("backend"), target.get("arch"), target.get("warp_size"))


def usual_target(api: TritonApi, backend: Any) -> Any:
    """A target for a request that names only the backend."""
    arch, warp_size = _USUAL.get(backend, ("native", 32)) if isinstance(backend, str) else ("", 1)
    return make_target(api, backend, arch, warp_size)


def backend_of(api: TritonApi, target: Any) -> Any:
    """Triton's backend object for a target."""
    try:
        return api.compiler.make_backend(target)
    except (RuntimeError, ValueError, AssertionError) as error:
        raise Failure("E_NOT_SUPPORTED", f"triton has no backend for {target}: {error}") from None
