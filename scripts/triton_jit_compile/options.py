# SPDX-License-Identifier: Apache-2.0
"""Compile options: refuse what Triton would drop or misread, then let its backend parse the rest."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

from .errors import Failure
from .triton_api import TritonApi

_MAX_THREADS = 1024  # of a block, on every GPU that Triton compiles for
_PLAIN = ("num_warps", "num_stages", "num_ctas")


def known_options(options: Any) -> list[str]:
    """The names that a backend's options object accepts."""
    return sorted(vars(options))


def defaults(options: Any) -> dict[str, int]:
    """The values that calls leave out most often."""
    return {name: getattr(options, name, 1) for name in _PLAIN}


def parse(api: TritonApi, backend: Any, jit: Any, given: Any, where: str) -> Any:
    """The backend's options object for a compile; raises Failure."""
    if not isinstance(given, dict):
        raise Failure("E_OPTION_VALUE", f"{given!r} is not a set of options")
    known = vars(parse_plainly(backend, {}))
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, sorted(known), jit, where)
        _check_value(name, value, _default_of(backend, known, name), backend)
    arguments = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    arguments.update(ambient(api, jit, arguments))
    return parse_plainly(backend, arguments)


def ambient(api: TritonApi, jit: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options that ``JITFunction.run`` adds to those of a call."""
    if api.knobs is None:
        return {"debug": given.get("debug", jit.debug)}
    added = {"debug": given.get("debug", jit.debug) or api.knobs.runtime.debug}
    for name in ("instrumentation_mode", "fpsan_homomorphic_casts"):
        if hasattr(api.knobs.compilation, name) and name not in given:
            added[name] = getattr(api.knobs.compilation, name)
    return added


def parse_plainly(backend: Any, arguments: dict[str, Any]) -> Any:
    """The backend's options object for arguments as they stand, and for what its environment says."""
    try:
        return backend.parse_options(dict(arguments))
    except (AssertionError, ValueError, TypeError, KeyError) as error:
        text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        given = f" the options {text}" if text else ""
        raise Failure("E_OPTION_VALUE", f"the backend refuses{given}: {error}") from None


def _default_of(backend: Any, known: dict[str, Any], name: str) -> Any:
    """The declared default, whose type says what an option may be."""
    value = known[name]
    if dataclasses.is_dataclass(options := type(parse_plainly(backend, {}))):
        for field in dataclasses.fields(options):
            if field.name == name and field.default is not dataclasses.MISSING:
                return field.default
    return value


def _unknown(name: str, known: list[str], jit: Any, where: str) -> Failure:
    message = f"kernel '{where}': there is no compile option '{name}'."
    if name in jit.arg_names:
        message += f" '{name}' is a parameter of the kernel: pass it as an argument."
    elif close := difflib.get_close_matches(name, known, n=1):
        message += f" Did you mean '{close[0]}'?"
    return Failure("E_UNKNOWN_OPTION", f"{message} The options of this backend: {', '.join(known)}.")


def _check_value(name: str, value: Any, default: Any, backend: Any) -> None:
    if value is None:
        return
    if type(default) is bool and type(value) is not bool:
        raise Failure("E_OPTION_VALUE", f"option '{name}' is {value!r}: true or false is expected")
    if type(default) is int and type(value) is not int:
        raise Failure("E_OPTION_VALUE", f"option '{name}' is {value!r}: an integer is expected")
    if isinstance(default, str) and not isinstance(value, str):
        raise Failure("E_OPTION_VALUE", f"option '{name}' is {value!r}: a string is expected")
    if name in ("num_warps", "num_ctas") and (value <= 0 or value & (value - 1)):
        raise Failure("E_OPTION_VALUE", f"option '{name}' is {value}: a power of two is expected")
    if name == "num_stages" and value < 0:
        raise Failure("E_OPTION_VALUE", f"option 'num_stages' is {value}: it cannot be negative")
    if name == "maxnreg" and (type(value) is not int or value <= 0):
        raise Failure("E_OPTION_VALUE", f"option 'maxnreg' is {value!r}: a number of registers is expected")
    target = backend.target
    if name == "num_warps" and target.backend in ("cuda", "hip") and value * target.warp_size > _MAX_THREADS:
        raise Failure(
            "E_OPTION_VALUE",
            f"option 'num_warps' is {value}: {value} warps of {target.warp_size} threads exceed the "
            f"{_MAX_THREADS} threads of a block",
        )
