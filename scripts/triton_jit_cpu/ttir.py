# SPDX-License-Identifier: Apache-2.0
"""TTIR text to the intermediate representation.

The text is MLIR's generic form, whose grammar is the same for every operation, and
xdsl reads it without knowing Triton's dialects.
"""

from __future__ import annotations

import struct
from typing import Any

from .errors import BadTtir, XdslMissing
from .ir import Block, Func, Loc, Module, Op, Other, Ptr, Region, Scalar, Tile, Type, Value
from .location import user_frame, where

__all__ = ["Dense", "FloatBits", "float_to_bits", "generic_text", "parse", "type_from_text", "user_frame", "where"]


def generic_text(module: Any, builder: Any) -> str:
    """Prints a Triton module in MLIR's generic form. The module is unusable afterwards.

    The bindings have no switch for it, but MLIR falls back to the generic form for a
    module that does not verify, and this attribute with a wrong type does that.
    """
    module.set_attr("llvm.data_layout", builder.get_int32_attr(1))
    text = str(module)
    if '"builtin.module"' not in text:
        raise BadTtir("this Triton does not print TTIR in the generic form; its version is not supported")
    return text


def parse(text: str) -> Module:
    """Reads generic TTIR."""
    try:
        from xdsl.context import Context
        from xdsl.dialects.builtin import Builtin
        from xdsl.utils.exceptions import ParseError
    except ModuleNotFoundError as error:
        raise XdslMissing(str(error)) from error
    ctx = Context(allow_unregistered=True)
    ctx.load_dialect(Builtin)
    try:
        module = _parser_class()(ctx, _aliases_first(text)).parse_module()
    except ParseError as error:
        raise BadTtir(f"xdsl could not read the TTIR: {error}") from error
    return _Reader().module(module)


def _aliases_first(text: str) -> str:
    """Moves the location aliases to the top: xdsl wants a name defined before its use.

    MLIR prints some of them after the module, each alias after those it refers to.
    """
    aliases: list[str] = []
    rest: list[str] = []
    for line in text.splitlines():
        (aliases if line.startswith("#loc") else rest).append(line)
    # An alias in front of the module may refer to one behind it.
    names = {line.split(" ", 1)[0]: line for line in aliases}
    done: set[str] = set()
    ordered: list[str] = []

    def place(name: str) -> None:
        if name in done or name not in names:
            return
        done.add(name)
        for other in _alias_uses(names[name]):
            place(other)
        ordered.append(names[name])

    for name in names:
        place(name)
    return "\n".join(ordered + rest)


def _alias_uses(line: str) -> list[str]:
    """The aliases named on the right-hand side of an alias definition, outside strings."""
    right = line.split("=", 1)[1]
    parts = right.split('"')[::2]  # what is outside quotes: MLIR escapes those of a file name as \22
    found = []
    for part in parts:
        for piece in part.split("#")[1:]:
            name = "#"
            for c in piece:
                if not (c.isalnum() or c == "_"):
                    break
                name += c
            found.append(name)
    return found


_PARSER: type | None = None


def _parser_class() -> type:
    """xdsl's parser, reading ``dense<0x7F800000>`` as a bit pattern as MLIR does, and text as UTF-8.

    MLIR prints the bytes of a letter that is not ASCII as hexadecimal escapes. xdsl takes such a
    literal for bytes, which a file name in a location may not be.
    """
    global _PARSER
    if _PARSER is not None:
        return _PARSER
    from xdsl.dialects.builtin import AnyFloat, BytesAttr, DenseIntOrFPElementsAttr
    from xdsl.parser import Parser

    class TtirParser(Parser):
        """See above."""

        def parse_optional_str_literal(self) -> str | None:
            data = self.parse_optional_bytes_literal()
            if data is None:
                return super().parse_optional_str_literal()
            return data.decode("utf-8", "replace")

        def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
            start = self._current_token.span.start
            self.parse_punctuation("<", " in dense attribute")
            literal = self._current_token.text
            if not literal.startswith("0x"):
                self._resume_from(start)
                return super().parse_dense_int_or_fp_elements_attr(type)
            bits = self.parse_integer()
            self.parse_punctuation(">", " in dense attribute")
            if type is None:
                self.parse_punctuation(":", " in dense attribute")
                type = self._parse_dense_literal_type()
            elem = type.element_type
            if not isinstance(elem, AnyFloat):
                self.raise_error("hexadecimal dense literal of a type that is not floating-point")
            count = 1
            for extent in type.get_shape():
                count *= extent
            data = bits.to_bytes(elem.compile_time_size, "little") * count
            return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    _PARSER = TtirParser
    return TtirParser


class Dense:
    """A constant tile: one bit pattern for all elements, or one each."""

    __slots__ = ("bits", "splat")

    def __init__(self, bits: list[int], splat: bool) -> None:
        self.bits = bits
        self.splat = splat


class FloatBits:
    """A scalar floating-point constant by its bits."""

    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits


class _Reader:
    """Turns xdsl's operations into ours."""

    def __init__(self) -> None:
        self.values: dict[Any, Value] = {}
        self.types: dict[Any, Type] = {}
        self.blocks: dict[Any, Block] = {}
        self.locs: dict[Any, Loc] = {}
        self.position = 0

    def module(self, module: Any) -> Module:
        funcs = []
        for op in module.body.block.ops:
            if _name(op) != "tt.func":
                continue
            props = {**op.properties, **op.attributes}
            region = self.region(op.regions[0], None)
            visibility = props.get("sym_visibility")
            funcs.append(
                Func(
                    name=props["sym_name"].data,
                    body=region,
                    args=region.blocks[0].args if region.blocks else [],
                    results=[self.type(t) for t in props["function_type"].outputs.data],
                    public=visibility is not None and visibility.data == "public",
                    loc=self.loc(op.location),
                )
            )
        if not funcs:
            raise BadTtir("the TTIR has no function")
        return Module(funcs)

    def region(self, region: Any, owner: Op | None) -> Region:
        result = Region([], owner)
        for block in region.blocks:
            mine = Block([], [], result)
            for index, arg in enumerate(block.args):
                loc = self.loc(getattr(arg, "location", None))
                value = Value(self.type(arg.type), arg.name_hint or loc.name, None, index, mine)
                self.values[arg] = value
                mine.args.append(value)
            self.blocks[block] = mine
            result.blocks.append(mine)
        for block in region.blocks:
            mine = self.blocks[block]
            for op in block.ops:
                mine.ops.append(self.op(op, mine))
        return result

    def op(self, op: Any, block: Block) -> Op:
        attrs = {}
        for key, attr in {**op.properties, **op.attributes}.items():
            if key != "op_name__":
                attrs[key] = self.attr(attr)
        loc = self.loc(op.location)
        mine = Op(_name(op), [self.values[v] for v in op.operands], [], attrs, [], loc, block)
        self.position += 1
        mine.position = self.position
        for index, operand in enumerate(mine.operands):
            operand.uses.append((mine, index))
        for index, result in enumerate(op.results):
            value = Value(self.type(result.type), result.name_hint or loc.name, mine, index, block)
            self.values[result] = value
            mine.results.append(value)
        mine.successors = [self.blocks[b] for b in op.successors]
        mine.regions = [self.region(r, mine) for r in op.regions]
        return mine

    def type(self, type_: Any) -> Type:
        found = self.types.get(type_)
        if found is None:
            found = self.types[type_] = _convert_type(type_)
        return found

    def loc(self, attr: Any) -> Loc:
        if attr is None:
            return Loc()
        found = self.locs.get(attr)
        if found is None:
            found = self.locs[attr] = self._loc(attr)
        return found

    def _loc(self, attr: Any) -> Loc:
        kind = type(attr).__name__
        if kind == "FileLineColLoc":
            return Loc(((attr.filename.data, attr.line.data),))
        if kind == "NameLoc":
            inner = self.loc(attr.location)
            return Loc(inner.frames, attr.desc.data)
        if kind == "CallSiteLoc":
            callee, caller = self.loc(attr.callee), self.loc(attr.caller)
            return Loc(callee.frames + caller.frames, callee.name or caller.name)
        if kind == "FusedLoc":
            for part in attr.locations:
                inner = self.loc(part)
                if inner.frames:
                    return inner
        return Loc()

    def attr(self, attr: Any) -> Any:
        kind = type(attr).__name__
        if kind == "IntegerAttr":
            return attr.value.data
        if kind == "StringAttr":
            return attr.data
        if kind == "FloatAttr":
            return FloatBits(float_to_bits(attr.value.data, str(attr.type)))
        if kind == "DenseIntOrFPElementsAttr":
            return _dense(attr)
        if kind == "DenseArrayBase":
            return list(attr.get_values())
        if kind == "ArrayAttr":
            return [self.attr(a) for a in attr.data]
        if kind == "SymbolRefAttr":
            return attr.root_reference.data
        return attr


def _name(op: Any) -> str:
    named = op.attributes.get("op_name__")
    return named.data if named is not None else op.name


def _convert_type(type_: Any) -> Type:
    text = str(type_)
    kind = type(type_).__name__
    if kind == "TensorType":
        elem = _convert_type(type_.element_type)
        if not isinstance(elem, (Scalar, Ptr)):
            raise BadTtir(f"tile of an unknown element type: {text}")
        return Tile(tuple(type_.get_shape()), elem)
    return type_from_text(text)


def type_from_text(text: str) -> Type:
    """A type from MLIR's text for it (xdsl keeps dialect types as text)."""
    text = text.strip()
    if text.startswith("!tt.ptr<") and text.endswith(">"):
        inner = text[len("!tt.ptr<") : -1]
        depth = 0
        for i, c in enumerate(inner):
            depth += (c == "<") - (c == ">")
            if c == "," and depth == 0:  # the address space
                inner = inner[:i]
                break
        elem = type_from_text(inner)
        return Ptr(elem) if not isinstance(elem, Other) else Other(text)
    if text.startswith("tensor<") and text.endswith(">"):
        inner = text[len("tensor<") : -1]
        shape = []
        while inner and inner[0].isdigit():
            number, inner = inner.split("x", 1)
            shape.append(int(number))
        elem = type_from_text(inner)
        return Tile(tuple(shape), elem) if isinstance(elem, (Scalar, Ptr)) else Other(text)
    if text == "index" or text == "bf16" or text.startswith("f8E"):
        return Scalar(text)
    if text[:1] in ("i", "f") and text[1:].isdigit():
        return Scalar(text)
    return Other(text)


def _dense(attr: Any) -> Dense:
    elem = attr.type.element_type
    width = elem.compile_time_size
    data = attr.data.data
    first = data[:width]
    if data == first * (len(data) // width):
        return Dense([int.from_bytes(first, "little")], True)
    bits = [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]
    return Dense(bits, False)


# Exponent bits, mantissa bits, bias of the types that struct cannot pack.
_NARROW = {
    "bf16": (8, 7, 127),
    "f8E5M2": (5, 2, 15),
    "f8E4M3FN": (4, 3, 7),
    "f8E4M3FNUZ": (4, 3, 8),
    "f8E5M2FNUZ": (5, 2, 16),
}


def float_to_bits(value: float, type_name: str) -> int:
    """The bit pattern of ``value``, which is representable in the type (or NaN, inf)."""
    if type_name == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    if type_name == "f32":
        return int.from_bytes(struct.pack("<f", value), "little")
    if type_name == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    if type_name not in _NARROW:
        raise BadTtir(f"constant of an unknown floating-point type {type_name}")
    exponent_bits, mantissa_bits, bias = _NARROW[type_name]
    single = int.from_bytes(struct.pack("<f", value), "little")
    if type_name == "bf16":
        return single >> 16
    sign = single >> 31
    sign_bit = sign << (exponent_bits + mantissa_bits)
    if value != value or value in (float("inf"), float("-inf")):
        if type_name.endswith("FNUZ"):
            return 0x80
        if type_name == "f8E4M3FN":
            return sign_bit | 0x7F
        return sign_bit | (0x7C if value == value else 0x7E)
    magnitude = abs(value)
    if magnitude == 0:
        return 0 if type_name.endswith("FNUZ") else sign_bit
    exponent = ((single >> 23) & 0xFF) - 127
    if exponent + bias >= 1:
        mantissa = (single & 0x7FFFFF) >> (23 - mantissa_bits)
        return sign_bit | ((exponent + bias) << mantissa_bits) | mantissa
    return sign_bit | int(magnitude * 2.0 ** (bias - 1 + mantissa_bits))
