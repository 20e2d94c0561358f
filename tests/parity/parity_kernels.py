# SPDX-License-Identifier: Apache-2.0
"""Kernels whose calls are specialised by Triton and by the library, for the tests of this folder.

What matters is their signatures: every way in which a parameter can be declared, and every kind of
default. The bodies only have to compile for some arguments.
"""

# ruff: noqa: F722, F821, B006, B008

import collections
import enum

import triton
import triton.language as tl

Pair = collections.namedtuple("Pair", ("first", "second"))


class Colour(enum.IntEnum):
    """An int that is not printed as one."""

    RED = 1
    BLUE = 16


class Mode(str, enum.Enum):
    """A str that is not printed as one."""

    FAST = "Dash"


class Ratio(float):
    """A float that is not printed as one."""

    def __repr__(self) -> str:
        return "ratio"

    __str__ = __repr__


class Thing:
    """Something that only Python knows."""

    def __repr__(self) -> str:
        return "Thing"


THING = Thing()


@triton.jit
def twice(x):
    return x + x


@triton.jit
def thrice(x):
    return x + x + x


@triton.jit
def nothing():
    pass


@triton.jit
def plain(x, y, n):
    tl.store(x, n)


@triton.jit
def values(a, b, c, d, e):
    pass


@triton.jit
def signed(a: "i8", b: tl.int16, c: int, d: "int64", e: tl.int32, f: "int64_t"):
    pass


@triton.jit
def unsigned(a: "u8", b: tl.uint16, c: "tl.uint32", d: "uint64"):
    pass


@triton.jit
def floats(a: tl.float16, b: "bf16", c: float, d: "double", e: tl.float32, f: "half"):
    pass


@triton.jit
def bools(a: "u1", b: bool, c: tl.int1, d: "i1"):
    pass


@triton.jit
def quarters(a: "fp8e5", b: tl.float8e4nv, c: "float8_e4m3fnuz"):
    pass


@triton.jit
def pointers(a: "*fp32", b: tl.pointer_type(tl.float16), c: "i64*", d: "*u1", e: "*void"):
    pass


@triton.jit
def constants(a: tl.const, b: "const *fp32", c: "*ki32", d: "const"):
    pass


@triton.jit
def unknown(a: object, b: "**fp32", c: "tensor", d: "myconst"):
    pass


@triton.jit(do_not_specialize=["n", "t"])
def loose_by_name(x, n, m, t):
    pass


@triton.jit(do_not_specialize=[0, 2])
def loose_by_index(x, n, m):
    pass


@triton.jit(do_not_specialize=["a", "b", "c", "d", "e", "p"])
def loose_typed(a: "i64", b: "u8", c: tl.float16, d: bool, e: "u64", p: "*fp32"):
    pass


@triton.jit(do_not_specialize_on_alignment=["x", 1, "w"])
def unaligned(x, n, m, w: "i64", p: "*fp32"):
    pass


@triton.jit(do_not_specialize=["x", "n"], do_not_specialize_on_alignment=["n", "m"])
def loose_both(x, n, m: "i32", k):
    pass


@triton.jit
def constexprs(x, A: tl.constexpr, B: "tl.constexpr", C: "constexpr"):
    pass


@triton.jit
def names(x, DTYPE: tl.constexpr, MODE: tl.constexpr):
    pass


@triton.jit
def tuples(t, u, v):
    pass


@triton.jit
def shapes(x, SHAPE: tl.constexpr, n):
    pass


@triton.jit
def applies(x, f, g: tl.constexpr, n):
    tl.store(x, f(n))


@triton.jit
def fallbacks(
    x,
    n=32,
    one=1,
    flag=True,
    scale=0.5,
    absent=None,
    pair=(16, 1, None, (2.5, True)),
    big=1 << 40,
    huge=1 << 63,
):
    pass


@triton.jit
def typed_fallbacks(x, n: "i64" = 1, s: "fp16" = 1.0, b: bool = False, p: "*fp32" = None, w: "u8" = 32):
    pass


@triton.jit
def constexpr_fallbacks(
    x,
    SIZE: tl.constexpr = 64,
    MODE: tl.constexpr = "Dense",
    SCALE: tl.constexpr = 1.0,
    KIND: tl.constexpr = tl.float16,
    SHAPE: tl.constexpr = (1, "D", (None, 2.0)),
    LIMIT: tl.constexpr = float("inf"),
    ABSENT: tl.constexpr = None,
    HUGE: tl.constexpr = 1 << 70,
):
    pass


@triton.jit
def python_fallbacks(
    x,
    THING: tl.constexpr = THING,
    WRAPPED: tl.constexpr = tl.constexpr(64),
    COLOUR: tl.constexpr = Colour.BLUE,
    MODE: tl.constexpr = Mode.FAST,
    RATIO: tl.constexpr = Ratio(0.5),
    PAIR: tl.constexpr = Pair(1, 2),
    NESTED: tl.constexpr = (1, tl.constexpr(2)),
    COLOURS: tl.constexpr = (Colour.RED,),
    FUNCTION: tl.constexpr = twice,
):
    pass


@triton.jit
def python_values(
    x,
    wrapped=tl.constexpr(3),
    colour=Colour.BLUE,
    red=Colour.RED,
    ratio=Ratio(0.5),
    function=twice,
    fixed=(tl.constexpr(16), 1, twice),
):
    pass


@triton.jit
def listed(x, LIST: tl.constexpr = [1, 2]):
    pass


@triton.jit
def unreachable(x, pair=Pair(16, 2.0), nested=(Pair(1, 3), 16), mixed=(tl.constexpr(16), 16)):
    pass


@triton.jit
def too_large(x, n=1 << 64):
    pass


@triton.jit
def named(x, n, *, m, SIZE: tl.constexpr = 8):
    pass


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def tuned(x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


@triton.jit
def warps(x, num_warps: tl.constexpr, num_stages):
    pass


@triton.jit(debug=True)
def debugged(x, n):
    pass


@triton.jit
def describes(d, e, n):
    if d is not None:
        pass


@triton.jit
def adds_blocks(a, b, out, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([row, column], a.load([row, column]) + b.load([row, column]))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


# fmt: off
@triton.jit
def wide(
    p000, p001, p002, p003, p004, p005, p006, p007, p008, p009, p010, p011, p012, p013, p014, p015,
    p016, p017, p018, p019, p020, p021, p022, p023, p024, p025, p026, p027, p028, p029, p030, p031,
    p032, p033, p034, p035, p036, p037, p038, p039, p040, p041, p042, p043, p044, p045, p046, p047,
    p048, p049, p050, p051, p052, p053, p054, p055, p056, p057,
):
    pass
# fmt: on


# fmt: off
@triton.jit
def wider(
    p000, p001, p002, p003, p004, p005, p006, p007, p008, p009, p010, p011, p012, p013, p014, p015,
    p016, p017, p018, p019, p020, p021, p022, p023, p024, p025, p026, p027, p028, p029, p030, p031,
    p032, p033, p034, p035, p036, p037, p038, p039, p040, p041, p042, p043, p044, p045, p046, p047,
    p048, p049, p050, p051, p052, p053, p054, p055, p056, p057, p058, p059, p060, p061, p062, p063,
    p064, p065, p066, p067, p068, p069, p070, p071, p072, p073, p074, p075, p076, p077, p078, p079,
    p080, p081, p082, p083, p084, p085, p086, p087, p088, p089, p090, p091, p092, p093, p094, p095,
    p096, p097, p098, p099, p100, p101, p102, p103, p104, p105, p106, p107, p108, p109, p110, p111,
    p112, p113, p114, p115, p116, p117, p118, p119,
):
    pass
# fmt: on
