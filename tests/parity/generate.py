# SPDX-License-Identifier: Apache-2.0
"""Calls for a kernel, the same ones in every run: a few calls, and variations of them.

Arguments come from small pools and a variation changes at most two, so that many pairs of calls
differ in one way only, and many share a variant. Of one call, every parameter is varied alone.
"""

from __future__ import annotations

import math
import random
from typing import Any

import triton.backends.driver
from arguments import (
    DEFAULT,
    DTYPES,
    NONE,
    NOT_IN_DLPACK,
    Arg,
    Call,
    boolean,
    descriptor,
    dtype,
    function,
    integer,
    items,
    pointer,
    real,
    scalar,
    spec,
    spec_descriptor,
    spec_pointer,
    text,
    unknown_tensor,
    unsigned,
)
from triton.tools.tensor_descriptor import TensorDescriptor

BASES, VARIATIONS = 10, 15
SWEEP = 12  # variations of each parameter; as many parameters at most

INTS = (
    *(0, 1, -1, 2, 3, 7, 8, 15, 16, 17, 32, 100, 127, 128, 255, 256, -16, -15, -128, -129),
    *(32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**31 + 16, -(2**31), -(2**31) - 1, -(2**31) - 16),
    *(2**32 - 1, 2**32, 2**40 + 3, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 2**63, 2**63 + 3, 2**64 - 16, 2**64 - 1),
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 16.0, 0.1, 0.5, 1.999, 3.0e-5, 5.96e-8, 2.9802322387695312e-08, 2.99e-8, 1e-30),
    *(65504.0, 65519.996, -65519.0, math.inf, -math.inf, math.nan),
)
LARGE_FLOATS = (65520.0, -1e5, 1e38, 1e300)  # beyond fp16
HAS_ROUNDING = "round_f32_to_tf32" in TensorDescriptor.__dataclass_fields__
DESCRIPTORS_IN_TUPLES = hasattr(triton.backends.driver, "expand_signature")
STRINGS = ("", "D", "Dx", "relu", "1", "None", "True", "a,b:16", 'it\'s "so"\n', "Größe", "x" * 300, "D" * 2000)
_RANGES = {f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)} | {
    f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)
}


def _fits(type_: str, value: int) -> bool:
    low, high = _RANGES[type_]
    return low <= value <= high


def _ints(rng: random.Random) -> Arg:
    value = rng.choice(rng.choice((INTS, INTS, (0, 1, 3, 16))))
    return unsigned(value) if value >= 0 and rng.random() < 0.2 else integer(value)


def _pointer(rng: random.Random, dtypes: Any = DTYPES) -> Arg:
    name = rng.choice(dtypes)
    by = rng.choice((None, None, "buffer", "tensor"))
    if by == "tensor" and (name in NOT_IN_DLPACK):
        by = None
    return pointer(name, rng.choice((0, 16, 4096, 1 << 45, 8, 4, 1, 24, (1 << 45) + 1)) + (64 if by else 0), by)


def _tuple(rng: random.Random, element: Any, depth: int = 2) -> Arg:
    size = rng.choice((0, 1, 1, 2, 2, 3, 40 if depth == 2 else 1))
    return items(
        *(_tuple(rng, element, depth - 1) if depth and rng.random() < 0.15 else element(rng) for _ in range(size))
    )


def _element(rng: random.Random) -> Arg:
    makers = [_ints, _ints, _pointer, _float, _bool, lambda _: NONE, _function]
    return rng.choice(makers + [_descriptor] * DESCRIPTORS_IN_TUPLES)(rng)


def _block(rng: random.Random) -> list[int]:
    return [rng.choice((1, 8, 16, 32)) for _ in range(rng.choice((1, 2, 2, 3, 4, 5)))]


def _descriptor(rng: random.Random) -> Arg:
    dtype, block = rng.choice((rng.choice(DTYPES), "fp16", "fp32")), _block(rng)
    if rng.random() < 0.1:
        return spec_descriptor(dtype, block)
    fields: dict[str, Any] = {}
    if "f" in dtype and dtype != "fp8e4b15" and rng.random() < 0.3:
        fields["padding"] = "nan"
    if dtype == "fp32" and HAS_ROUNDING and rng.random() < 0.3:
        fields["round_f32_to_tf32"] = True
    rank = len(block)
    shape = [rng.choice((1, 2, 7, 16, 1000, 2**31 - 1)) for _ in range(rank)]
    strides = [*(rng.choice((0, 16, 64, -16, 1 << 40)) for _ in range(rank - 1)), 1]
    return descriptor(dtype, block, shape, strides, rng.choice((16, 4096, 1 << 45)), **fields)


def _float(rng: random.Random) -> Arg:
    return real(rng.choice((*FLOATS, *LARGE_FLOATS)))


def _bool(rng: random.Random) -> Arg:
    return boolean(rng.random() < 0.5)


def _function(rng: random.Random) -> Arg:
    return function(rng.choice(("thrice", "nothing")))


def _forced(rng: random.Random) -> Arg:
    """A scalar whose type is forced."""
    type_ = rng.choice(
        ("u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64", "fp8e5")
    )
    return scalar(type_, _number(rng, type_))


def _number(rng: random.Random, type_: str) -> Any:
    if type_ == "u1":
        return rng.randrange(2)
    if type_.startswith("fp8"):
        return rng.choice((0, 1, 16, 0x38, 255))
    if type_ in _RANGES:
        return rng.choice(rng.choice(([value for value in INTS if _fits(type_, value)], (0, 1, 3, 16))))
    return rng.choice(FLOATS if type_ == "fp16" else (*FLOATS, *LARGE_FLOATS))


def _unannotated(rng: random.Random) -> Arg:
    make = rng.choice(
        (
            _ints,
            _ints,
            _ints,
            _pointer,
            _pointer,
            _float,
            _bool,
            lambda _: NONE,
            _function,
            _forced,
            _spec,
            _run_time_tuple,
            _descriptor,
        )
    )
    return make(rng)


def _run_time_tuple(rng: random.Random) -> Arg:
    return _tuple(rng, _element)


def _spec(rng: random.Random) -> Arg:
    if rng.random() < 0.5:
        return spec_pointer(rng.choice(DTYPES), rng.random() < 0.5)
    return spec(rng.choice(("u1", "i32", "i64", "u64", "fp32", "i8", "u16", "fp16")), rng.random() < 0.5)


def _constant(rng: random.Random) -> Arg:
    return rng.choice((_constant_item, _constant_item, lambda rng: _tuple(rng, _constant_item)))(rng)


def _constant_item(rng: random.Random) -> Arg:
    return rng.choice(
        (
            _ints,
            _ints,
            lambda rng: integer(rng.choice((0, 1, 16))),
            _float,
            lambda rng: real(rng.choice((0.0, 1.0))),
            _bool,
            lambda _: NONE,
            lambda rng: text(rng.choice(STRINGS)),
            lambda rng: dtype(rng.choice(DTYPES)),
            lambda rng: scalar(*rng.choice((("i8", 1), ("u64", 2**63), ("fp64", 1.0))), annotated=True),
        )
    )(rng)


def _bad(rng: random.Random, parameter: Any) -> Arg:
    """What the launcher of Triton, or already its specialisation, refuses for the parameter."""
    if parameter.is_constexpr:
        wrong = descriptor("fp32", [16])
        return rng.choice(
            (pointer("fp32", 16, bad=True), unknown_tensor("complex64", 5, 64), Arg(wrong.c, wrong.python, bad=True))
        )
    if not parameter.annotation_type:
        inner = items(integer(1), text("x", bad=True))
        return rng.choice((text("relu", bad=True), dtype("fp16", bad=True), inner, unknown_tensor("float4", 2, 4)))
    type_ = parameter.annotation_type.replace("*k", "*")
    choices = [text("1", bad=True), dtype("fp32", bad=True)]
    choices += [Arg(one.c, one.python, bad=True) for one in (items(integer(1), NONE), descriptor("fp32", [16]))]
    if type_.startswith("*"):
        choices += [real(1.0, bad=True), scalar("i64", 16, annotated=True, bad=True)]
    else:
        choices += [pointer("fp32", 16, bad=True), Arg(NONE.c, None, bad=True)]
    if type_ in _RANGES:
        choices += [integer(value, bad=True) for value in INTS if not _fits(type_, value)]
    if type_ in _RANGES or type_ == "u1":
        choices.append(real(1.0, bad=True))
    if type_ == "u1":
        choices += [integer(2, bad=True), integer(-1, bad=True), integer(256, bad=True)]
    if type_ == "fp16":
        choices += [real(value, bad=True) for value in LARGE_FLOATS]
    if type_.startswith("fp8"):
        other = "fp8e5" if type_ != "fp8e5" else "fp8e4nv"
        choices += [real(1.0, bad=True), integer(1, bad=True), scalar(other, 56, annotated=True, bad=True)]
    return rng.choice(choices)


def _annotated(rng: random.Random, type_: str) -> Arg:
    if type_.startswith("*"):
        if rng.random() < 0.1:
            return spec_pointer("i8", rng.random() < 0.5)
        make = rng.choice((_pointer, _pointer, lambda _: NONE, lambda rng: integer(rng.choice((0, 1, 16, 24, 2**63)))))
        return make(rng)
    if type_.startswith("fp8"):
        return scalar(type_, _number(rng, type_), annotated=True)
    if rng.random() < 0.1:
        return spec(type_, rng.random() < 0.5, annotated=True)
    if type_ == "u1":
        return rng.choice((boolean(True), boolean(False), integer(0), integer(1), scalar("u1", 1, annotated=True)))
    if type_ in _RANGES:
        if rng.random() < 0.1:
            return _bool(rng)
        value = _number(rng, type_)
        kinds = [integer(value)] + [scalar(other, value, annotated=True) for other in _RANGES if _fits(other, value)]
        return rng.choice((kinds[0], rng.choice(kinds)))
    if rng.random() < 0.2:
        return rng.choice((integer(3), integer(1), boolean(True), unsigned(16)))
    value = _number(rng, type_)
    return rng.choice((real(value), real(value), scalar("fp64", value, annotated=True)))


def _argument(rng: random.Random, parameter: Any) -> Arg:
    if parameter.is_constexpr:
        return _constant(rng)
    if parameter.annotation_type:
        return _annotated(rng, parameter.annotation_type.replace("*k", "*"))
    return _unannotated(rng)


_COUNTS = (
    *({}, {}, {}, {}, {"num_warps": 4}, {"num_warps": 8}, {"num_stages": 2}, {"num_ctas": 2}),
    {"num_warps": 1, "num_stages": 4, "num_ctas": 1},
)


def _options(kernels_file: str) -> tuple[dict[str, Any], ...]:
    return (
        *({}, {}, {}, {}, {}, {"enable_fp_fusion": True}, {"enable_fp_fusion": False}, {"maxnreg": 128}),
        *({"maxnreg": None}, {"debug": True}, {"launch_pdl": True, "maxnreg": 64}, {"ptx_options": "-v"}),
        *({"default_dot_input_precision": "ieee"}, {"supported_fp8_dtypes": ("fp8e5",)}, {"sanitize_overflow": False}),
        {"extern_libs": (("libdevice", kernels_file),)},
    )


def _by_keyword(rng: random.Random, names: list[str], args: list[Arg]) -> tuple[list[Arg], dict[str, Arg]]:
    """The last arguments by name, in any order."""
    first = rng.randrange(len(args) + 1)
    named = list(zip(names[first:], args[first:]))
    rng.shuffle(named)
    return args[:first], dict(named)


def calls(name: str, kernel: Any, kernels_file: str) -> list[Call]:
    """The calls of a kernel (a JITFunction)."""
    rng = random.Random(name)
    parameters, names = kernel.params, kernel.arg_names
    own_counts = not {"num_warps", "num_stages", "num_ctas"} & set(names)
    # Said again, an option that the kernel has anyhow is another set of options only in C.
    given_options = [one for one in _options(kernels_file) if not (kernel.debug and "debug" in one)]

    def options() -> tuple[dict[str, int], dict[str, Any]]:
        if rng.random() < 0.6:
            return {}, {}
        counts = rng.choice(_COUNTS) if own_counts else {}
        return dict(counts), dict(rng.choice(given_options))

    def draw(parameter: Any) -> Arg:
        if parameter.has_default and rng.random() < 0.5:
            return DEFAULT
        return _argument(rng, parameter)

    made = []
    for number in range(BASES):
        base = [draw(parameter) for parameter in parameters]
        counts, given = options()
        if number == 0:
            for i, parameter in enumerate(parameters[:SWEEP]):
                for _ in range(SWEEP):
                    made.append(Call(name, [*base[:i], draw(parameter), *base[i + 1 :]], {}, counts, given))
        for _ in range(VARIATIONS):
            args = list(base)
            for _ in range(rng.randrange(3) if parameters else 0):
                i = rng.randrange(len(parameters))
                args[i] = draw(parameters[i])
            if parameters and rng.random() < 0.06:
                i = rng.randrange(len(parameters))
                args[i] = _bad(rng, parameters[i])
            if rng.random() < 0.3:
                counts, given = options()
            named: dict[str, Arg] = {}
            if rng.random() < 0.2 and own_counts:
                args, named = _by_keyword(rng, names, args)
            elif rng.random() < 0.2:  # the last ones are left out, if they have a default
                while args and args[-1] is DEFAULT:
                    args.pop()
            elif rng.random() < 0.02 and args:
                args.pop()
            made.append(Call(name, args, named, counts, given))
    return made
