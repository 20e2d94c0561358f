# SPDX-License-Identifier: Apache-2.0
"""Kernels with mistakes that a sanitizer must report, and kernels without any."""

import triton
import triton.language as tl

# ---- memory ---------------------------------------------------------------------------------------


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def copy_unmasked(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def shift_left(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets - 1, mask=offsets < n, other=-7)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def copy_rows(x_ptr, out_ptr, stride, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    mask = (r < rows) & (c < columns)
    x = tl.load(x_ptr + r * stride + c, mask=mask)
    tl.store(out_ptr + r * columns + c, x, mask=mask)


@triton.jit
def copy_scalar(x_ptr, out_ptr, at):
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)


@triton.jit
def count_into(out_ptr, index_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets, mask=offsets < n, other=0)
    tl.atomic_add(out_ptr + index, 1, mask=offsets < n)


@triton.jit
def lock_at(lock_ptr, out_ptr, at):
    old = tl.atomic_cas(lock_ptr + at, 0, 1)
    tl.store(out_ptr, old)


@triton.jit
def copy_either(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    source = tl.where(offsets % 2 == 0, a_ptr + offsets, b_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(source, mask=offsets < n), mask=offsets < n)


@triton.jit
def walk(x_ptr, out_ptr, steps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = x_ptr + offsets
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(steps):
        total += tl.load(pointers)
        pointers += BLOCK
    tl.store(out_ptr + offsets, total)


# ---- races ----------------------------------------------------------------------------------------


@triton.jit
def rows_overlap(out_ptr, stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid * stride + tl.arange(0, BLOCK), tl.full((BLOCK,), pid, tl.int32))


@triton.jit
def sum_without_atomic(x_ptr, out_ptr, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out_ptr, tl.load(out_ptr) + total)


@triton.jit
def sum_with_atomic(x_ptr, out_ptr, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.atomic_add(out_ptr, total)


@triton.jit
def split_k(x_ptr, out_ptr, lock_ptr, BLOCK: tl.constexpr, LOCKED: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    part = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    if LOCKED:
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets) + part)
    if LOCKED:
        tl.debug_barrier()
        tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def look_back(x_ptr, out_ptr, sums_ptr, flags_ptr, BLOCK: tl.constexpr, SEM: tl.constexpr):
    """A running sum over programs: each waits for the sum of the one before it."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    before = 0.0
    if pid > 0:
        while tl.atomic_add(flags_ptr + pid - 1, 0, sem=SEM) == 0:
            pass
        before = tl.load(sums_ptr + pid - 1)
    tl.store(out_ptr + offsets, before + tl.cumsum(x, 0))
    tl.store(sums_ptr + pid, before + tl.sum(x, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags_ptr + pid, 1, sem=SEM)


@triton.jit
def queue(next_ptr, x_ptr, out_ptr, jobs, BLOCK: tl.constexpr):
    job = tl.atomic_add(next_ptr, 1)
    while job < jobs:
        offsets = job * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)
        job = tl.atomic_add(next_ptr, 1)


@triton.jit
def meet(arrived_ptr, x_ptr, out_ptr, MEETS: tl.constexpr):
    """A cooperative grid: everyone writes, all wait for all, everyone reads its neighbour."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    tl.store(x_ptr + pid, pid * 10)
    if MEETS:
        tl.atomic_add(arrived_ptr, 1)
        while tl.atomic_add(arrived_ptr, 0) < programs:
            pass
    tl.store(out_ptr + pid, tl.load(x_ptr + (pid + 1) % programs))


@triton.jit
def in_block_scope(out_ptr):
    tl.atomic_add(out_ptr, 1, scope="cta")


# ---- numbers --------------------------------------------------------------------------------------


@triton.jit
def log_of(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1.0)
    tl.store(out_ptr + offsets, tl.log(x), mask=offsets < n)


@triton.jit
def exp_of(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=1000.0)
    tl.store(out_ptr + offsets, tl.exp(x) * 2, mask=offsets < n)


@triton.jit
def quotient(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x / y, mask=offsets < n)


@triton.jit
def difference(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x - y, mask=offsets < n)


@triton.jit
def safe_log(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, tl.where(x > 0, tl.log(x), -1.0), mask=offsets < n)


@triton.jit
def running(x_ptr, out_ptr, steps, BLOCK: tl.constexpr):
    """A value that overflows on its way through a loop, a branch and a sum."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    total = tl.zeros((BLOCK,), tl.float32) + 1
    for i in range(steps):
        total = total * x
        if i == 2:
            total = -total
    tl.store(out_ptr, tl.sum(total))


@triton.jit
def to_half(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(tl.float16))


@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + columns, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * k + depth[None, :], mask=(rows[:, None] < m) & (depth[None, :] < k), other=0.0
        )
        b = tl.load(
            b_ptr + depth[:, None] * n + columns[None, :], mask=(depth[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def layer_norm(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x) / n
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred) / n
    w = tl.load(w_ptr + columns, mask=mask)
    tl.store(out_ptr + row * n + columns, centred * tl.rsqrt(variance + 1e-5) * w, mask=mask)


@triton.jit
def half(x):
    return x / 2


@triton.jit(noinline=True)
def inverse(x):
    return 1.0 / x


@triton.jit
def calls(x_ptr, out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, half(inverse(tl.load(x_ptr + pid))))


# ---- descriptors ----------------------------------------------------------------------------------


@triton.jit
def copy_block(source, out_ptr, row, column):
    block = source.load([row, column])
    r = tl.arange(0, 4)[:, None]
    c = tl.arange(0, 8)[None, :]
    tl.store(out_ptr + r * 8 + c, block)


@triton.jit
def copy_made_block(x_ptr, out_ptr, rows, columns, row, column):
    source = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [4, 8])
    target = tl.make_tensor_descriptor(out_ptr, [4, 8], [8, 1], [4, 8])
    target.store([0, 0], source.load([row, column]))


# ---- reductions whose loops share, or not, what they read ------------------------------------------


@triton.jit
def reductions(x_ptr, y_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + r * C + c)
    columns = tl.sum(x, axis=0)
    y = tl.load(y_ptr + c * R + r)
    rows = tl.sum(y, axis=1)
    tl.store(out_ptr + tl.arange(0, C), columns)
    tl.store(out_ptr + C + tl.arange(0, R), rows)
    z = tl.load(y_ptr + c * R + r, mask=c < C - 3, other=1.0) * x
    tl.store(out_ptr + C + R + tl.arange(0, C), tl.sum(z, axis=0))
    tl.store(out_ptr + 2 * C + R + tl.arange(0, R), tl.sum(z + y, axis=1))
    tl.store(out_ptr + 2 * C + 2 * R, tl.sum(z - x) + tl.sum(tl.cumsum(x, axis=1)))
    mean = tl.sum(x) / (R * C)
    tl.store(out_ptr + 2 * C + 2 * R + 1, tl.sum((x - mean) * (x - mean)) + tl.max(y) + tl.sum(x * y))


# ---- control flow ---------------------------------------------------------------------------------


@triton.jit(noinline=True)
def one_of_three(x, n):
    if n > 3:
        return x / 0.0
    y = x * 2
    if n > 1:
        return y
    return tl.log(y - 100.0)


@triton.jit
def branches(x_ptr, out_ptr, n):
    x = tl.load(x_ptr)
    if n == 9:
        return
    y = x
    i = 0
    while i < n:
        y = y * x
        i += 1
    tl.store(out_ptr, one_of_three(y, n))


@triton.jit
def unlocks_another(lock_ptr, out_ptr, away):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(out_ptr, tl.load(out_ptr) + 1)
    tl.atomic_xchg(lock_ptr + away, 0)
