# SPDX-License-Identifier: Apache-2.0
"""``tt.extern_elementwise``: libdevice functions by their names.

All functions of Triton's libdevice modules have a C counterpart here (tests/cpu/test_libdevice.py).
AMD's names (``__ocml_exp_f32``) stand for the same functions.
"""

from __future__ import annotations

import re

from .. import ctype
from ..errors import UnsupportedOp
from ..ir import Op, Scalar
from ..nest.nest import Expr, Indices, Nest
from ..registry import indexing
from .math import function

# Functions of C's math.h (and rsqrt, exp10) under the same name: __nv_NAME for double, __nv_NAMEf for float.
_SAME = {
    **dict.fromkeys(
        """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 fabs floor ilogb j0
        j1 lgamma log log10 log1p log2 logb nearbyint rint round rsqrt sin sinh sqrt tan tanh tgamma trunc y0
        y1""".split(),
        1,
    ),
    **dict.fromkeys("atan2 copysign fdim fmod hypot jn ldexp nextafter pow remainder yn".split(), 2),
    "fma": 3,
}

# In the templates, {0}, {1}... are the operands, {r} is the C type of the result.
# One for both types: the result is computed in double.
_BOTH = {
    "sinpi": "tj_sinpi({0})", "cospi": "tj_cospi({0})", "erfinv": "tj_erfinv({0})", "erfcinv": "tj_erfcinv({0})",
    "erfcx": "tj_erfcx({0})", "normcdfinv": "-1.41421356237309504880 * tj_erfcinv(2.0 * {0})",
    "cyl_bessel_i0": "tj_bessel_i(0, {0})", "cyl_bessel_i1": "tj_bessel_i(1, {0})",
    "rcbrt": "1.0 / cbrt({0})", "powi": "pow({0}, (double){1})",
}  # fmt: skip

_ONE = {
    "normcdf": "0.5 * erfc({0} * -0.70710678118654752440)",
    "normcdff": "(float)(0.5 * tj_erfc_short((double){0} * -0.70710678118654752440))",
    "norm3d": "hypot(hypot({0}, {1}), {2})", "norm3df": "(float)tj_norm({0}, {1}, {2}, 0.0f)",
    "norm4d": "hypot(hypot({0}, {1}), hypot({2}, {3}))", "norm4df": "(float)tj_norm({0}, {1}, {2}, {3})",
    "rnorm3d": "1.0 / hypot(hypot({0}, {1}), {2})", "rnorm3df": "(float)(1.0 / tj_norm({0}, {1}, {2}, 0.0f))",
    "rnorm4d": "1.0 / hypot(hypot({0}, {1}), hypot({2}, {3}))",
    "rnorm4df": "(float)(1.0 / tj_norm({0}, {1}, {2}, {3}))",
    "rhypot": "1.0 / hypot({0}, {1})", "rhypotf": "(float)(1.0 / tj_norm({0}, {1}, 0.0f, 0.0f))",
    "scalbn": "__builtin_ldexp({0}, {1})", "scalbnf": "tj_ldexpf({0}, {1})",
    "llrint": "tj_f64_to_s64(rint({0}))", "llrintf": "tj_f32_to_s64(rintf({0}))",
    "llround": "tj_f64_to_s64(tj_round64({0}))", "llroundf": "tj_f32_to_s64(tj_round32({0}))",
    "saturatef": "tj_minnum32(tj_maxnum32({0}, 0.0f), 1.0f)",
    "fast_fdividef": "{0} / {1}",
    # The upper half of the reciprocal.
    "rcp64h": "tj_bits_f64((uint64_t)tj_f64_bits(1.0 / {0}) & UINT64_C(0xFFFFFFFF00000000))",
    "abs": "({r})({0} < 0 ? -{0} : {0})", "llabs": "({r})({0} < 0 ? -{0} : {0})",
    "brev": "({r})tj_brev32((uint32_t){0})", "brevll": "({r})tj_brev64((uint64_t){0})",
    "byte_perm": "({r})tj_byte_perm((uint32_t){0}, (uint32_t){1}, (uint32_t){2})",
    "clz": "tj_ctlz32((uint32_t){0})", "clzll": "tj_ctlz64((uint64_t){0})",
    "popc": "tj_ctpop32((uint32_t){0})", "popcll": "tj_ctpop64((uint64_t){0})",
    "ffs": "__builtin_ffs({0})", "ffsll": "__builtin_ffsll({0})",
    "mulhi": "tj_mulhis32({0}, {1})", "umulhi": "({r})tj_mulhiu32({0}, {1})",
    "mul64hi": "tj_mulhis64({0}, {1})", "umul64hi": "({r})tj_mulhiu64({0}, {1})",
    "mul24": "(({0} << 8) >> 8) * (({1} << 8) >> 8)",
    "umul24": "({r})(((uint32_t){0} & 0xFFFFFFu) * ((uint32_t){1} & 0xFFFFFFu))",
    "sad": "({r})(({0} > {1} ? {0} - {1} : {1} - {0}) + {2})",
    "usad": "({r})(((uint32_t){0} > (uint32_t){1} ? {0} - {1} : {1} - {0}) + {2})",
    "hadd": "({r})(((int64_t){0} + {1}) >> 1)", "rhadd": "({r})(((int64_t){0} + {1} + 1) >> 1)",
    "uhadd": "({r})(((uint64_t)(uint32_t){0} + (uint32_t){1}) >> 1)",
    "urhadd": "({r})(((uint64_t)(uint32_t){0} + (uint32_t){1} + 1) >> 1)",
    "isinff": "({r})(fabsf({0}) == TJ_INF)", "isinfd": "({r})(fabs({0}) == (double)TJ_INF)",
    "isnanf": "({r})({0} != {0})", "isnand": "({r})({0} != {0})",
    "finitef": "({r})(fabsf({0}) < TJ_INF)", "isfinited": "({r})(fabs({0}) < (double)TJ_INF)",
    "signbitf": "({r})(tj_f32_bits({0}) < 0)", "signbitd": "({r})(tj_f64_bits({0}) < 0)",
    "float_as_int": "tj_f32_bits({0})", "float_as_uint": "tj_f32_bits({0})",
    "int_as_float": "tj_bits_f32((uint32_t){0})", "uint_as_float": "tj_bits_f32((uint32_t){0})",
    "double_as_longlong": "tj_f64_bits({0})", "longlong_as_double": "tj_bits_f64((uint64_t){0})",
    "double2hiint": "(int32_t)(tj_f64_bits({0}) >> 32)", "double2loint": "(int32_t)tj_f64_bits({0})",
    "hiloint2double": "tj_bits_f64((uint64_t)(uint32_t){0} << 32 | (uint32_t){1})",
    # Ours, from convert_custom.py.
    "tj_e4b15_to_f16": "tj_e4b15_to_f16((uint8_t){0})", "tj_f16_to_e4b15": "({r})tj_f16_to_e4b15({0})",
}  # fmt: skip

# Arithmetic by rounding direction: to nearest, and down, up or towards zero ({m}; c/directed.h).
_DIRECTED = {
    "fadd": ("{0} + {1}", "tj_fadd_{m}({0}, {1})"), "dadd": ("{0} + {1}", "tj_dadd_{m}({0}, {1})"),
    "fsub": ("{0} - {1}", "tj_fadd_{m}({0}, -{1})"), "dsub": ("{0} - {1}", "tj_dadd_{m}({0}, -{1})"),
    "fmul": ("{0} * {1}", "tj_fmul_{m}({0}, {1})"), "dmul": ("{0} * {1}", "tj_dmul_{m}({0}, {1})"),
    "fdiv": ("{0} / {1}", "tj_fdiv_{m}({0}, {1})"), "ddiv": ("{0} / {1}", "tj_ddiv_{m}({0}, {1})"),
    "frcp": ("1.0f / {0}", "tj_fdiv_{m}(1.0f, {0})"), "drcp": ("1.0 / {0}", "tj_ddiv_{m}(1.0, {0})"),
    "fsqrt": ("sqrtf({0})", "tj_fsqrt_{m}({0})"), "dsqrt": ("sqrt({0})", "tj_dsqrt_{m}({0})"),
    "fmaf": ("fmaf({0}, {1}, {2})", "tj_fmaf_{m}({0}, {1}, {2})"),
    "fma": ("fma({0}, {1}, {2})", "tj_dma_{m}({0}, {1}, {2})"),
    # No float's root is so close to a tie that rounding it to double first matters.
    "frsqrt": ("(float)(1.0 / sqrt((double){0}))", "tj_f64_to_f32_{m}(1.0 / sqrt((double){0}))"),
    "double2float": ("(float){0}", "tj_f64_to_f32_{m}({0})"),
    "int2float": ("(float){0}", "tj_f64_to_f32_{m}((double){0})"),
    "uint2float": ("(float)(uint32_t){0}", "tj_f64_to_f32_{m}((double)(uint32_t){0})"),
    "ll2float": ("(float){0}", "tj_f64_to_f32_{m}(tj_s64_to_odd({0}))"),
    "ull2float": ("(float)(uint64_t){0}", "tj_f64_to_f32_{m}(tj_u64_to_odd((uint64_t){0}))"),
    "int2double": ("(double){0}", "(double){0}"),
    "uint2double": ("(double)(uint32_t){0}", "(double)(uint32_t){0}"),
    "ll2double": ("(double){0}", "tj_s64_to_f64_{m}({0})"),
    "ull2double": ("(double)(uint64_t){0}", "tj_u64_to_f64_{m}((uint64_t){0})"),
}  # fmt: skip


def _templates() -> dict[str, str]:
    """All functions but those of _SAME, without the leading __nv_."""
    out = dict(_ONE)
    for name, text in _BOTH.items():
        out[name] = text
        out[name + "f"] = f"(float)({text.replace('{0}', '(double){0}')})"
    for name, (nearest, directed) in _DIRECTED.items():
        out[name + "_rn"] = nearest
        for mode in ("rd", "ru", "rz"):
            out[f"{name}_{mode}"] = directed.replace("{m}", mode)
    for source, bits, suffix in (("float", "f32", "f"), ("double", "f64", "")):
        for target, kind in (("int", "s32"), ("uint", "u32"), ("ll", "s64"), ("ull", "u64")):
            for mode, to_integer in (("rn", "rint"), ("rz", "trunc"), ("rd", "floor"), ("ru", "ceil")):
                text = f"({{r}})tj_{bits}_to_{kind}({to_integer}{suffix}({{0}}))"
                out[f"{source}2{target}_{mode}"] = text
    return out


_TEMPLATES = _templates()
_OCML = re.compile(r"__ocml_(\w+)_f(32|64)")
# AMD's name -> NVIDIA's for float and for double
_OCML_NAMES = {
    "i0": ("cyl_bessel_i0f", "cyl_bessel_i0"), "i1": ("cyl_bessel_i1f", "cyl_bessel_i1"), "pown": ("powif", "powi"),
    "isfinite": ("finitef", "isfinited"), "isinf": ("isinff", "isinfd"), "isnan": ("isnanf", "isnand"),
    "signbit": ("signbitf", "signbitd"),
}  # fmt: skip
_HIP_NAMES = {
    "__triton_hip_fast_expf": "expf", "__triton_hip_fast_tanhf": "tanhf", "__triton_hip_fast_fdividef": "fast_fdividef",
    "__triton_hip_fabs": "fabs", "__triton_hip_iabs": "abs", "__triton_hip_rint": "rint",
    "__triton_hip_llrint": "llrint", "__ockl_clz_u32": "clz", "__ockl_clz_u64": "clzll",
    "__ockl_popcount_u32": "popc", "__ockl_popcount_u64": "popcll",
}  # fmt: skip
_BY_TYPE = {"fabs", "rint", "llrint"}


def template(symbol: str, float_operand: bool = False) -> str | None:
    """The C expression of a function by its name in a device library."""
    if match := _OCML.fullmatch(symbol):
        base, double = match.group(1), match.group(2) == "64"
        name = _OCML_NAMES[base][double] if base in _OCML_NAMES else base if double else base + "f"
    elif symbol in _HIP_NAMES:
        name = _HIP_NAMES[symbol]
        name += "f" if float_operand and name in _BY_TYPE else ""
    else:
        name = symbol.removeprefix("__nv_")
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    if name.startswith("fast_"):  # fast_expf: the accurate one is as fast here
        name = name[5:]
    for base, double in ((name, True), (name.removesuffix("f"), False)):
        if base in _SAME and (double or base != name):
            return f"{function(base, double)}({', '.join(f'{{{i}}}' for i in range(_SAME[base]))})"
    return None


@indexing("tt.extern_elementwise")
def extern(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    symbol = op.attrs["symbol"]
    text = template(symbol, ctype.elem(op.operands[0].type) == Scalar("f32"))
    if text is None:
        raise UnsupportedOp(f"{symbol}", op.loc, "this libdevice function has no counterpart in C here")
    result = op.results[0]
    raw_in = symbol == "tj_f16_to_e4b15"
    args = [nest.eval(v, indices, ctype.RAW if raw_in else ctype.NUM) for v in op.operands]
    level = max((a.level for a in args), default=0)
    text = text.format(*[a.text for a in args], r=ctype.local(result.type))
    if ctype.is_narrow(result.type):
        raw = nest.define(ctype.local(result.type, ctype.RAW), result.name or "ext", text, level)
        return nest.convert(raw.text, ctype.RAW, form, result, level)
    return nest.define(ctype.local(result.type), result.name or "ext", text, level)
