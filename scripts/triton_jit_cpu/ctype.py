# SPDX-License-Identifier: Apache-2.0
"""How TTIR's types look in C.

A value has up to two C forms. ``RAW`` is the form in memory. ``NUM`` is the form that
arithmetic uses. They differ for the narrow floating-point types only: fp16, bf16 and the
fp8 kinds are ``uint16_t`` or ``uint8_t`` in memory and ``float`` in arithmetic, where the
float always holds a value of the narrow type. Bits that are only moved stay raw, so
copying never changes the payload of a NaN.
"""

from __future__ import annotations

import struct

from .errors import UnsupportedOp
from .ir import Ptr, Scalar, Tile, Type

RAW = "raw"
NUM = "num"

# MLIR name -> (name in helper functions, memory type)
NARROW = {
    "f16": ("f16", "uint16_t"),
    "bf16": ("bf16", "uint16_t"),
    "f8E5M2": ("e5m2", "uint8_t"),
    "f8E4M3FN": ("e4m3", "uint8_t"),
    "f8E4M3FNUZ": ("e4m3fnuz", "uint8_t"),
    "f8E5M2FNUZ": ("e5m2fnuz", "uint8_t"),
}

_MEMORY = {
    "i1": "uint8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "index": "int64_t",
    "f32": "float",
    "f64": "double",
}


def elem(type_: Type) -> Scalar | Ptr:
    """The element type of a tile, or the type itself."""
    found = type_.elem if isinstance(type_, Tile) else type_
    if not isinstance(found, (Scalar, Ptr)):
        raise UnsupportedOp(str(type_), None, "values of this type cannot be lowered")
    return found


def scalar(type_: Type) -> Scalar:
    """The element type of a tile, or the type itself, which is no pointer."""
    found = elem(type_)
    if not isinstance(found, Scalar):
        raise UnsupportedOp(str(type_), None, "numbers are needed here, not pointers")
    return found


def shape(type_: Type) -> tuple[int, ...]:
    """The shape of a tile; () for a scalar."""
    return type_.shape if isinstance(type_, Tile) else ()


def is_narrow(type_: Type) -> bool:
    """True if RAW and NUM differ."""
    kind = elem(type_)
    return isinstance(kind, Scalar) and kind.name in NARROW


def memory(type_: Type) -> str:
    """The C type of an element in memory."""
    kind = elem(type_)
    if isinstance(kind, Ptr):
        return pointer(kind)
    if kind.name in NARROW:
        return NARROW[kind.name][1]
    if kind.name not in _MEMORY:
        raise UnsupportedOp(kind.name, None, "the CPU backend does not know this element type")
    return _MEMORY[kind.name]


def pointer(kind: Ptr) -> str:
    """The C type of a pointer."""
    if isinstance(kind.elem, Tile):
        raise UnsupportedOp(str(kind), None, "a block pointer was not rewritten to plain pointers")
    inner = memory(kind.elem)
    return f"{inner}*" if inner.endswith("*") else f"{inner} *"


def local(type_: Type, form: str = NUM) -> str:
    """The C type of a local variable that holds an element."""
    kind = elem(type_)
    if isinstance(kind, Scalar):
        if kind.name == "i1":
            return "bool"
        if kind.name in NARROW and form == NUM:
            return "float"
    return memory(kind)


def size(type_: Type) -> int:
    """Bytes of an element in memory."""
    kind = elem(type_)
    return 8 if isinstance(kind, Ptr) else max(1, kind.bits // 8)


def unsigned(type_: Type) -> str:
    """The unsigned C type of an integer element."""
    kind = elem(type_)
    if isinstance(kind, Scalar) and kind.name == "i1":
        return "bool"
    return "u" + memory(kind)


def declare(ctype: str, name: str, const: bool = True) -> str:
    """``const float x`` or ``float *const p``."""
    if ctype.endswith("*"):
        return f"{ctype}const {name}" if const else f"{ctype}{name}"
    return f"const {ctype} {name}" if const else f"{ctype} {name}"


def literal(type_: Type, bits: int, form: str = NUM) -> str:
    """A constant from its bit pattern."""
    kind = elem(type_)
    if isinstance(kind, Ptr):
        return f"({pointer(kind)})UINT64_C({bits})" if bits else f"({pointer(kind)})0"
    name = kind.name
    if name == "i1":
        return "true" if bits & 1 else "false"
    if name in NARROW:
        if form == RAW:
            return f"(({NARROW[name][1]}){hex(bits)})"
        return _float(narrow_value(name, bits))
    if name == "f32":
        return _float(struct.unpack("<f", bits.to_bytes(4, "little"))[0], bits)
    if name == "f64":
        return _double(struct.unpack("<d", bits.to_bytes(8, "little"))[0], bits)
    width = kind.bits
    value = bits & ((1 << width) - 1)
    if value >> (width - 1):
        value -= 1 << width
    return integer(value, width)


def integer(value: int, width: int) -> str:
    """A C constant for a signed integer of ``width`` bits."""
    if width <= 32:
        if value == -(1 << 31):
            return "INT32_MIN"
        return str(value) if value >= 0 else f"({value})"
    if value == -(1 << 63):
        return "INT64_MIN"
    text = f"INT64_C({abs(value)})"
    return text if value >= 0 else f"(-{text})"


def narrow_value(name: str, bits: int) -> float:
    """The number that a narrow bit pattern stands for."""
    if name == "f16":
        return struct.unpack("<e", bits.to_bytes(2, "little"))[0]
    if name == "bf16":
        return struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]
    exponent_bits, mantissa_bits, bias = {
        "f8E5M2": (5, 2, 15),
        "f8E4M3FN": (4, 3, 7),
        "f8E4M3FNUZ": (4, 3, 8),
        "f8E5M2FNUZ": (5, 2, 16),
    }[name]
    sign = -1.0 if bits & 0x80 else 1.0
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if name.endswith("FNUZ") and bits == 0x80:
        return float("nan")
    if name == "f8E4M3FN" and bits & 0x7F == 0x7F:
        return float("nan")
    if name == "f8E5M2" and exponent == 31:
        return float("nan") if mantissa else sign * float("inf")
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def _float(value: float, bits: int | None = None) -> str:
    if value != value:
        return "TJ_NAN" if bits is None or bits == 0x7FC00000 else f"tj_bits_f32({hex(bits)}u)"
    if value in (float("inf"), float("-inf")):
        return "TJ_INF" if value > 0 else "(-TJ_INF)"
    text = _short(value, "<f")
    return f"{text}f" if value >= 0 and not text.startswith("-") else f"({text}f)"


def _double(value: float, bits: int) -> str:
    if value != value:
        return f"tj_bits_f64(UINT64_C({hex(bits)}))"
    if value in (float("inf"), float("-inf")):
        return "(double)TJ_INF" if value > 0 else "(-(double)TJ_INF)"
    text = repr(value)
    return text if not text.startswith("-") else f"({text})"


def _short(value: float, packing: str) -> str:
    """The shortest decimal that reads back as the same number."""
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack(packing, float(text)) == struct.pack(packing, value):
                break
        except OverflowError:  # rounding up at the top of the range
            continue
    if "e" not in text and "." not in text:
        text += ".0"
    return text
