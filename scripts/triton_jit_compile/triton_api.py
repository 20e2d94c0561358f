# SPDX-License-Identifier: Apache-2.0
"""The parts of the installed Triton that this package uses, looked up once and lazily.

What differs between Triton versions is decided here (and in binding.py for the argument packing).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .errors import Failure, user_traceback

OLDEST = (3, 3)  # 3.2 packs arguments by other rules: None is a pointer, an annotated 1 is folded
_TRUE = frozenset(("1", "y", "yes", "t", "true", "on"))
_lock = threading.Lock()
_api: TritonApi | None = None


@dataclass(frozen=True)
class TritonApi:
    """The installed Triton."""

    module: ModuleType
    version_text: str
    version: tuple[int, int]
    language: ModuleType
    jit: ModuleType
    compiler: ModuleType
    knobs: Any  # None before 3.4
    JITFunction: type
    JITCallable: type
    Autotuner: type
    Heuristics: type
    GPUTarget: type
    BaseBackend: type
    backends: dict[str, Any]
    driver: Any
    TensorDescriptor: type | None  # None before 3.4
    canonical_types: dict[str, str]  # every spelling of a type that Triton knows -> its short name

    @property
    def type_names(self) -> frozenset[str]:
        """The short names of the types."""
        return frozenset(self.canonical_types.values())

    def environment(self) -> dict[str, str]:
        """The environment variables that Triton puts into an artifact's key."""
        from triton._C.libtriton import get_cache_invalidating_env_vars

        return get_cache_invalidating_env_vars()

    def artifact_hash(self, source: Any, backend: Any, options: Any) -> str:
        """The hash that ``triton.compile`` files the artifact under."""
        environment = self.environment()
        try:
            from triton.runtime.cache import get_cache_key
        except ImportError:  # before 3.5
            from triton.compiler.compiler import triton_key

            key = f"{triton_key()}-{source.hash()}-{backend.hash()}-{options.hash()}-{str(sorted(environment.items()))}"
        else:
            key = get_cache_key(source, backend, options, env_vars=environment)
        hook = getattr(getattr(self.knobs, "runtime", None), "add_stages_inspection_hook", None)
        if hook is not None and self.version >= (3, 7):
            key += hook()[0]
        return hashlib.sha256(key.encode("utf-8")).hexdigest()

    def interpreting(self) -> bool:
        """True if Triton's interpreter mode replaces compilation in this process."""
        if self.knobs is not None:
            if self.knobs.runtime.interpret:
                return True
        elif os.environ.get("TRITON_INTERPRET", "0") == "1":
            return True
        # set while triton was imported and unset since: its own library functions cannot be compiled
        return not isinstance(self.language.cdiv, (self.JITFunction, self.JITCallable))


def pip_command(*packages: str) -> str:
    """The command that installs packages for the Python that runs this."""
    python = sys.executable or "python3"
    return f"{python} -m pip install {' '.join(packages)}"


def triton_api() -> TritonApi:
    """The installed Triton; raises Failure if there is none that can be used."""
    global _api
    with _lock:
        # before the import too: interpreter mode needs numpy, and fails in other words without it
        interpreting = _api is None and os.environ.get("TRITON_INTERPRET", "").lower() in _TRUE
        if _api is None and not interpreting:
            _api = _find()
    if interpreting or _api is None or _api.interpreting():
        raise Failure(
            "E_INTERPRETED",
            "TRITON_INTERPRET=1 is set (or was while triton was imported): Triton then interprets kernels "
            "in Python and compiles nothing. Unset TRITON_INTERPRET and start the process again.",
        )
    return _api


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == "triton":
            raise Failure(
                "E_NO_TRITON",
                f"the Python at {sys.executable or '(unknown path)'} has no module 'triton'. "
                f"Install it with:\n    {pip_command('triton')}",
            ) from None
        raise _broken(error) from error
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
        raise _broken(error) from error


def _broken(error: BaseException) -> Failure:
    return Failure(
        "E_NO_TRITON",
        f"'import triton' fails in the Python at {sys.executable or '(unknown path)'}: "
        f"{type(error).__name__}: {error}. Reinstall it with:\n"
        f"    {pip_command('--force-reinstall', 'triton')}",
        user_traceback(error),
    )


def parse_version(text: str) -> tuple[int, int]:
    """(major, minor) of a version text; (0, 0) if it has none."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def check_version(text: str) -> tuple[int, int]:
    """The version as numbers; raises Failure if it is too old."""
    version = parse_version(text)
    if version < OLDEST:
        raise Failure(
            "E_TRITON_VERSION",
            f"triton {text} is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed. Upgrade it with:\n"
            f"    {pip_command('--upgrade', 'triton')}",
        )
    return version


def _find() -> TritonApi:
    triton = _import("triton")
    version_text = str(getattr(triton, "__version__", ""))
    version = check_version(version_text)
    jit = _import("triton.runtime.jit")
    autotuner = _import("triton.runtime.autotuner")
    backend_base = _import("triton.backends.compiler")
    utils = _import("triton._utils") if version >= (3, 3) else None
    names = getattr(utils, "type_canonicalisation_dict", None) or jit.type_canonicalisation_dict
    return TritonApi(
        module=triton,
        version_text=version_text,
        version=version,
        language=_import("triton.language"),
        jit=jit,
        compiler=_import("triton.compiler.compiler"),
        knobs=getattr(triton, "knobs", None),
        JITFunction=jit.JITFunction,
        JITCallable=getattr(jit, "JITCallable", jit.JITFunction),
        Autotuner=autotuner.Autotuner,
        Heuristics=autotuner.Heuristics,
        GPUTarget=backend_base.GPUTarget,
        BaseBackend=backend_base.BaseBackend,
        backends=_import("triton.backends").backends,
        driver=_import("triton.runtime.driver").driver,
        TensorDescriptor=_import("triton.tools.tensor_descriptor").TensorDescriptor if version >= (3, 4) else None,
        canonical_types=dict(names),
    )
