# SPDX-License-Identifier: Apache-2.0
"""Run-time values as bytes, converted as Triton's launcher converts them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

from arguments import Tensor


def leaves(types: Any, values: Any) -> Iterator[tuple[str, Any]]:
    """Type and value of what exists at run time."""
    for type_, value in zip(types, values):
        if isinstance(type_, tuple):
            yield from leaves(type_, value)
        elif type_.startswith("tensordesc"):
            yield from descriptor(type_, value)
        elif type_ != "constexpr":
            yield type_, value


def descriptor(type_: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What Triton's launchers make of a descriptor where no object of the device stands for it."""
    try:
        from triton.backends.driver import decompose_descriptor, expand_signature

        types, values = expand_signature([type_], None, ""), decompose_descriptor(value)
    except ImportError:  # 3.6: the types are in the middle of a function that writes C
        from triton.backends.nvidia.driver import make_tensordesc_arg

        rank, dtype = len(value.block_shape), type_[len("tensordesc<") : type_.index("[")]
        types = [f"*{dtype}", *["i64"] * (2 * rank), "i1", *["i32"] * rank, *["i64"] * rank]
        values = make_tensordesc_arg(value, None)
    assert len(types) == len(values)
    yield from zip(["u1" if one == "i1" else one for one in types], values)


def to_bytes(type_: str, value: Any) -> bytes:
    """One value."""
    if type_.startswith("*"):
        address = value.address if isinstance(value, Tensor) else value or 0
        return struct.pack("<Q", address)
    if type_ == "u1":
        return bytes([bool(value)])
    if type_ == "fp64":
        return struct.pack("<d", value)
    if type_ == "fp32":
        return bytes(ctypes.c_float(value))
    if type_ == "bf16":  # cut, not rounded
        return bytes(ctypes.c_float(value))[2:]
    if type_ == "fp16":
        return struct.pack("<e", value)
    if type_.startswith("fp8"):
        return bytes([value])
    return int(value).to_bytes(int(type_[1:]) // 8, "little", signed=type_[0] == "i")


def check(types: list[Any], values: list[Any], params: bytes) -> int:
    """``params`` holds the values, each aligned to its size; what lies between is free. Returns
    their number."""
    at = n = 0
    for type_, value in leaves(types, values):
        expected = to_bytes(type_, value)
        at = -(-at // len(expected)) * len(expected)
        found = params[at : at + len(expected)]
        assert found == expected, f"{type_} {value!r} at {at}: {found.hex()} instead of {expected.hex()}"
        at += len(expected)
        n += 1
    assert at == len(params)
    return n
