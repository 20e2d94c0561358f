# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for earlier ones, and sums whose order does not depend on who computes them."""

import triton
import triton.language as tl


@triton.jit
def split_k(a, b, c, locks, K, M: tl.constexpr, BK: tl.constexpr, SPLITS: tl.constexpr):
    """One part of K a program; the parts add themselves to the result one after the other."""
    part = tl.program_id(0)
    i = tl.arange(0, M)
    acc = tl.zeros((M, M), tl.float32)
    for k in range(part * BK, K, BK * SPLITS):
        kk = k + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + kk[None, :], mask=kk[None, :] < K, other=0.0)
        y = tl.load(b + kk[:, None] * M + i[None, :], mask=kk[:, None] < K, other=0.0)
        acc += tl.dot(x, y)
    at = c + i[:, None] * M + i[None, :]
    while tl.atomic_add(locks, 0, sem="acquire") != part:  # in order: the sum has the same bits always
        pass
    tl.store(at, tl.load(at) + acc)
    tl.debug_barrier()
    tl.atomic_xchg(locks, part + 1, sem="release")


@triton.jit
def scan(x, out, sums, prefixes, flags, n, BLOCK: tl.constexpr):
    """Decoupled look-back: a program adds up what the ones in front of it have made known."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    total = tl.sum(v)
    tl.store(sums + pid, total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1, sem="release")
    before = tl.zeros((), tl.int64)
    look = pid - 1
    while look >= 0:
        flag = tl.atomic_add(flags + look, 0, sem="acquire")
        if flag == 2:
            before += tl.load(prefixes + look, volatile=True)
            look = -1
        elif flag == 1:
            before += tl.load(sums + look, volatile=True)
            look -= 1
    tl.store(prefixes + pid, before + total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 2, sem="release")
    tl.store(out + at, before + tl.cumsum(v, 0), mask=at < n)


@triton.jit
def queue(counter, work, done, n):
    """A persistent kernel: programs take items from a counter, and an item waits for the one in front of it."""
    item = tl.atomic_add(counter, 1)
    while item < n:
        while item > 0 and tl.atomic_add(done + item - 1, 0, sem="acquire") == 0:
            pass
        last = tl.load(work + tl.maximum(item - 1, 0), volatile=True)
        tl.store(work + item, tl.where(item > 0, last * 3 + item, 1) % 1000003)
        tl.debug_barrier()
        tl.atomic_xchg(done + item, 1, sem="release")
        item = tl.atomic_add(counter, 1)


@triton.jit
def mixed(x, y, out, n, BLOCK: tl.constexpr):
    """Sums, products and elementary functions of floats, in no order that a thread could change."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * BLOCK + i, mask=i < n, other=0.0)
    w = tl.load(y + i)
    a = tl.sum(v * tl.exp(w)) + tl.max(tl.cumsum(v, 0))
    t = tl.dot(tl.reshape(v, (16, 16)), tl.reshape(w, (16, 16)))
    tl.store(out + row * BLOCK + i, tl.reshape(t, (BLOCK,)) * a + tl.sin(v))
