# SPDX-License-Identifier: Apache-2.0
"""What operations should give, and the combine functions of reductions and scans in Triton."""

from __future__ import annotations

import math

import numpy as np
from kinds import B1, F64, decode, encode, odd_double, wrap

HELPERS = """
@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def both(a, b):
    return a & b


@triton.jit
def first(a, b):
    return a


@triton.jit
def last(a, b):
    return b


@triton.jit
def greatest(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def matrix(a, b, c, d, e, f, g, h):
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@triton.jit
def affine(a, b, c, d):
    return c * a, c * b + d


@triton.jit
def differ(a, b):
    return a ^ b


@triton.jit
def newest(a, f, b, g):
    return tl.where(g, b, a), f | g


@triton.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    ratio = n_b / n
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * n_a * ratio, n


@triton.jit
def nearest(value_a, index_a, flag_a, value_b, index_b, flag_b):
    keep = (value_a < value_b) | ((value_a == value_b) & (index_a < index_b))
    return tl.where(keep, value_a, value_b), tl.where(keep, index_a, index_b), flag_a | flag_b


@triton.jit
def collatz(a, b):
    total = a + b
    steps = 0
    while (total > 1) & (steps < 5):
        total = tl.where(total % 2 == 0, total // 2, 3 * total + 1)
        steps += 1
    return total
"""


def without(shape, axis):
    """The shape behind a reduction."""
    return () if axis is None else shape[:axis] + shape[axis + 1 :]


def as_result(kind, numbers):
    """Numbers (integers of any size, or doubles) in memory form."""
    if kind.integer:
        array = np.asarray(numbers, dtype=object)
        return wrap(kind, array.ravel(), array.shape)
    return encode(kind, np.asarray(numbers, np.float64))


def fold(function, operands, axis, reverse=False):
    """Folds tuples of arrays along an axis from the left; all prefixes too."""
    moved = [np.moveaxis(x, axis, 0) for x in operands]
    if reverse:
        moved = [x[::-1] for x in moved]
    state = tuple(x[0] for x in moved)
    steps = [state]
    for i in range(1, len(moved[0])):
        state = function(*state, *(x[i] for x in moved))
        steps.append(state)
    # Integers of any size stay objects.
    prefixes = [np.stack([np.asarray(s[k], x.dtype) for s in steps]) for k, x in enumerate(operands)]
    if reverse:
        prefixes = [p[::-1] for p in prefixes]
    return state, [np.moveaxis(p, 0, axis) for p in prefixes]


def matrix(a, b, c, d, e, f, g, h):
    """The product of two 2 by 2 matrices."""
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def affine(a, b, c, d):
    """x -> a x + b, then x -> c x + d."""
    return c * a, c * b + d


def convert(source, target, array, towards_zero=False):
    """What a cast should give."""
    if target is B1:
        return decode(source, array) != 0
    if source.integer:
        if target.integer:
            return wrap(target, array)
        if target is F64:
            return np.array([float(int(v)) for v in array])
        return encode(target, [odd_double(int(v)) for v in array])
    numbers = decode(source, array)
    if target.integer:
        return np.array([saturated(target, v) for v in numbers], target.store)
    return encode(target, numbers, towards_zero)


def saturated(kind, value):
    """A double to an integer: towards zero, clamped; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return kind.high if value > 0 else kind.low
    return min(max(math.trunc(value), kind.low), kind.high)
