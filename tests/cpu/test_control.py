# SPDX-License-Identifier: Apache-2.0
"""Loops, branches, calls, program ids, printing and assertions."""

import numpy as np
import pytest
import triton_jit_cpu
from generate import module
from runner import As, compile_kernel, launch
from test_tiles import f32, run

RNG = np.random.default_rng(5)


def test_program_ids():
    outs = {"o": np.zeros((4, 3, 2, 2), np.int32)}
    run(
        """
x = tl.program_id(0)
y = tl.program_id(1)
z = tl.program_id(2)
at = o + ((z * tl.num_programs(1) + y) * tl.num_programs(0) + x) * 2
tl.store(at, x + 10 * y + 100 * z)
tl.store(at + 1, tl.num_programs(2))
""",
        outs,
        {},
        grid=(2, 3, 4),
    )
    z, y, x = np.meshgrid(np.arange(4), np.arange(3), np.arange(2), indexing="ij")
    np.testing.assert_array_equal(outs["o"][..., 0], x + 10 * y + 100 * z)
    assert (outs["o"][..., 1] == 4).all()


def test_loops_and_carried_tiles():
    x = f32(64)
    text = """
@triton.jit
def kernel(x, o, p, q, n):
    k = tl.arange(0, 64)
    a = tl.load(x + k)
    b = a * 2
    s = 0
    where = x + k
    count = tl.zeros((64,), tl.int32)
    for i in range(n):
        a, b = b, a + 1              # exchanged
        s += i
        count += 1
        where += 0
        if s % 2 == 0:
            b = b * 0.5
        else:
            a = a - 1
    tl.store(o + k, a)
    tl.store(p + k, b)
    tl.store(q + k, count + s)
"""
    for n in (0, 1, 2, 5, 6):
        outs = {k: np.zeros(64, np.float32) for k in "op"} | {"q": np.zeros(64, np.int32)}
        launch(module(text).kernel, (1,), x=x, **outs, n=n)
        a, b, s = x.copy(), x * 2, 0
        for i in range(n):
            a, b = b, a + 1
            s += i
            if s % 2 == 0:
                b = b * np.float32(0.5)
            else:
                a = a - 1
        np.testing.assert_allclose(outs["o"], a, rtol=1e-6)
        np.testing.assert_allclose(outs["p"], b, rtol=1e-6)
        np.testing.assert_array_equal(outs["q"], n + s)


def test_loop_bounds():
    text = """
@triton.jit
def kernel(o, a, b, STEP: tl.constexpr):
    s = 0
    last = -1
    for i in range(a, b, STEP):
        s += 1
        last = i
    tl.store(o, s)
    tl.store(o + 1, last)
"""
    kernel = module(text).kernel
    for low, high, step in (
        (0, 10, 3),
        (5, 5, 1),
        (7, 3, 2),
        (-5, 5, 4),
        (2**31 - 10, 2**31 - 1, 4),
        (10, 0, -3),
        (3, -3, -1),
        (2**31 - 1, -(2**31), -(2**30)),
    ):
        o = np.zeros(2, np.int32)
        launch(kernel, (1,), o=o, a=low, b=high, STEP=step)
        items = list(range(low, high, step))
        assert list(o) == [len(items), items[-1] if items else -1], (low, high, step)


def test_a_step_that_leads_nowhere_is_an_error():
    text = """
@triton.jit(noinline=True)
def count(a, b, step):
    s = 0
    for i in range(a, b, step):
        s += i
    return s


@triton.jit
def kernel(o, a, b, step):
    tl.store(o, count(a, b, step))
"""
    made = module(text)
    o = np.full(1, -1, np.int32)
    program, values = compile_kernel(made.kernel, {"o": o, "a": As("i32", 0), "b": 9, "step": As("i32", 3)})
    assert program.run((1,), values) == 0 and o[0] == 9
    for step in (0, -1, -(2**31)):
        values[1:] = [0, 9, step]
        assert program.run((1,), values) == 1
        assert program.failures == [
            (
                2,
                f"{made.__file__}:10: the step of this range is {step}; a step that is not a constant must be above 0,"
                " for a range that goes down take a constant below 0",
            )
        ]
        values[1:] = [9, 0, step]  # no iteration: as on a GPU
        assert program.run((1,), values) == 0 and o[0] == 0


def test_while_and_scalars():
    text = """
@triton.jit
def kernel(o, n):
    steps = 0
    high = n
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        high = tl.maximum(high, n)
        steps += 1
    tl.store(o, steps)
    tl.store(o + 1, high)


@triton.jit
def tiles(x, o, limit):
    k = tl.arange(0, 32)
    v = tl.load(x + k)
    rounds = 0
    while tl.sum(v) < limit:
        v = v * 2 + 1
        rounds += 1
    tl.store(o + k, v)
    tl.store(o + 32, rounds)
"""
    made = module(text)
    o = np.zeros(2, np.int32)
    launch(made.kernel, (1,), o=o, n=27)
    assert list(o) == [111, 9232]
    x = np.abs(f32(32))
    out = np.zeros(33, np.float32)
    launch(made.tiles, (1,), x=x, o=out, limit=1e5)
    v, rounds = x.copy(), 0
    while v.sum() < 1e5:
        v = v * 2 + 1
        rounds += 1
    np.testing.assert_allclose(out[:32], v, rtol=1e-6)
    assert out[32] == rounds


def test_early_return_and_calls():
    text = """
@triton.jit(noinline=True)
def collatz(n, m):
    if n > m:
        return n - m
    return n * 10 + m


@triton.jit(noinline=True)
def both(a, b):
    return a + b, a * 1.5


@triton.jit
def kernel(o, n, h: tl.float32):
    pid = tl.program_id(0)
    if pid >= n:
        return
    k = tl.arange(0, 16)
    x, y = both(pid, h)
    tl.store(o + pid * 16 + k, collatz(pid, 2) + k)
    if pid == 3:
        tl.store(o + pid * 16 + k, -1)
        return
    tl.store(o + pid * 16, (x + y).to(tl.int32))
"""
    made = module(text.replace("h: tl.float32", "h"))
    o = np.full((6, 16), 99, np.int32)
    launch(made.kernel, (6,), o=o, n=5, h=2.0)
    for pid in range(6):
        want = np.full(16, 99)
        if pid < 5:
            want = (pid - 2 if pid > 2 else pid * 10 + 2) + np.arange(16)
            if pid == 3:
                want = np.full(16, -1)
            else:
                want[0] = int(pid + 2.0 + pid * 1.5)
        np.testing.assert_array_equal(o[pid], want)


def test_scalar_types_of_parameters():
    text = """
@triton.jit
def kernel(o, a, b, c, d, e, f, g, h):
    tl.store(o + 0, a.to(tl.float64))
    tl.store(o + 1, b.to(tl.float64))
    tl.store(o + 2, c.to(tl.float64))
    tl.store(o + 3, d.to(tl.float64))
    tl.store(o + 4, e.to(tl.float64))
    tl.store(o + 5, f.to(tl.float64))
    tl.store(o + 6, g.to(tl.float64))
    tl.store(o + 7, h.to(tl.float64))
"""
    o = np.zeros(8)
    half = int(np.float16(1.5).view(np.uint16))
    launch(
        module(text).kernel,
        (1,),
        o=o,
        a=As("i8", -5),
        b=As("u16", 65535),
        c=As("i64", -(2**40)),
        d=As("u1", 1),
        e=As("fp16", half),
        f=As("fp64", 0.1),
        g=As("u64", 2**63),
        h=As("bf16", 0x4040),
    )
    np.testing.assert_array_equal(o, [-5, 65535, -(2.0**40), 1, 1.5, 0.1, 2.0**63, 3.0])


def test_print():
    text = """
@triton.jit
def kernel(x, n):
    v = tl.load(x + tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.device_print("v", v)
    tl.device_print("both", n, v.to(tl.int32))
    tl.device_print("hex", n, hex=True)
    tl.device_print("done 100%")
"""
    x = np.array([1.5, -2, 3, 4], np.float32)
    program = launch(module(text).kernel, (1, 2), x=x, n=-3)
    first = [line for line in program.prints if line.startswith("pid (0, 0, 0)")]
    assert first == [
        "pid (0, 0, 0) idx (0, 0) v: 1.500000",
        "pid (0, 0, 0) idx (0, 1) v: -2.000000",
        "pid (0, 0, 0) idx (1, 0) v: 3.000000",
        "pid (0, 0, 0) idx (1, 1) v: 4.000000",
        "pid (0, 0, 0) idx () both: (operand 0) -3",
        "pid (0, 0, 0) idx (0, 0) both: (operand 1) 1",
        "pid (0, 0, 0) idx (0, 1) both: (operand 1) -2",
        "pid (0, 0, 0) idx (1, 0) both: (operand 1) 3",
        "pid (0, 0, 0) idx (1, 1) both: (operand 1) 4",
        "pid (0, 0, 0) idx () hex: 0xfffffffd",
        "pid (0, 0, 0) done 100%",
    ]
    assert len(program.prints) == 2 * len(first)


def test_assert():
    text = """
@triton.jit
def kernel(x, o):
    pid = tl.program_id(0)
    k = tl.arange(0, 8)
    v = tl.load(x + pid * 8 + k)
    tl.device_assert(v >= 0, "negative \\"value\\" 5%")
    tl.store(o + pid * 8 + k, v)
"""
    kernel = module(text).kernel
    x = np.ones(32, np.int32)
    x[19] = -1
    o = np.zeros(32, np.int32)
    program, values = compile_kernel(kernel, {"x": x, "o": o}, debug=True)
    assert program.run((4,), values) == 1
    ((kind, message),) = program.failures
    assert kind == 1 and 'negative "value" 5%' in message and "pid (2, 0, 0) idx (3)" in message and ".py:" in message
    np.testing.assert_array_equal(o, [1] * 16 + [0] * 16)
    program, values = compile_kernel(kernel, {"x": x, "o": o})
    assert program.run((4,), values) == 0 and not program.failures


def test_overflow_check():
    text = "@triton.jit\ndef kernel(o, n):\n    tl.store(o, n * n)\n"
    o = np.zeros(1, np.int32)
    program, values = compile_kernel(module(text).kernel, {"o": o, "n": 100000}, debug=True)
    assert program.run((1,), values) == 1 and "overflow" in program.failures[0][1]


def test_what_cannot_be_lowered():
    text = """
@triton.jit
def kernel(o):
    k = tl.arange(0, 16)
    v = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [k], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(o + k, v)
"""
    made = module(text)
    with pytest.raises(triton_jit_cpu.UnsupportedOp) as caught:
        launch(made.kernel, (1,), o=np.zeros(16, np.int32))
    message = str(caught.value)
    assert f"{made.__name__}.py:10" in message and "inline assembly" in message


def test_flags_and_parameters():
    text = """
@triton.jit
def plain(x, a, b, c):
    tl.store(x, a + b + c)


@triton.jit
def atomic(x):
    tl.atomic_add(x, 1)
"""
    made = module(text)
    x = np.zeros(1, np.int64)
    program, _ = compile_kernel(made.plain, {"x": x, "a": As("i8", 1), "b": As("i64", 2), "c": As("i32", 3)})
    assert (program.info.flags, program.info.params_size, program.info.n_params) == (0, 28, 4)
    cpu = program.compiled.metadata.cpu
    assert cpu == {"abi": 2, "flags": 0, "scratch_size": program.info.scratch_size, "params_size": 28}
    program, _ = compile_kernel(made.atomic, {"x": x})
    assert program.info.flags == 1
