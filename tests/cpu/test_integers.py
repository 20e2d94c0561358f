# SPDX-License-Identifier: Apache-2.0
"""Integer operations over all widths, corner cases included."""

import numpy as np
import pytest
from generate import elementwise

RNG = np.random.default_rng(1)


def corners(dtype, n=300):
    """Random numbers with all pairs of the corner cases in front."""
    info = np.iinfo(dtype)
    special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7]
    if info.min < 0:
        special += [-1, -2, -7]
    pairs = [(a, b) for a in special for b in special]
    a = RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    b = RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    a[: len(pairs)], b[: len(pairs)] = zip(*pairs)
    return a, b


def wrap(x, dtype):
    """Python integers to a NumPy type, modulo its width."""
    bits = np.iinfo(dtype).bits
    return np.array([int(v) & ((1 << bits) - 1) for v in x], dtype=np.dtype(f"u{bits // 8}")).astype(dtype)


def trunc_div(a, b):
    return [0 if y == 0 else abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)]


def trunc_rem(a, b):
    return [0 if y == 0 else int(x) - int(y) * q for x, y, q in zip(a, b, trunc_div(a, b))]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_arithmetic(dtype):
    a, b = corners(dtype)
    bits = np.iinfo(dtype).bits
    name = np.dtype(dtype).name
    shift = f"(b & {2 * bits - 1}).to(tl.{name})"
    wanted = {
        "a + b": wrap([int(x) + int(y) for x, y in zip(a, b)], dtype),
        "a - b": wrap([int(x) - int(y) for x, y in zip(a, b)], dtype),
        "a * b": wrap([int(x) * int(y) for x, y in zip(a, b)], dtype),
        "a // b": wrap(trunc_div(a, b), dtype),
        "a & b": a & b,
        "a | b": a | b,
        "a ^ b": a ^ b,
        "~a": ~a,
        "tl.maximum(a, b)": np.maximum(a, b),
        "tl.minimum(a, b)": np.minimum(a, b),
        "tl.where(a > b, a, b)": np.maximum(a, b),
        "tl.where((a <= b) & (a != 3), a, b)": np.where((a <= b) & (a != 3), a, b),
        "(a < b).to(tl.int8)": (a < b),
        "(a <= b).to(tl.int8)": (a <= b),
        "(a > b).to(tl.int8)": (a > b),
        "(a >= b).to(tl.int8)": (a >= b),
        "(a == b).to(tl.int8)": (a == b),
        "(a != b).to(tl.int8)": (a != b),
    }
    rem = wrap(trunc_rem(a, b), dtype)
    wanted["a % b"] = np.where(b == 0, 0, rem).astype(dtype)
    amounts = [int(y) & (2 * bits - 1) for y in b]
    wanted[f"a << {shift}"] = wrap([0 if s >= bits else int(x) << s for x, s in zip(a, amounts)], dtype)
    fill = [(-1 if x < 0 else 0) if s >= bits else int(x) >> s for x, s in zip(a, amounts)]
    wanted[f"a >> {shift}"] = wrap(fill, dtype)
    if np.iinfo(dtype).min < 0:
        wanted["tl.abs(a)"] = wrap([abs(int(x)) for x in a], dtype)
        wanted["-a"] = wrap([-int(x) for x in a], dtype)
    kinds = [(text, np.int8 if text.endswith("to(tl.int8)") else dtype) for text in wanted]
    results, _ = elementwise(kinds, a=a, b=b, options={"sanitize_overflow": False})
    for (text, want), got in zip(wanted.items(), results):
        np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=text)


def test_conversions_between_integers():
    for source in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        a, _ = corners(source)
        targets = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
        results, _ = elementwise([(f"a.to(tl.{np.dtype(t).name})", t) for t in targets], a=a)
        for target, got in zip(targets, results):
            np.testing.assert_array_equal(got, a.astype(target), err_msg=f"{source} to {target}")


def test_booleans():
    a, b = corners(np.int32)
    cases = {
        "((a > 0) & (b > 0)).to(tl.int32)": (a > 0) & (b > 0),
        "((a > 0) | (b > 0)).to(tl.int32)": (a > 0) | (b > 0),
        "((a > 0) ^ (b > 0)).to(tl.int32)": (a > 0) ^ (b > 0),
        "(~(a > 0)).to(tl.int32)": ~(a > 0),
        "((a > 0) == (b > 0)).to(tl.int32)": (a > 0) == (b > 0),
        "((a > 0) < (b > 0)).to(tl.int32)": (a > 0) < (b > 0),
        "((a > 0) >= (b > 0)).to(tl.int32)": (a > 0) >= (b > 0),
        "((a > 0).to(tl.int32) + (b > 0))": (a > 0).astype(np.int32) + (b > 0),
        "(a > 0).to(tl.float32).to(tl.int32)": (a > 0),
        "(a != 0).to(tl.int1).to(tl.int32)": a != 0,
        "a.to(tl.int1).to(tl.int32)": a != 0,
        "tl.where(a > 0, b > 0, b < 0).to(tl.int32)": np.where(a > 0, b > 0, b < 0),
    }
    results, _ = elementwise([(text, np.int32) for text in cases], a=a, b=b)
    for (text, want), got in zip(cases.items(), results):
        np.testing.assert_array_equal(got, want.astype(np.int32), err_msg=text)


def test_bool_tensors_in_memory():
    a = RNG.integers(0, 2, 200).astype(bool)
    b = RNG.integers(0, 2, 200).astype(bool)
    results, _ = elementwise([("a & b", np.bool_), ("a ^ b", np.bool_), ("a == 0", np.bool_)], a=a, b=b)
    for got, want in zip(results, (a & b, a ^ b, ~a)):
        np.testing.assert_array_equal(got, want)


def test_multiply_high_and_bits():
    for dtype, bits in ((np.uint32, 32), (np.uint64, 64)):
        a, b = corners(dtype)
        cases = {
            "tl.umulhi(a, b)": [(int(x) * int(y)) >> bits for x, y in zip(a, b)],
        }
        results, _ = elementwise([(text, dtype) for text in cases], a=a, b=b)
        for (text, want), got in zip(cases.items(), results):
            np.testing.assert_array_equal(got, np.array(want, dtype=dtype), err_msg=text)
    a, b = corners(np.int32)
    cases = {
        "libdevice.popc(a)": [bin(int(x) & 0xFFFFFFFF).count("1") for x in a],
        "libdevice.clz(a)": [32 - (int(x) & 0xFFFFFFFF).bit_length() for x in a],
        "libdevice.ffs(a)": [((int(x) & -int(x)) & 0xFFFFFFFF).bit_length() for x in a],
        "libdevice.brev(a)": wrap([int(f"{int(x) & 0xFFFFFFFF:032b}"[::-1], 2) for x in a], np.int32),
        "libdevice.mulhi(a, b)": [(int(x) * int(y)) >> 32 for x, y in zip(a, b)],
    }
    results, _ = elementwise([(text, np.int32) for text in cases], a=a, b=b)
    for (text, want), got in zip(cases.items(), results):
        np.testing.assert_array_equal(got, np.array(want, dtype=np.int32), err_msg=text)


def test_64_bit_indices_and_wrapping_offsets():
    """Offsets that wrap around in 32 bits must not be taken for linear ones."""
    from generate import module
    from runner import launch

    kernel = module(
        """
@triton.jit
def kernel(x, out, start, B: tl.constexpr):
    offs = start + tl.arange(0, B)          # wraps around in the middle
    back = offs - start                     # and back again
    big = offs.to(tl.int64)
    tl.store(out + back, big)
    tl.store(out + B + back, tl.load(x + back, mask=offs > 0, other=-1).to(tl.int64))
"""
    ).kernel
    x = np.arange(64, dtype=np.int32)
    out = np.zeros(128, np.int64)
    start = 2**31 - 20
    launch(kernel, (1,), x=x, out=out, start=start, B=64, options={"sanitize_overflow": False})
    want = (np.arange(64, dtype=np.int64) + start + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out[:64], want)
    np.testing.assert_array_equal(out[64:], np.where(want > 0, x, -1))
