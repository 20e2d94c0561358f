# SPDX-License-Identifier: Apache-2.0
"""Atomic operations: each kind, masks, old values, narrow types, and real threads."""

import threading

import numpy as np
import pytest
import triton.language as tl
from generate import module
from runner import As, bf16_bits, bf16_value, compile_kernel, launch
from test_tiles import run

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_integer_kinds(dtype):
    info = np.iinfo(dtype)
    start = RNG.integers(info.min, info.max, (8, 64), dtype=dtype, endpoint=True)
    v = RNG.integers(info.min, info.max, 64, dtype=dtype, endpoint=True)
    x = start.copy()
    old = np.zeros((8, 64), dtype)
    kinds = ["add", "max", "min", "and", "or", "xor", "xchg"]
    body = "k = tl.arange(0, 64)\na = tl.load(v + k)\nm = k < 50\n"
    for i, kind in enumerate(kinds):
        body += f"tl.store(old + {i * 64} + k, tl.atomic_{kind}(x + {i * 64} + k, a, mask=m), mask=m)\n"
    body += "tl.store(old + 448 + k, tl.atomic_cas(x + 448 + k, tl.load(x + 448 + k) & a, a))\n"
    run(body, {}, {"x": x, "v": v, "old": old})
    s = start[:, :50]
    w = v[:50]
    wanted = [s[0] + w, np.maximum(s[1], w), np.minimum(s[2], w), s[3] & w, s[4] | w, s[5] ^ w, w]
    for i, want in enumerate(wanted):
        np.testing.assert_array_equal(x[i, :50], want, err_msg=kinds[i])
        np.testing.assert_array_equal(x[i, 50:], start[i, 50:], err_msg=kinds[i])
        np.testing.assert_array_equal(old[i, :50], s[i], err_msg=kinds[i])
    np.testing.assert_array_equal(x[7], np.where((start[7] & v) == start[7], v, start[7]))
    np.testing.assert_array_equal(old[7], start[7])


def test_float_kinds():
    for dtype in (np.float32, np.float64):
        start = RNG.standard_normal((4, 64)).astype(dtype)
        v = RNG.standard_normal(64).astype(dtype)
        x, old = start.copy(), np.zeros((4, 64), dtype)
        body = "k = tl.arange(0, 64)\na = tl.load(v + k)\n"
        for i, kind in enumerate(["add", "max", "min", "xchg"]):
            body += f"tl.store(old + {i * 64} + k, tl.atomic_{kind}(x + {i * 64} + k, a))\n"
        run(body, {}, {"x": x, "v": v, "old": old})
        for got, want in zip(x, [start[0] + v, np.maximum(start[1], v), np.minimum(start[2], v), v]):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(old[[0, 3]], start[[0, 3]])
    half = np.ones(32, np.float16)
    brain = bf16_bits(np.ones(32, np.float32))
    run(
        "k = tl.arange(0, 32)\ntl.atomic_add(h + k, k.to(tl.float16))\ntl.atomic_add(b + k, k.to(tl.bfloat16))\n",
        {},
        {"h": half, "b": As("*bf16", brain)},
    )
    np.testing.assert_array_equal(half, 1 + np.arange(32, dtype=np.float16))
    np.testing.assert_array_equal(bf16_value(brain), 1 + np.arange(32, dtype=np.float32))


def test_collisions_and_scalars():
    counts = np.zeros(8, np.int32)
    data = RNG.integers(0, 8, 256).astype(np.int32)
    outs = {"o": np.zeros(3, np.int32), "f": np.zeros(1, np.float32)}
    run(
        """
k = tl.arange(0, 256)
tl.atomic_add(counts + tl.load(data + k), 1)
tl.store(o, tl.atomic_add(counts, 5))
tl.store(o + 1, tl.atomic_cas(counts + 1, -1, 9))
tl.store(o + 2, tl.atomic_max(counts + 2, 1000))
tl.atomic_add(f, 2.5)
""",
        outs,
        {"counts": counts, "data": data},
    )
    want = np.bincount(data, minlength=8)
    np.testing.assert_array_equal(outs["o"], want[:3])
    assert counts[0] == want[0] + 5 and counts[1] == want[1] and counts[2] == 1000
    assert outs["f"][0] == 2.5


def test_threads_and_spin_lock():
    text = """
@triton.jit
def kernel(lock, total, hits, N: tl.constexpr):
    tl.atomic_add(hits + tl.arange(0, 4), 1)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + 1)
    tl.atomic_xchg(lock, 0)
"""
    lock, total, hits = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(4, np.float32)
    programs = [
        compile_kernel(module(text).kernel, {"lock": lock, "total": total, "hits": hits, "N": 1}) for _ in range(2)
    ]
    threads = [threading.Thread(target=p.run, args=((4000,), v)) for p, v in programs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert total[0] == 8000 and (hits == 8000).all()
    assert all(p.info.flags == 1 for p, _ in programs)


def test_volatile():
    x = np.arange(64, dtype=np.float32)
    outs = {"o": np.zeros(64, np.float32), "s": np.zeros(1, np.float32)}
    program = run(
        "k = tl.arange(0, 64)\n"
        "tl.store(o + k, tl.load(x + k, mask=k < 60, other=5.0, volatile=True) * 2)\n"
        "tl.store(s, tl.load(x + 3, volatile=True))\n",
        outs,
        {"x": x},
    )
    np.testing.assert_array_equal(outs["o"], np.where(np.arange(64) < 60, x, 5) * 2)
    assert outs["s"][0] == 3 and program.info.flags == 1 and "volatile" in program.c


@pytest.mark.skipif(
    not hasattr(tl, "atomic_load"), reason="Triton before 3.9 has no atomic_load, atomic_store and atomic_poll"
)
def test_load_store_poll():
    x = np.arange(32, dtype=np.int32)
    outs = {"o": np.full(32, -1, np.int32), "p": np.zeros(3, np.int32), "f": np.zeros(1, np.float32)}
    run(
        """
k = tl.arange(0, 32)
tl.atomic_store(o + k, tl.atomic_load(x + k, mask=k < 20), mask=k < 20)
tl.store(p, tl.atomic_poll(x + 7, 7).to(tl.int32))
tl.store(p + 1, tl.atomic_poll(x + 7, 8, timeout_ns=1000).to(tl.int32))
tl.store(p + 2, tl.sum(tl.atomic_poll(x + k, k % 16, timeout_ns=1000).to(tl.int32)))
tl.atomic_store(f, 2.5)
""",
        outs,
        {"x": x},
    )
    np.testing.assert_array_equal(outs["o"], np.where(x < 20, x, -1))
    np.testing.assert_array_equal(outs["p"], [1, 0, 16])
    assert outs["f"][0] == 2.5


def test_launch_gives_program():
    kernel = module("@triton.jit\ndef kernel(x):\n    tl.atomic_or(x, 6)\n").kernel
    assert launch(kernel, (1,), x=np.ones(1, np.int32)).info.abi == 2


def test_every_order_and_scope():
    """Each order and scope of each operation: the right result, and at least the order asked for."""
    orders = ["relaxed", "acquire", "release", "acq_rel"]
    pairs = [(sem, scope) for sem in orders for scope in ("cta", "gpu", "sys")]
    body = "k = tl.arange(0, 8)\n"
    for n, (sem, scope) in enumerate(pairs):
        how = f'sem="{sem}", scope="{scope}"'
        body += f"tl.store(o + {n}, tl.atomic_add(x + {n}, {n + 1}, {how}))\n"
        body += f"tl.store(q + {8 * n} + k, tl.atomic_cas(y + {8 * n} + k, k, k + {n}, {how}))\n"
    x, y = np.arange(12, dtype=np.int64), np.tile(np.arange(8, dtype=np.int32), 12)
    y[::3] = -1
    start = y.copy()
    outs = {"o": np.zeros(12, np.int64), "q": np.zeros(96, np.int32)}
    program = run(body, outs, {"x": x, "y": y})
    np.testing.assert_array_equal(x, np.arange(12) * 2 + 1)
    np.testing.assert_array_equal(outs["o"], np.arange(12))
    np.testing.assert_array_equal(outs["q"], start)
    lanes = np.tile(np.arange(8), 12)
    np.testing.assert_array_equal(y, np.where(start == lanes, lanes + np.repeat(np.arange(12), 8), start))
    calls = [line for line in program.c.splitlines() if "__atomic_fetch_add(" in line and "pg" not in line]
    assert ["RELAXED" in line for line in calls] == [sem == "relaxed" for sem, _ in pairs]


@pytest.mark.parametrize("name", ["i16", "u16", "i32", "i64", "fp16", "bf16", "fp32", "fp64"])
def test_compare_and_swap_of_each_width(name):
    """Floats are compared by their bits, as GPUs do: a zero of the other sign is another value."""
    bits = {"16": np.uint16, "32": np.uint32, "64": np.uint64}[name[-2:]]
    start = RNG.integers(0, 100, 32).astype(bits)
    want = np.where(np.arange(32) % 2 == 0, start, start + 1).astype(bits)
    new = RNG.integers(0, 100, 32).astype(bits)
    if name[0] not in "iu":
        start[:2] = np.array(1 << (bits().itemsize * 8 - 1), bits)
        want[:2] = [0, start[1]]
    x, old, one = start.copy(), np.zeros(32, bits), np.zeros(2, bits)
    arrays = {n: As("*" + name, a) for n, a in {"x": x, "c": want, "v": new, "old": old, "one": one}.items()}
    run(
        "k = tl.arange(0, 32)\n"
        "tl.store(old + k, tl.atomic_cas(x + k, tl.load(c + k), tl.load(v + k)))\n"
        "tl.store(one, tl.load(x + 1))\n"
        "tl.store(one + 1, tl.atomic_cas(one, tl.load(x + 1), tl.load(v + 5)))\n",
        {},
        arrays,
    )
    np.testing.assert_array_equal(x, np.where(start == want, new, start))
    np.testing.assert_array_equal(old, start)
    assert one[0] == new[5] and one[1] == x[1]


def test_float_extremes_keep_the_order_of_numbers():
    """Maximum and minimum of floats of either sign, scalar and tile, masked."""
    values = np.array([-3.5, -0.0, 0.0, 2.5, -np.inf, np.inf, 1e-40, -1e-40], np.float64)
    a, b = (g.ravel() for g in np.meshgrid(values, values))
    for dtype in (np.float32, np.float64):
        hi, lo = a.astype(dtype), a.astype(dtype)
        old = np.zeros(64, dtype)
        v = b.astype(dtype)
        run(
            "k = tl.arange(0, 64)\nm = k != 9\nw = tl.load(v + k)\n"
            "tl.store(old + k, tl.atomic_max(hi + k, w, mask=m), mask=m)\ntl.atomic_min(lo + k, w, mask=m)\n"
            "tl.atomic_max(hi + 9, tl.load(v + 9))\ntl.atomic_min(lo + 9, tl.load(v + 9))\n",
            {},
            {"hi": hi, "lo": lo, "v": v, "old": old},
        )
        np.testing.assert_array_equal(hi, np.maximum(a, b).astype(dtype))
        np.testing.assert_array_equal(lo, np.minimum(a, b).astype(dtype))
        np.testing.assert_array_equal(np.delete(old, 9), np.delete(a.astype(dtype), 9))
