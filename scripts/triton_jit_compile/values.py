# SPDX-License-Identifier: Apache-2.0
"""VALUE, the typed JSON of argument values, to and from Python objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import descriptors
from .errors import Failure
from .triton_api import TritonApi

ALIGNED, UNALIGNED = 16, 8  # addresses that stand for the two alignment classes
_OUT_OF_RANGE = 1 << 62  # a pointer's extent is unknown: never claim that 32-bit offsets reach it
_CLASS_NUMBERS = {"D": 16, "": 3, "1": 1}
FLOAT_TYPES = frozenset(("fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16"))


class Pointer:
    """Stands for a tensor: what Triton's specialisation looks at, and no more."""

    def __init__(self, dtype: str, address: int) -> None:
        self.dtype = dtype
        self._address = address

    def data_ptr(self) -> int:
        """The representative address."""
        return self._address

    def ptr_range(self) -> int:
        """The extent in bytes, for AMD's 32-bit offset class."""
        return _OUT_OF_RANGE


class Scalar:
    """A scalar whose type is forced, as an annotation would."""

    def __init__(self, type_name: str, number: Any) -> None:
        self.type_name = type_name
        self.number = number  # a representative of the specialisation class


class Default:
    """Marks an argument that takes the parameter's own default."""


def encode_default(api: TritonApi, parameter: Any) -> dict[str, Any]:
    """The default of a kernel's parameter as VALUE."""
    return _encode(api, parameter.default, parameter.is_constexpr)


def is_opaque(api: TritonApi, parameter: Any) -> bool:
    """Whether the parameter has a default that VALUE cannot express."""
    return parameter.has_default and "opaque" in encode_default(api, parameter)


def _encode(api: TritonApi, value: Any, constant: bool) -> dict[str, Any]:
    """A constant has to be of exactly the type that VALUE stands for: an IntEnum's member or a
    tl.constexpr is not the variant of the number in it. At run time a number is a number."""
    if value is None:
        return {"none": 1}
    kind = type(value)
    if kind is bool:
        return {"bool": value}
    if kind is int or (isinstance(value, int) and not constant):
        try:
            return {"int": str(int(value))}
        except ValueError:  # more digits than Python turns into text
            return {"opaque": f"an integer of {value.bit_length()} bits"}
    if kind is float or (isinstance(value, float) and not constant):
        return {"float": _float_text(float(value))}
    if kind is str:
        try:
            return {"str": value.encode("utf-8").hex()}
        except UnicodeEncodeError:
            return {"opaque": ascii(value)}
    if isinstance(value, api.language.dtype) and _dtype_name(api, value) in _dtypes(api):
        return {"dtype": _dtype_name(api, value)}
    if kind is tuple:
        items = [_encode(api, item, constant) for item in value]
        if not any("opaque" in item for item in items):
            return {"tuple": items}
    return {"opaque": _safe_repr(value)}


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value.hex()


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 - a user's __repr__
        return f"a {type(value).__qualname__}"


def _dtypes(api: TritonApi) -> dict[str, Any]:
    """Triton's scalar dtypes by their short names (``i32``, ``fp16``); its boolean is ``u1`` or ``i1``."""
    found = {
        _dtype_name(api, value): value for value in vars(api.language).values() if type(value) is api.language.dtype
    }
    for alias in ("u1", "i1"):
        found.setdefault(alias, api.language.int1)
    return found


def _dtype_name(api: TritonApi, dtype: Any) -> str:
    return api.canonical_types.get(str(dtype), str(dtype))


class Decoder:
    """Turns the VALUEs of one request into Python arguments; errors name the parameter."""

    def __init__(self, api: TritonApi, function: Callable[[str], Any]) -> None:
        self._api = api
        self._resolve = function  # function id -> JIT function
        self.functions: list[str] = []  # the ids of the functions among the arguments

    def argument(self, name: str, value: Any) -> Any:
        """The argument for parameter ``name``."""
        if not isinstance(value, dict):
            raise _bad(name, f"{value!r} is not a value")
        if "ptr" in value:
            return self._pointer(name, value)
        if "scalar" in value:
            return self._scalar(name, value)
        if "tensordesc" in value:
            return self._descriptor(name, value)
        if len(value) != 1:
            raise _bad(name, f"{value!r} is not a value")
        ((kind, content),) = value.items()
        decode = getattr(self, f"_{kind}", None) if kind in _KINDS else None
        if decode is None:
            raise Failure("E_UNSUPPORTED_ARGUMENT", f"parameter '{name}': values of kind '{kind}' are not supported")
        return decode(name, content)

    def _none(self, name: str, content: Any) -> None:
        return None

    def _default(self, name: str, content: Any) -> type[Default]:
        return Default

    def _bool(self, name: str, content: Any) -> bool:
        if type(content) is not bool:
            raise _bad(name, f"{content!r} is not a bool")
        return content

    def _int(self, name: str, content: Any) -> int:
        try:
            return int(str(content), 10)
        except ValueError:
            raise _bad(name, f"{content!r} is not an integer") from None

    def _float(self, name: str, content: Any) -> float:
        try:
            return float.fromhex(content)
        except (ValueError, TypeError, OverflowError):
            raise _bad(name, f"{content!r} is not a hexadecimal float") from None

    def _str(self, name: str, content: Any) -> str:
        try:
            return bytes.fromhex(content).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _bad(name, f"the string is not UTF-8 ({error.reason} at byte {error.start})") from None
        except (ValueError, TypeError):
            raise _bad(name, f"{content!r} is not a string in hexadecimal") from None

    def _dtype(self, name: str, content: Any) -> Any:
        dtypes = _dtypes(self._api)
        if not isinstance(content, str) or content not in dtypes:
            raise _bad(name, f"Triton has no dtype '{content}'; it has {', '.join(sorted(dtypes))}")
        return dtypes[content]

    def _tuple(self, name: str, content: Any) -> tuple[Any, ...]:
        if not isinstance(content, list):
            raise _bad(name, f"{content!r} is not a tuple")
        return tuple(self._element(f"{name}[{i}]", item) for i, item in enumerate(content))

    def _element(self, name: str, item: Any) -> Any:
        value = self.argument(name, item)
        if value is Default:
            raise _bad(name, "only a whole argument can be left to its default, not an element of a tuple")
        return _unannotated(name, value) if isinstance(value, Scalar) else value

    def _pointer(self, name: str, value: dict[str, Any]) -> Pointer:
        dtype, alignment = value["ptr"], value.get("class", "")
        if not isinstance(dtype, str) or dtype not in self._api.type_names:
            known = ", ".join(sorted(self._api.type_names))
            raise _bad(name, f"triton {self._api.version_text} has no pointers to '{dtype}'; it has {known}")
        if alignment not in ("", "D"):
            raise _bad(name, f"a pointer has no specialisation class '{alignment}'")
        return Pointer(dtype, ALIGNED if alignment == "D" else UNALIGNED)

    def _descriptor(self, name: str, value: dict[str, Any]) -> Any:
        dtype, block = value["tensordesc"], value.get("block")
        if not isinstance(dtype, str) or dtype not in self._api.type_names or dtype == "void":
            raise _bad(name, f"triton {self._api.version_text} has no tensor descriptors of '{dtype}'")
        if not isinstance(block, list) or not all(type(size) is int and size > 0 for size in block):
            raise _bad(name, f"{block!r} is no block of a tensor descriptor")
        try:
            return descriptors.make(self._api, dtype, block)
        except (AssertionError, ValueError) as error:  # what Triton checks
            raise _bad(name, f"no tensor descriptor: {error}") from None

    def _scalar(self, name: str, value: dict[str, Any]) -> Scalar:
        type_name, number_class = value["scalar"], value.get("class", "")
        if not isinstance(type_name, str) or type_name not in self._api.type_names or type_name == "void":
            raise _bad(name, f"triton {self._api.version_text} has no scalar type '{type_name}'")
        if type_name in FLOAT_TYPES:
            return Scalar(type_name, 0.5)
        if type_name == "u1":
            return Scalar(type_name, True)
        if not isinstance(number_class, str) or number_class not in _CLASS_NUMBERS:
            raise _bad(name, f"an integer has no specialisation class '{number_class}'")
        return Scalar(type_name, _CLASS_NUMBERS[number_class])

    def _function(self, name: str, content: Any) -> Any:
        self.functions.append(str(content))
        return self._resolve(str(content))


_KINDS = frozenset(("none", "default", "bool", "int", "float", "str", "dtype", "tuple", "function"))


def _unannotated(name: str, scalar: Scalar) -> Any:
    """A Python value whose inferred type is the forced one: tuple elements have no annotation."""
    number, type_name = scalar.number, scalar.type_name
    if type_name in ("i32", "fp32", "u1"):
        return number
    if type_name in ("i64", "u64") and number != 1:
        low = 1 << 40 if type_name == "i64" else 1 << 63
        return low + (0 if number == 16 else 3)
    raise Failure(
        "E_UNSUPPORTED_ARGUMENT",
        f"element '{name}': Triton types the elements of a tuple by their value, so '{type_name}' "
        "cannot be forced there; pass it as a parameter of its own",
    )


def _bad(name: str, problem: str) -> Failure:
    return Failure("E_ARGUMENT_TYPE", f"parameter '{name}': {problem}")
