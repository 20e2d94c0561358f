# SPDX-License-Identifier: Apache-2.0
"""``tt.extern_elementwise``: libdevice functions by their names, mapped to libm and C."""

from __future__ import annotations

from .. import ctype
from ..errors import UnsupportedOp
from ..ir import Op
from ..nest import Expr, Indices, Nest
from ..registry import indexing

# libm functions whose libdevice name is the same: __nv_NAME for double, __nv_NAMEf for float.
_LIBM = set(
    """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor
    fma fmod hypot j0 j1 lgamma log log10 log1p log2 logb nearbyint nextafter pow remainder rint round sin sinh sqrt
    tan tanh tgamma trunc y0 y1 ldexp""".split()
)
_BINARY = {"atan2", "copysign", "fdim", "fmod", "hypot", "nextafter", "pow", "remainder", "ldexp"}
_OWN = {"expf": "tj_expf", "exp2f": "tj_exp2f", "logf": "tj_logf", "log2f": "tj_log2f"}
_FAST = {"sinf", "cosf", "tanf", "expf", "exp10f", "logf", "log2f", "log10f", "powf"}

# {0}, {1}... are the operands, {r} the C type of the result.
_TEMPLATES = {
    # Name without a leading __nv_; the double form and the float form where both exist.
    "rsqrt": "1.0 / sqrt({0})", "rsqrtf": "1.0f / sqrtf({0})",
    "rcbrt": "1.0 / cbrt({0})", "rcbrtf": "1.0f / cbrtf({0})",
    "rhypot": "1.0 / hypot({0}, {1})", "rhypotf": "1.0f / hypotf({0}, {1})",
    "sinpi": "tj_sinpi({0})", "sinpif": "(float)tj_sinpi({0})",
    "cospi": "tj_cospi({0})", "cospif": "(float)tj_cospi({0})",
    "erfinv": "tj_erfinv({0})", "erfinvf": "(float)tj_erfinv({0})",
    "erfcinv": "tj_erfcinv({0})", "erfcinvf": "(float)tj_erfcinv({0})",
    "erfcx": "tj_erfcx({0})", "erfcxf": "(float)tj_erfcx({0})",
    "normcdf": "0.5 * erfc({0} * -0.70710678118654752440)",
    "normcdff": "(float)(0.5 * erfc((double){0} * -0.70710678118654752440))",
    "normcdfinv": "-1.41421356237309504880 * tj_erfcinv(2.0 * {0})",
    "normcdfinvf": "(float)(-1.41421356237309504880 * tj_erfcinv(2.0 * (double){0}))",
    "cyl_bessel_i0": "tj_bessel_i(0, {0})", "cyl_bessel_i0f": "(float)tj_bessel_i(0, {0})",
    "cyl_bessel_i1": "tj_bessel_i(1, {0})", "cyl_bessel_i1f": "(float)tj_bessel_i(1, {0})",
    "jn": "jn({0}, {1})", "jnf": "jnf({0}, {1})", "yn": "yn({0}, {1})", "ynf": "ynf({0}, {1})",
    "norm3d": "sqrt({0} * {0} + {1} * {1} + {2} * {2})",
    "norm3df": "(float)sqrt((double){0} * {0} + (double){1} * {1} + (double){2} * {2})",
    "norm4d": "sqrt({0} * {0} + {1} * {1} + {2} * {2} + {3} * {3})",
    "norm4df": "(float)sqrt((double){0} * {0} + (double){1} * {1} + (double){2} * {2} + (double){3} * {3})",
    "rnorm3d": "1.0 / sqrt({0} * {0} + {1} * {1} + {2} * {2})",
    "rnorm3df": "(float)(1.0 / sqrt((double){0} * {0} + (double){1} * {1} + (double){2} * {2}))",
    "rnorm4d": "1.0 / sqrt({0} * {0} + {1} * {1} + {2} * {2} + {3} * {3})",
    "rnorm4df": "(float)(1.0 / sqrt((double){0} * {0} + (double){1} * {1} + (double){2} * {2} + (double){3} * {3}))",
    "powi": "pow({0}, (double){1})", "powif": "(float)pow((double){0}, (double){1})",
    "scalbn": "ldexp({0}, {1})", "scalbnf": "ldexpf({0}, {1})",
    "ilogb": "ilogb({0})", "ilogbf": "ilogbf({0})",
    "llrint": "tj_f64_to_s64(rint({0}))", "llrintf": "tj_f32_to_s64(rintf({0}))",
    "llround": "tj_f64_to_s64(round({0}))", "llroundf": "tj_f32_to_s64(roundf({0}))",
    "saturatef": "tj_minnum32(tj_maxnum32({0}, 0.0f), 1.0f)",
    "fast_fdividef": "{0} / {1}",
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
    # Arithmetic to nearest; the other rounding directions are not offered.
    "fadd_rn": "{0} + {1}", "dadd_rn": "{0} + {1}", "fsub_rn": "{0} - {1}", "dsub_rn": "{0} - {1}",
    "fmul_rn": "{0} * {1}", "dmul_rn": "{0} * {1}", "fdiv_rn": "{0} / {1}", "ddiv_rn": "{0} / {1}",
    "frcp_rn": "1.0f / {0}", "drcp_rn": "1.0 / {0}", "fsqrt_rn": "sqrtf({0})", "dsqrt_rn": "sqrt({0})",
    "frsqrt_rn": "(float)(1.0 / sqrt((double){0}))", "fma_rn": "fma({0}, {1}, {2})", "fmaf_rn": "fmaf({0}, {1}, {2})",
    "double2float_rn": "(float){0}",
    "int2double_rn": "(double){0}", "uint2double_rn": "(double)(uint32_t){0}",
    "int2float_rn": "(float){0}", "uint2float_rn": "(float)(uint32_t){0}",
    "ll2double_rn": "(double){0}", "ull2double_rn": "(double)(uint64_t){0}",
    "ll2float_rn": "(float){0}", "ull2float_rn": "(float)(uint64_t){0}",
    # Ours, from convert_custom.py.
    "tj_e4b15_to_f16": "tj_e4b15_to_f16((uint8_t){0})", "tj_f16_to_e4b15": "({r})tj_f16_to_e4b15({0})",
}  # fmt: skip

for _from, _bits, _suffix in (("float", "f32", "f"), ("double", "f64", "")):
    for _to, _kind in (("int", "s32"), ("uint", "u32"), ("ll", "s64"), ("ull", "u64")):
        for _mode, _round in (("rn", "rint"), ("rz", "trunc"), ("rd", "floor"), ("ru", "ceil")):
            _TEMPLATES[f"{_from}2{_to}_{_mode}"] = f"({{r}})tj_{_bits}_to_{_kind}({_round}{_suffix}({{0}}))"


def _template(symbol: str) -> str | None:
    name = symbol.removeprefix("__nv_")
    if name.startswith("fast_") and name[5:] in _FAST:
        name = name[5:]
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    base = name.removesuffix("f")
    for candidate in (name, base):
        if candidate in _LIBM and (candidate == name or candidate + "f" == name):
            count = 3 if candidate == "fma" else 2 if candidate in _BINARY else 1
            args = ", ".join(f"{{{i}}}" for i in range(count))
            return f"{_OWN.get(name, name)}({args})"
    return None


@indexing("tt.extern_elementwise")
def extern(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    symbol = op.attrs["symbol"]
    template = _template(symbol)
    if template is None:
        raise UnsupportedOp(f"{symbol}", op.loc, "this libdevice function has no counterpart in C here")
    result = op.results[0]
    raw_in = symbol == "tj_f16_to_e4b15"
    args = [nest.eval(v, indices, ctype.RAW if raw_in else ctype.NUM) for v in op.operands]
    level = max((a.level for a in args), default=0)
    text = template.format(*[a.text for a in args], r=ctype.local(result.type))
    if ctype.is_narrow(result.type):
        raw = nest.define(ctype.local(result.type, ctype.RAW), result.name or "ext", text, level)
        return nest.convert(raw.text, ctype.RAW, form, result, level)
    return nest.define(ctype.local(result.type), result.name or "ext", text, level)
