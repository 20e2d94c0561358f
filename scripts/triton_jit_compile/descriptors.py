# SPDX-License-Identifier: Apache-2.0
"""Tensor descriptors made on the host: Triton's TensorDescriptor as an argument."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from .errors import Failure
from .triton_api import TritonApi

_FLAGS = ("padding", "round_f32_to_tf32")  # fields that become a bool of the kernel, in this order
_KNOWN = frozenset(("base", "shape", "strides", "block_shape", *_FLAGS))
_BASE = 16  # an address that Triton takes for a base
_TYPE = re.compile(r"tensordesc<([^[>]*)\[([^\]]*)\]>")


class _Dtype(str):
    """A dtype by its short name, with what Triton asks of a tensor's dtype."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        bits = int(re.match(r"[a-z]*(\d+)", self)[1])  # type: ignore[index]
        return max(bits // 8, 1)

    @property
    def is_floating_point(self) -> bool:
        """Whether NaN is a value of it."""
        return self[0] in "fb"


class _Base:
    """Stands for the tensor that a descriptor is of."""

    def __init__(self, dtype: str) -> None:
        self.dtype = _Dtype(dtype)

    def data_ptr(self) -> int:
        """An address that is aligned as Triton demands."""
        return _BASE


def flag_count(api: TritonApi) -> int | None:
    """How many flags Triton hands to a kernel with a descriptor; None if C cannot describe its descriptors."""
    if api.TensorDescriptor is None:
        return None
    names = [field.name for field in dataclasses.fields(api.TensorDescriptor)]
    flags = [name for name in _FLAGS if name in names]
    return len(flags) if _KNOWN.issuperset(names) and flags == list(_FLAGS[: len(flags)]) else None


def make(api: TritonApi, dtype: str, block: list[int]) -> Any:
    """A descriptor of that class: dtype and block are all that Triton specialises."""
    if api.TensorDescriptor is None:
        raise Failure("E_NOT_SUPPORTED", f"triton {api.version_text} has no tensor descriptors made on the host")
    rank = len(block)
    return api.TensorDescriptor(_Base(dtype), [1] * rank, [*[16] * (rank - 1), 1], block)


def is_descriptor(api: TritonApi, value: Any) -> bool:
    """Whether ``value`` is one."""
    return api.TensorDescriptor is not None and isinstance(value, api.TensorDescriptor)


def check(api: TritonApi, name: str, value: Any, declared: str) -> None:
    """Raise Failure if the parameter cannot take the descriptors in ``value``."""
    if is_descriptor(api, value) and declared:
        raise Failure(
            "E_ARGUMENT_TYPE", f"parameter '{name}' is annotated '{declared}', but a tensor descriptor was passed"
        )
    if api.version < (3, 8) and isinstance(value, tuple) and any(map(_contains(api), value)):
        raise Failure(
            "E_UNSUPPORTED_ARGUMENT",
            f"parameter '{name}': triton {api.version_text} takes no tensor descriptor as an element of a tuple "
            "(3.8 and later do); pass it as a parameter of its own",
        )


def check_compiles(kernel: str, target: Any, types: list[str]) -> None:
    """Raise Failure for descriptors with which Triton's own compiler ends the process."""
    if target.backend in ("cuda", "hip") and any(name.startswith("tensordesc<u1[") for name in types):
        raise Failure(
            "E_UNSUPPORTED_ARGUMENT",
            f"kernel '{kernel}': Triton cannot compile tensor descriptors of u1 for the backend '{target.backend}'; "
            "pass one of u8 over the same memory",
        )


def _contains(api: TritonApi) -> Any:
    def test(value: Any) -> bool:
        return any(map(test, value)) if isinstance(value, tuple) else is_descriptor(api, value)

    return test


def expand(api: TritonApi, type_: str) -> list[str]:
    """The kernel's parameters for an argument of that type: several if it is a descriptor.

    They are those that Triton's launchers pass where no object of the device stands for the descriptor.
    """
    if not type_.startswith("tensordesc"):
        return [type_]
    match = _TYPE.fullmatch(type_)
    if match is None:
        raise Failure("E_NOT_SUPPORTED", f"'{type_}' is no tensor descriptor that can be passed from C")
    rank = match[2].count(",") + 1
    return [f"*{match[1]}", *["i64"] * (2 * rank), *["u1"] * (flag_count(api) or 0), *["i32"] * rank, *["i64"] * rank]
