# SPDX-License-Identifier: Apache-2.0
"""Every function of the installed Triton's libdevice modules: mapped to C, and right.

The reference of directed roundings is exact (fractions.Fraction, integer square roots); that of
functions is NumPy's long double or Python's math.
"""

import ast
import importlib
import math
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from generate import elementwise
from triton_jit_cpu.library import library
from triton_jit_cpu.ops import extern
from triton_jit_cpu.toolchain import FLAGS, find_compiler

RNG = np.random.default_rng(11)


def functions(vendor):
    """(name in Python, types of the arguments, symbol, type of the result) in a vendor's libdevice module."""
    module = importlib.import_module(f"triton.language.extra.{vendor}.libdevice")
    tree = ast.parse(Path(module.__file__).read_text())
    out = []
    for function in tree.body:
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values):
                    if isinstance(key, ast.Tuple) and isinstance(value, ast.Tuple):
                        kinds = tuple(kind.args[0].value for kind in key.elts)
                        result = value.elts[1]
                        kind = result.args[0].value if isinstance(result, ast.Call) else "int1"
                        out.append((function.name, kinds, value.elts[0].value, kind))
    return out


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_every_function_has_a_counterpart(vendor):
    found = functions(vendor)
    assert len(found) > 100
    missing = [symbol for _, kinds, symbol, _ in found if extern.template(symbol, "fp32" in kinds) is None]
    assert not missing, f"no counterpart in C: {', '.join(missing)}"


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_all_compile(vendor, tmp_path):
    """The C compiler accepts each template with its types, without a warning."""
    types = {
        "fp32": "float", "fp64": "double", "int32": "int32_t", "int64": "int64_t", "uint32": "int32_t",
        "uint64": "int64_t", "int1": "bool",
    }  # fmt: skip
    lines = []
    for number, (_, kinds, symbol, result) in enumerate(functions(vendor)):
        text = extern.template(symbol, "fp32" in kinds)
        arguments = ", ".join(f"{types[kind]} v{i}" for i, kind in enumerate(kinds))
        names = [f"v{i}" for i in range(len(kinds))]
        lines.append(f"{types[result]} f{number}({arguments}) {{ return {text.format(*names, r=types[result])}; }}")
    body = "\n".join(lines)
    file = tmp_path / "all.c"
    abi = (Path(extern.__file__).parents[1] / "cpu_abi.h").read_text()
    file.write_text("#include <stdbool.h>\n" + abi + library().needed(body) + "\n" + body + "\n")
    flags = [f for f in FLAGS if f not in ("-O3", "-shared", "-w")]
    command = [
        *find_compiler().command,
        *flags,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
        str(file),
        "-o",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Directed rounding


def rounded(exact, digits, least, mode):
    """A Fraction as a float of so many digits whose smallest step is 2^least."""
    if exact == 0:
        return 0.0
    exponent = abs(exact).numerator.bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - digits + 1, least)
    low = exact // step
    up = exact % step != 0 and (mode == "ru" or (mode == "rz" and exact < 0))
    value = (low + up) * step
    top = Fraction(np.finfo(np.float32 if digits == 24 else np.float64).max.item())
    if abs(value) > top:
        finite = (mode == "rz") or (mode == "rd") == (value > 0)
        return (1 if exact > 0 else -1) * (float(top) if finite else math.inf)
    return float(value) if value else math.copysign(0.0, 1 if exact > 0 else -1)


def root(exact, digits, least, mode):
    """The square root: by integers, with a remainder as a hair more than the floor."""
    if exact == 0:
        return 0.0
    scale = 4**600
    whole = math.isqrt(exact.numerator * scale // exact.denominator)
    found = Fraction(whole, 2**600)
    if found * found != exact:
        found += Fraction(1, 2**1300)
    return rounded(found, digits, least, mode)


def operands(dtype, count):
    """Numbers near 1, of all magnitudes, subnormal, with few bits; some powers of two."""
    bits = {np.float32: 32, np.float64: 64}[dtype]
    info = np.finfo(dtype)
    any_ = RNG.integers(0, 2**bits, count, dtype=np.uint64).astype({32: np.uint32, 64: np.uint64}[bits]).view(dtype)
    near = (RNG.standard_normal(count) * 2.0 ** RNG.integers(-30, 30, count)).astype(dtype)
    few = (RNG.integers(-64, 64, count) * 2.0 ** RNG.integers(-40, 40, count)).astype(dtype)
    tiny = (RNG.integers(-9, 9, count) * info.smallest_subnormal).astype(dtype)
    edge = np.where(RNG.random(count) < 0.5, info.max, -info.max).astype(dtype)
    choice = RNG.integers(0, 12, count)
    with np.errstate(all="ignore"):
        out = np.select([choice < 5, choice < 8, choice < 10, choice < 11], [near, any_, few, tiny], edge)
    return np.where(np.isfinite(out), out, near).astype(dtype)


EXACT = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / b,
    "rcp": lambda a, b, c: 1 / b,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directed_arithmetic(dtype):
    count = 1500
    a, b, c = (operands(dtype, count) for _ in range(3))
    b = np.where(b == 0, dtype(1), b)
    # Results near cancellation.
    c[: count // 4] = -(a.astype(np.float64) * b)[: count // 4].astype(np.float32)
    c = np.where(np.isfinite(c), c, dtype(1))
    a[count // 2 :][:200] = b[count // 2 :][:200] * dtype(3)
    a = np.where(np.isfinite(a), a, dtype(1))
    calls = {"add": "(a, b)", "sub": "(a, b)", "mul": "(a, b)", "div": "(a, b)", "rcp": "(b)", "fma": "(a, b, c)"}
    texts = [(f"libdevice.{op}_{mode}{args}", dtype) for op, args in calls.items() for mode in ("rd", "ru", "rz")]
    texts += [(f"libdevice.sqrt_{mode}(tl.abs(a))", dtype) for mode in ("rd", "ru", "rz")]
    with np.errstate(all="ignore"):
        out, _ = elementwise(texts, a=a, b=b, c=c)
    digits, least = (24, -149) if dtype == np.float32 else (53, -1074)
    numbers = [[Fraction(float(x)) for x in v] for v in (a, b, c)]
    for (text, _), got in zip(texts, out):
        op, mode = text.split(".")[1].split("(")[0].split("_")
        if op == "sqrt":
            want = [root(abs(x), digits, least, mode) for x in numbers[0]]
        else:
            want = [rounded(EXACT[op](*three), digits, least, mode) for three in zip(*numbers)]
        wrong = np.flatnonzero(got.astype(np.float64) != np.array(want))
        assert not len(wrong), (
            f"{text}: {len(wrong)} wrong, first: a={a[wrong[0]].item().hex()} b={b[wrong[0]].item().hex()}"
            f" c={c[wrong[0]].item().hex()}: {got[wrong[0]].item().hex()}, exact {want[wrong[0]].hex()}"
        )


def test_directed_zeros_and_specials():
    inf, nan = np.inf, np.nan
    for dtype in (np.float32, np.float64):
        a = np.array([1, 0.0, -0.0, -0.0, inf, inf, nan, 1, -1], dtype)
        b = np.array([-1, -0.0, -0.0, 0.0, 1, -inf, 1, 0, 0], dtype)
        texts = [f"libdevice.{op}_{m}(a, b)" for op in ("add", "div") for m in ("rd", "ru", "rz")]
        out, _ = elementwise([(t, dtype) for t in texts], a=a, b=b)
        with np.errstate(all="ignore"):
            add, div = a + b, a / b
        for text, got in zip(texts, out):
            want = add if "add" in text else div
            np.testing.assert_array_equal(got, want, err_msg=text)
        signs = [np.signbit(got[:4]).tolist() for got in out[:3]]
        assert signs == [[True, True, True, True], [False, False, True, False], [False, False, True, False]]


def test_directed_conversions():
    i = RNG.integers(-(2**63), 2**63, 600)
    i = np.concatenate([i, i >> 30, i >> 40, [0, 1, -1, 2**62 + 1, -(2**63), 2**63 - 1]]).astype(np.int64)
    d = np.concatenate([operands(np.float64, len(i) - 6), [0.0, 1e300, -1e300, 1e-300, -1e-300, 0.1]])
    u, j, v = i.view(np.uint64), (i >> 20).astype(np.int32), (i >> 20).astype(np.uint32)
    sources = {"double2float": "d", "ll2float": "i", "ull2float": "u", "int2float": "j", "uint2float": "v"}
    wide = {"ll2double": "i", "ull2double": "u"}
    values = {"d": d, "i": i, "u": u, "j": j, "v": v}
    texts = [
        (f"libdevice.{n}_{m}({s})", np.float32 if s_ is sources else np.float64)
        for s_ in (sources, wide)
        for n, s in s_.items()
        for m in ("rd", "ru", "rz")
    ]
    out, _ = elementwise(texts, **values)
    for (text, kind), got in zip(texts, out):
        mode, source = text.split("(")[0][-2:], text[-2]
        digits, least = (24, -149) if kind == np.float32 else (53, -1074)
        want = [rounded(Fraction(x.item()), digits, least, mode) for x in values[source]]
        np.testing.assert_array_equal(got.astype(np.float64), want, err_msg=text)


def test_reciprocal_root_to_nearest():
    """All of [1, 4) would do; a sample here, checked with integers."""
    x = RNG.uniform(1, 4, 4000).astype(np.float32)
    x = np.concatenate([x, np.array([1, 2, 3, 0.25, 1e-45, 3e38], np.float32)])
    out, _ = elementwise([("libdevice.rsqrt_rn(a)", np.float32)], a=x)
    for got, a in zip(out[0], x):
        low, high = np.nextafter(got, np.float32(0)), np.nextafter(got, np.float32(np.inf))
        below = (Fraction(low.item()) + Fraction(got.item())) / 2
        above = (Fraction(high.item()) + Fraction(got.item())) / 2
        assert below**2 * Fraction(a.item()) <= 1 <= above**2 * Fraction(a.item()), a


# The others


def test_float_to_integer_saturates():
    a = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, 3e9, -3e9, 1e19, -1e19, 1e30, np.inf, -np.inf, np.nan], np.float64)
    names = {"int": (np.int32, -(2**31), 2**31 - 1), "uint": (np.int32, 0, 2**32 - 1)}
    names |= {"ll": (np.int64, -(2**63), 2**63 - 1), "ull": (np.int64, 0, 2**64 - 1)}
    modes = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}
    cases = [(s, t, m) for s in ("double", "float") for t in names for m in modes]
    texts = [
        (f"libdevice.{s}2{t}_{m}({'a' if s == 'double' else 'a.to(tl.float32)'})", names[t][0]) for s, t, m in cases
    ]
    out, _ = elementwise(texts, a=a)
    for (source, target, mode), got in zip(cases, out):
        kind, low, high = names[target]
        with np.errstate(over="ignore"):
            values = a if source == "double" else a.astype(np.float32).astype(np.float64)
        for x, y in zip(values, got):
            want = 0 if x != x else low if x == -np.inf else high if x == np.inf else modes[mode](x)
            want = min(max(want, low), high)
            assert int(y) % (1 << kind(0).nbytes * 8) == want % (1 << kind(0).nbytes * 8), (source, target, mode, x)


def digits(x):
    """Gamma and other functions without a NumPy form, by Python's math."""
    return np.array([math.gamma(v) for v in x.astype(np.float64)])


def bessel_i(order, x):
    return np.array(
        [sum((v / 2) ** (2 * k + order) / math.factorial(k) / math.factorial(k + order) for k in range(60)) for v in x]
    )


def bessel(order, x):
    """J by its integral, which the trapezoid rule gives to full accuracy."""
    t = (np.arange(200) + 0.5) * np.pi / 200
    return np.array([np.mean(np.cos(order * t - v * np.sin(t))) for v in x])


def test_functions():
    a = np.concatenate([RNG.uniform(-3, 3, 200), [0.5, -0.5, 1.0]])
    b, c = RNG.uniform(0.1, 3, len(a)), RNG.uniform(-0.99, 0.99, len(a))
    n = RNG.integers(-5, 6, len(a)).astype(np.int32)
    erfc = np.vectorize(math.erfc)
    three, four = np.sqrt(a * a + b * b + c * c), np.sqrt(2 * a * a + b * b + c * c)
    cases = {
        "sinpi(a)": np.sin(np.pi * a), "cospi(a)": np.cos(np.pi * a), "erfcx(a)": np.exp(a * a) * erfc(a),
        "erf(erfinv(c))": c, "erfc(erfcinv(c + 1))": c + 1, "normcdf(a)": 0.5 * erfc(-a / np.sqrt(2)),
        "normcdf(normcdfinv((c + 1) * 0.5))": (c + 1) / 2, "cyl_bessel_i0(a)": bessel_i(0, a),
        "cyl_bessel_i1(a)": bessel_i(1, a), "j0(a)": bessel(0, a), "j1(a)": bessel(1, a),
        "jn(n * 0 + 3, a)": bessel(3, a),
        "rcbrt(b)": 1 / np.cbrt(b), "norm3d(a, b, c)": three,
        "norm4d(a, b, c, a)": four, "rnorm3d(a, b, c)": 1 / three,
        "rnorm4d(a, b, c, a)": 1 / four, "rhypot(a, b)": 1 / np.hypot(a, b),
        "pow(b, n)": b**n, "ldexp(a, n)": np.ldexp(a, n), "scalbn(a, n)": np.ldexp(a, n), "tgamma(b)": digits(b),
        "lgamma(b)": np.log(digits(b)), "fdim(a, b)": np.maximum(a - b, 0), "logb(b)": np.floor(np.log2(b)),
        "remainder(a, b)": a - b * np.rint(a / b), "fmod(a, b)": np.fmod(a, b), "exp10(a)": 10.0**a,
        "round(a * 4)": np.trunc(a * 4 + np.copysign(0.5, a)), "nearbyint(a * 4)": np.rint(a * 4),
    }  # fmt: skip
    for dtype in (np.float32, np.float64):
        inputs = {"a": a.astype(dtype), "b": b.astype(dtype), "c": c.astype(dtype), "n": n}
        calls = [("libdevice." + re.sub(r"\((erfc?inv|normcdfinv)", r"(libdevice.\1", t), dtype) for t in cases]
        out, _ = elementwise(calls, **inputs)
        tolerance = 1e-5 if dtype == np.float32 else 1e-12
        for (text, want), got in zip(cases.items(), out):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=text)


def test_integers():
    i = RNG.integers(-(2**31), 2**31, 300).astype(np.int32)
    j = RNG.integers(-(2**31), 2**31, 300).astype(np.int32)
    p, q = i.astype(np.int64), j.astype(np.int64)
    u, v = i.astype(np.uint32).astype(np.uint64), j.astype(np.uint32).astype(np.uint64)
    cases = {
        "clz(i)": [32 - int(x).bit_length() for x in u], "popc(i)": [int(x).bit_count() for x in u],
        "brev(i)": [int(f"{x:032b}"[::-1], 2) for x in u], "ffs(i)": [(int(x) & -int(x)).bit_length() for x in u],
        "mulhi(i, j)": p * q >> 32, "hadd(i, j)": (p + q) >> 1, "rhadd(i, j)": (p + q + 1) >> 1,
        "abs(i)": np.abs(p), "sad(i, j, (i * 0).to(tl.uint32))": np.abs(p - q),
        "mul24(i, j)": (((p << 40) >> 40) * ((q << 40) >> 40)),
        "mulhi(i.to(tl.uint32), j.to(tl.uint32))": (u * v) >> 32,
        "hadd(i.to(tl.uint32), j.to(tl.uint32))": (u + v) >> 1,
        "byte_perm(i, j, i * 0 + 0x5140)": [
            (int(x) & 0xFF) | (int(y) & 0xFF) << 8 | (int(x) & 0xFF00) << 8 | (int(y) & 0xFF00) << 16
            for x, y in zip(u, v)
        ],
    }  # fmt: skip
    out, _ = elementwise([(f"libdevice.{text}", np.int32) for text in cases], i=i, j=j)
    for (text, want), got in zip(cases.items(), out):
        low = np.array([int(x) & 0xFFFFFFFF for x in want], np.uint32)
        np.testing.assert_array_equal(got.view(np.uint32), low, err_msg=text)
