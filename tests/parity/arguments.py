# SPDX-License-Identifier: Apache-2.0
"""Arguments in both worlds: what a Python call passes, and the same for the program parity_keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DTYPES = (
    *("u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"),
    *("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16", "fp8e4b15"),
)
NOT_IN_DLPACK = ("fp8e4b15",)


class Tensor:
    """What Triton looks at of a tensor."""

    def __init__(self, dtype: str, address: int) -> None:
        self.dtype = dtype
        self.address = address

    def data_ptr(self) -> int:
        return self.address

    def ptr_range(self) -> int:
        return 1 << 40  # of no use for AMD's class of small tensors, which C never claims

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}, {self.address})"


class Dtype(str):
    """A dtype as a tensor has it, with what TensorDescriptor asks of one."""

    @property
    def itemsize(self) -> int:
        return 1 if self == "u1" or self.startswith("fp8") else int(self.lstrip("bfpiu")) // 8

    @property
    def is_floating_point(self) -> bool:
        return "f" in self and self != "fp8e4b15"  # torch has no such type, and the type no NaN


@dataclass(frozen=True)
class Arg:
    """One argument."""

    c: dict[str, Any]
    python: Any
    forced: str = ""  # the type that C forces on a parameter without an annotation
    bad: bool = False  # C refuses it; Triton does at the latest when it launches
    spec: bool = False  # C gets type and class, no value


DEFAULT = Arg({"default": 1}, None)
NONE = Arg({"none": 1}, None)


def integer(value: int, **how: Any) -> Arg:
    """A Python int; from 2**63 on C has to say that it is unsigned."""
    return Arg({"uint" if value >= 1 << 63 else "int": str(value)}, value, **how)


def unsigned(value: int) -> Arg:
    """The same by tj_uint."""
    return Arg({"uint": str(value)}, value)


def real(value: float, **how: Any) -> Arg:
    return Arg({"float": value.hex()}, value, **how)


def boolean(value: bool, **how: Any) -> Arg:
    return Arg({"bool": value}, value, **how)


def text(value: str, **how: Any) -> Arg:
    return Arg({"str": value.encode().hex()}, value, **how)


def dtype(name: str, **how: Any) -> Arg:
    import triton.language as tl
    from triton._utils import type_canonicalisation_dict

    found = {
        type_canonicalisation_dict.get(str(value)): value for value in vars(tl).values() if type(value) is tl.dtype
    }
    return Arg({"dtype": name}, found[name], **how)


def pointer(dtype: str, address: int, by: str | None = None, **how: Any) -> Arg:
    """A tj_ptr, or ``by`` "buffer" or "tensor"."""
    c = {"ptr": dtype, "address": str(address)}
    if by:
        c["as"] = by
    return Arg(c, Tensor(dtype, address), **how)


def descriptor(
    dtype: str,
    block: list[int],
    shape: list[int] | None = None,
    strides: list[int] | None = None,
    address: int = 1 << 20,
    **fields: Any,
) -> Arg:
    """A tj_desc of the same; where Triton's constructor refuses it, a bad argument that Python cannot make.
    ``fields``: padding, round_f32_to_tf32."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    rank = len(block)
    shape = [16 << i for i in range(rank)] if shape is None else shape
    strides = [*[256] * (rank - 1), 1] if strides is None else strides
    c: dict[str, Any] = {"tensordesc": dtype, "block": block, "shape": shape, "strides": strides}
    c |= {
        "address": str(address),
        "nan": fields.get("padding") == "nan",
        "tf32": fields.get("round_f32_to_tf32", False),
    }
    try:
        python = TensorDescriptor(Tensor(Dtype(dtype), address), shape, strides, block, **fields)
    except (AssertionError, ValueError, TypeError) as error:
        return Arg(c, error, bad=True)
    return Arg(c, python)


def spec_descriptor(dtype: str, block: list[int]) -> Arg:
    """A tj_spec_desc."""
    return Arg({"spec_desc": dtype, "block": block}, descriptor(dtype, block).python, spec=True)


def function(name: str) -> Arg:
    import parity_kernels

    return Arg({"function": name}, getattr(parity_kernels, name))


def items(*args: Arg) -> Arg:
    """A tuple."""
    c, python = {"tuple": [arg.c for arg in args]}, tuple(arg.python for arg in args)
    return Arg(c, python, bad=any(arg.bad for arg in args), spec=any(arg.spec for arg in args))


def scalar(dtype: str, value: Any, annotated: bool = False, **how: Any) -> Arg:
    """A TJ_SCALAR. For an ``annotated`` parameter it is a number like any other."""
    if dtype in ("fp16", "bf16", "fp32", "fp64"):
        c = {"scalar": dtype, "float": float(value).hex()}
    elif dtype.startswith(("u", "fp8")):
        c = {"scalar": dtype, "uint": str(int(value))}
    else:
        c = {"scalar": dtype, "int": str(value)}
    return Arg(c, value, "" if annotated else dtype, **how)


def unknown_tensor(dtype: str, code: int, bits: int) -> Arg:
    """A tensor of a dtype that Triton does not have, in DLPack's terms."""
    return Arg({"dlpack": [code, bits]}, Tensor(dtype, 16), bad=True)


_STAND_INS = {"i32": (3, 16), "i64": (1 << 40 | 3, 1 << 40), "u64": (1 << 63 | 3, 1 << 63)}


def spec(dtype: str, aligned: bool, annotated: bool = False) -> Arg:
    """A tj_spec: the class of scalars of a type."""
    c = {"spec": dtype, "pointer": False, "aligned": aligned}
    if dtype == "u1":
        return Arg(c, True, spec=True)
    if dtype in ("fp32", "fp16", "bf16", "fp64"):
        return Arg(c, 0.5, "" if annotated or dtype == "fp32" else dtype, spec=True)
    inferred = dtype in _STAND_INS and not annotated
    python = _STAND_INS[dtype][aligned] if inferred else 16 if aligned else 3
    return Arg(c, python, "" if annotated or inferred else dtype, spec=True)


def spec_pointer(dtype: str, aligned: bool) -> Arg:
    """A tj_spec_ptr."""
    return Arg({"spec": dtype, "pointer": True, "aligned": aligned}, Tensor(dtype, 16 if aligned else 8), spec=True)


@dataclass
class Call:
    """A call of a kernel of parity_kernels.py."""

    kernel: str
    args: list[Arg]
    keywords: dict[str, Arg] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)  # num_warps, num_stages, num_ctas
    options: dict[str, Any] = field(default_factory=dict)

    def all_args(self) -> list[Arg]:
        return [*self.args, *self.keywords.values()]

    @property
    def bad(self) -> bool:
        return any(arg.bad for arg in self.all_args())

    @property
    def has_values(self) -> bool:
        return not any(arg.spec for arg in self.all_args())

    def forced(self, names: list[str]) -> dict[str, str]:
        """Types that C forces, by parameter."""
        named = dict(zip(names, self.args)) | self.keywords
        return {name: arg.forced for name, arg in named.items() if arg.forced}

    def python(self, names: list[str], keyword_only: set[str]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments of a Python call. It has no way to leave an argument in
        the middle to its default, so what follows goes by name."""
        positional, named = [], {}
        by_name = False
        for i, arg in enumerate(self.args):
            name = names[i] if i < len(names) else None
            by_name = name is not None and (by_name or arg is DEFAULT or name in keyword_only)
            if arg is DEFAULT:
                continue
            if by_name:
                named[name] = arg.python
            else:
                positional.append(arg.python)
        for name, arg in self.keywords.items():
            if name in named:
                raise TypeError(f"got multiple values for argument '{name}'")
            if arg is not DEFAULT:
                named[name] = arg.python
        return positional, named | self.counts | dict(sorted(self.options.items()))

    def request(self, functions: dict[str, int], target: dict[str, Any] | None) -> dict[str, Any]:
        """For parity_keys."""
        args = [numbered(arg.c, functions) for arg in self.args]
        args += [{"keyword": name, "value": numbered(arg.c, functions)} for name, arg in self.keywords.items()]
        request = {"function": functions[self.kernel], "args": args, **self.counts}
        if self.options:
            request["options"] = {name: option(value) for name, value in self.options.items()}
        if target:
            request["target"] = target
        return request


def numbered(c: dict[str, Any], functions: dict[str, int]) -> dict[str, Any]:
    """``c`` with the functions in it by their numbers."""
    if "function" in c:
        return {"function": functions[c["function"]]}
    if "tuple" in c:
        return {"tuple": [numbered(item, functions) for item in c["tuple"]]}
    return c


def option(value: Any) -> dict[str, Any]:
    """An option's value for parity_keys."""
    if value is None:
        return {"none": 1}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, str):
        return {"str": value.encode().hex()}
    return {"tuple": [option(item) for item in value]}
