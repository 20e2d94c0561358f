# SPDX-License-Identifier: Apache-2.0
"""From arguments to an ASTSource, by Triton's own binder.

The steps are those of ``JITFunction.run`` and ``_pack_args``, without a driver: the binder that
Triton generates for the signature specialises the arguments, and its answer is packed the way the
installed version packs it, so that the artifact's hash is the one a Python call gets.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from . import descriptors
from .errors import Failure
from .triton_api import TritonApi
from .values import Decoder, Default, Pointer, Scalar, is_opaque

# what Triton's specialisation raises for an argument that it does not take
_REFUSALS = (TypeError, KeyError, OverflowError, ValueError, AttributeError)


class _TypedParameter:
    """A kernel parameter as if it were annotated with ``annotation_type``."""

    def __init__(self, parameter: Any, annotation_type: str) -> None:
        self._parameter = parameter
        self.annotation_type = annotation_type

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parameter, name)


class _PlainPointers:
    """AMD's backend as the binder sees it, without its pointer-range class.

    A raw pointer's extent is unknown, so the class never applies; asking for it would import torch.
    """

    def __init__(self, backend: Any, base: type) -> None:
        self.supports_native_tensor_specialization = getattr(backend, "supports_native_tensor_specialization", True)
        self.get_int_specialization = getattr(backend, "get_int_specialization", None)
        self.get_tensor_specialization = getattr(base, "get_tensor_specialization", None)
        self.get_arg_specialization = getattr(base, "get_arg_specialization", None)


@dataclass
class Bound:
    """A specialised call."""

    api: TritonApi
    signature: dict[str, Any]
    constexprs: dict[tuple[int, ...], Any]
    attributes: dict[tuple[int, ...], Any]
    specialization: list[Any]

    def types(self) -> list[str]:
        """The types of the arguments that exist at run time, in order."""
        types: list[str] = []
        for value in self.signature.values():
            _flatten(value, types)
        return [name for name in types if name != "constexpr"]

    def runtime_types(self) -> list[str]:
        """The types of the kernel's parameters: a descriptor is several of them."""
        return [leaf for name in self.types() for leaf in descriptors.expand(self.api, name)]


def _flatten(value: Any, into: list[str]) -> None:
    if isinstance(value, (tuple, list)):
        for item in value:
            _flatten(item, into)
    else:
        into.append(value)


def bind(api: TritonApi, jit: Any, backend: Any, values: Any, decoder: Decoder) -> Bound:
    """Specialise ``values`` (one per parameter); raises Failure naming the parameter."""
    if not isinstance(values, list) or len(values) != len(jit.params):
        count = len(values) if isinstance(values, list) else "no"
        raise Failure("E_ARGUMENT_TYPE", f"{count} arguments were given for the {len(jit.params)} parameters")
    arguments, parameters = {}, []
    for parameter, value in zip(jit.params, values):
        argument, typed = _argument(api, parameter, decoder.argument(parameter.name, value))
        arguments[parameter.name] = argument
        parameters.append(typed)
    seen = _PlainPointers(backend, api.BaseBackend) if backend.target.backend == "hip" else backend
    binder = api.jit.create_function_from_signature(jit.signature, parameters, seen)
    try:
        bound, specialization, _ = binder(**arguments)
        if api.version >= (3, 5):
            hash(tuple(specialization))  # Triton looks it up: a list cannot be a constant
    except _REFUSALS as error:
        raise _refused(api, parameters, arguments, seen, error) from None
    for parameter, value, (type_, _) in zip(jit.params, values, specialization):
        if "default" in value and is_opaque(api, parameter) and not _is_constant(type_):
            raise Failure(
                "E_UNSUPPORTED_ARGUMENT",
                f"parameter '{parameter.name}': its default is a Python object with run-time values, which cannot be "
                "passed from C: give the argument",
            )
    return _pack(api, jit, backend, bound, specialization)


def _is_constant(type_: Any) -> bool:
    return all(map(_is_constant, type_)) if isinstance(type_, tuple) else type_ == "constexpr"


def _argument(api: TritonApi, parameter: Any, value: Any) -> tuple[Any, Any]:
    """The Python argument, and the parameter with the type that the call forces on it."""
    name = parameter.name
    if value is Default:
        if not parameter.has_default:
            raise Failure("E_ARGUMENT_TYPE", f"parameter '{name}' has no default: pass a value")
        return parameter.default, parameter
    if parameter.is_constexpr:
        kind = _run_time_kind(api, value)
        if kind:
            raise Failure(
                "E_ARGUMENT_TYPE",
                f"parameter '{name}' is tl.constexpr: it takes a compile-time value, not a {kind}",
            )
        return value, parameter
    _check_range(name, value)
    declared = parameter.annotation_type
    descriptors.check(api, name, value, declared)
    if declared:
        pointer = isinstance(value, Pointer)
        address = value is None or type(value) is int  # Triton takes these for pointers too
        if pointer != declared.startswith("*") and not (address and declared.startswith("*")):
            given = f"a pointer to {value.dtype}" if pointer else "a scalar"
            raise Failure("E_ARGUMENT_TYPE", f"parameter '{name}' is annotated '{declared}', but {given} was passed")
    if isinstance(value, Scalar):
        return value.number, parameter if declared else _TypedParameter(parameter, value.type_name)
    return value, parameter


def _run_time_kind(api: TritonApi, value: Any) -> str:
    """What ``value`` is, if it exists at run time only."""
    if descriptors.is_descriptor(api, value):
        return "tensor descriptor"
    return "pointer" if isinstance(value, Pointer) else "run-time scalar" if isinstance(value, Scalar) else ""


def _check_range(name: str, value: Any) -> None:
    """Refuse integers of more than 64 bits, which Triton before 3.6 takes for i64."""
    if isinstance(value, tuple):
        for item in value:
            _check_range(name, item)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise Failure("E_ARGUMENT_TYPE", f"parameter '{name}': {value} does not fit into 64 bits")


def _refused(
    api: TritonApi, parameters: list[Any], arguments: dict[str, Any], backend: Any, error: Exception
) -> Failure:
    """Find the argument that Triton's specialisation refuses and say what it takes."""
    for parameter in parameters:
        if parameter.is_constexpr:
            continue
        value = arguments[parameter.name]
        try:
            _specialise_alone(api, parameter, value, backend)
        except _REFUSALS as own:
            kind = type(value).__name__
            hint = ""
            if isinstance(own, TypeError):
                hint = (
                    f"; a run-time parameter takes numbers, bools, None, pointers and tuples of them. "
                    f"Annotate '{parameter.name}' with tl.constexpr to pass a {kind}"
                )
            return Failure("E_ARGUMENT_TYPE", f"parameter '{parameter.name}': {own}{hint}")
    return Failure("E_ARGUMENT_TYPE", f"triton refuses the arguments: {error}")


def _specialise_alone(api: TritonApi, parameter: Any, value: Any, backend: Any) -> None:
    signature = inspect.Signature([inspect.Parameter(parameter.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    api.jit.create_function_from_signature(signature, [parameter], backend)(value)


def _pack(api: TritonApi, jit: Any, backend: Any, bound: dict[str, Any], specialization: list[Any]) -> Bound:
    from triton._utils import find_paths_if, get_iterable_path

    types = [entry[0] for entry in specialization]
    signature = {parameter.name: type_ for parameter, type_ in zip(jit.params, types)}
    arguments = list(bound.values())
    paths = find_paths_if(types, lambda _, value: value == "constexpr")
    constexprs = {path: get_iterable_path(arguments, path) for path in paths}
    # From 3.7 on a constant has no attributes; before, a *string* constant's letters were read as some.
    if api.version >= (3, 7):
        keys = ["" if entry[0] == "constexpr" else entry[1] for entry in specialization]
    else:
        keys = [entry[1] for entry in specialization]
    paths = find_paths_if(keys, lambda _, value: isinstance(value, str))
    attributes = {path: backend.parse_attr(get_iterable_path(keys, path)) for path in paths}
    return Bound(api, signature, constexprs, attributes, specialization)


def printable(api: TritonApi, value: Any) -> Any:
    """A specialisation with JIT functions replaced by their keys, as in Triton's in-memory key."""
    if isinstance(value, list):
        return [printable(api, item) for item in value]
    if isinstance(value, tuple):
        items = tuple(printable(api, item) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    if isinstance(value, api.JITCallable):
        return value.cache_key
    return value
