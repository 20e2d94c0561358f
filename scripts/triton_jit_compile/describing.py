# SPDX-License-Identifier: Apache-2.0
"""The describe request: the signature record of a kernel."""

from __future__ import annotations

import inspect
import platform
from typing import Any

from . import descriptors, options
from .compiling import compile_failure
from .errors import Failure
from .output import warn
from .snapshot import Function
from .targets import backend_of
from .triton_api import TritonApi
from .values import encode_default


def make_record(api: TritonApi, function: Function, target: Any) -> dict[str, Any]:
    """Everything that C needs to bind calls of ``function``; raises Failure."""
    jit = function.jit
    _check_contradictions(function)
    parsed = options.parse_plainly(backend_of(api, target), {})
    try:
        cache_key = jit.cache_key
    except Exception as error:  # noqa: BLE001 - such as a call of a plain Python function
        raise compile_failure(api, function, error) from error
    return {
        "id": function.id,
        "name": function.name,
        "source": function.location.path,
        "module": function.module,
        "cache_key": cache_key,
        "triton": api.version_text,
        "python": platform.python_version(),
        "params": [_parameter(api, parameter) for parameter in jit.params],
        "tuned": function.tuned,
        "descriptor_flags": descriptors.flag_count(api),
        "options": options.known_options(parsed),
        "defaults": options.defaults(parsed),
        "files": [file.stamp() for file in function.files.values() if file.on_disk],
    }


def _parameter(api: TritonApi, parameter: Any) -> dict[str, Any]:
    entry = {
        "name": parameter.name,
        "constexpr": parameter.is_constexpr,
        "const": parameter.is_const,
        "specialize": not parameter.do_not_specialize,
        "align": not parameter.do_not_specialize_on_alignment,
        "type": parameter.annotation_type or None,
    }
    if parameter.default is not inspect.Parameter.empty:
        entry["default"] = encode_default(api, parameter)
    return entry


def _check_contradictions(function: Function) -> None:
    jit = function.jit
    where = f"kernel '{function.name}' in {function.location.path}"
    for parameter in jit.params:
        kind = parameter._param.kind
        if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            stars = "*" if kind is inspect.Parameter.VAR_POSITIONAL else "**"
            raise Failure(
                "E_UNSUPPORTED_ARGUMENT",
                f"{where}: '{stars}{parameter.name}' takes any number of arguments; "
                "name each parameter, or take a tuple",
            )
        lists = [
            name
            for name, listed in (
                ("do_not_specialize", parameter.do_not_specialize),
                ("do_not_specialize_on_alignment", parameter.do_not_specialize_on_alignment),
            )
            if listed
        ]
        if parameter.is_constexpr and lists:
            raise Failure(
                "E_CONTRADICTION",
                f"{where}: parameter '{parameter.name}' is tl.constexpr (a new variant for every value) and listed in "
                f"{' and '.join(lists)} (one variant for all values). Remove one of the two.",
            )
    names = set(jit.arg_names)
    for attribute in ("do_not_specialize", "do_not_specialize_on_alignment"):
        for entry in getattr(jit, attribute, None) or ():
            known = entry in names if isinstance(entry, str) else isinstance(entry, int) and 0 <= entry < len(names)
            if not known:
                warn(f"{where}: {attribute} lists {entry!r}, which is no parameter; it has no effect")
