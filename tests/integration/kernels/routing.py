# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: choose two experts a token, sort the tokens by expert, multiply group by group."""

import triton
import triton.language as tl


@triton.jit
def choose(logits_ptr, experts_ptr, weights_ptr, EXPERTS: tl.constexpr):
    """The two best experts of a token and their softmax over the two; of equals the first."""
    token = tl.program_id(0)
    number = tl.arange(0, EXPERTS)
    logits = tl.load(logits_ptr + token * EXPERTS + number)
    first, best = tl.max(logits, 0, return_indices=True)
    second, next_best = tl.max(tl.where(number == best, float("-inf"), logits), 0, return_indices=True)
    share = 1.0 / (1.0 + tl.exp(second - first))
    tl.store(experts_ptr + 2 * token, best)
    tl.store(experts_ptr + 2 * token + 1, next_best)
    tl.store(weights_ptr + 2 * token, share)
    tl.store(weights_ptr + 2 * token + 1, 1.0 - share)


@triton.jit
def arrange(experts_ptr, order_ptr, starts_ptr, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    """Sorts n assignments by expert, in one program: ``order`` of assignments, ``starts`` of groups."""
    place = tl.arange(0, BLOCK)
    expert = tl.load(experts_ptr + place, mask=place < n, other=0)
    counts = tl.histogram(expert, EXPERTS, mask=place < n)
    number = tl.arange(0, EXPERTS)
    tl.store(starts_ptr + number, tl.cumsum(counts, 0) - counts)
    tl.store(starts_ptr + EXPERTS, n)
    # Key and place in one number: the sort is stable and gives both back.
    keys = tl.sort(tl.where(place < n, expert, EXPERTS) * BLOCK + place)
    tl.store(order_ptr + place, keys % BLOCK, mask=place < n)


@triton.jit
def grouped_matmul(
    x_ptr, w_ptr, order_ptr, starts_ptr, weights_ptr, out_ptr, depth, columns, TOKENS: tl.constexpr,
    COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """One block of columns of one expert: gathers its tokens' rows, adds the weighted result to out."""
    expert, block = tl.program_id(0), tl.program_id(1)
    start, end = tl.load(starts_ptr + expert), tl.load(starts_ptr + expert + 1)
    column = block * COLUMNS + tl.arange(0, COLUMNS)
    for first in range(start, end, TOKENS):
        row = first + tl.arange(0, TOKENS)
        inside = row < end
        assignment = tl.load(order_ptr + row, mask=inside, other=0)
        token = assignment // 2
        acc = tl.zeros((TOKENS, COLUMNS), tl.float32)
        for k in range(0, depth, DEPTH):
            along = k + tl.arange(0, DEPTH)
            x = tl.load(
                x_ptr + token[:, None] * depth + along[None, :],
                mask=inside[:, None] & (along[None, :] < depth), other=0.0,
            )  # fmt: skip
            w = tl.load(
                w_ptr + (expert * depth + along[:, None]) * columns + column[None, :],
                mask=(along[:, None] < depth) & (column[None, :] < columns), other=0.0,
            )  # fmt: skip
            acc = tl.dot(x, w, acc=acc)
        acc *= tl.load(weights_ptr + assignment, mask=inside, other=0.0)[:, None]
        places = out_ptr + token[:, None] * columns + column[None, :]
        tl.atomic_add(places, acc, mask=inside[:, None] & (column[None, :] < columns))


@triton.jit
def radix_top(x_ptr, out_ptr, places_ptr, n, count, BLOCK: tl.constexpr):
    """The ``count`` largest of n floats in the order of their places, by selection digit by digit.

    Of equal ones at the threshold the first are taken.
    """
    place = tl.arange(0, BLOCK)
    inside = place < n
    x = tl.load(x_ptr + place, mask=inside, other=0.0)
    bits = x.to(tl.uint32, bitcast=True)
    # Unsigned numbers in the order of the floats.
    keys = bits ^ tl.where(bits >> 31 != 0, 0xFFFFFFFF, 0x80000000).to(tl.uint32)
    digits = tl.arange(0, 256)
    prefix = tl.zeros((), tl.uint32)
    known = tl.zeros((), tl.uint32)
    left = count
    for step in tl.static_range(4):
        digit = ((keys >> (24 - 8 * step)) & 255).to(tl.int32)
        matches = inside & ((keys & known) == prefix)
        counts = tl.histogram(digit, 256, mask=matches)
        at_least = tl.cumsum(counts, 0, reverse=True)
        chosen = tl.max(tl.where(at_least >= left, digits, 0), 0)
        left -= tl.sum(tl.where(digits > chosen, counts, 0), 0)
        prefix |= chosen.to(tl.uint32) << (24 - 8 * step)
        known |= tl.full((), 255, tl.uint32) << (24 - 8 * step)
    above = inside & (keys > prefix)
    equal = inside & (keys == prefix)
    taken = above | (equal & (tl.cumsum(equal.to(tl.int32), 0) <= left))
    to = tl.cumsum(taken.to(tl.int32), 0) - 1
    tl.store(out_ptr + to, x, mask=taken)
    tl.store(places_ptr + to, place, mask=taken)
