# SPDX-License-Identifier: Apache-2.0
"""Scans, stencils and transforms."""

import triton
import triton.language as tl


@triton.jit
def _join_segments(flag_a, value_a, flag_b, value_b):
    """A segment that begins in b forgets a."""
    return flag_a | flag_b, tl.where(flag_b != 0, value_b, value_a + value_b)


@triton.jit
def segmented_scan(flags_ptr, x_ptr, out_ptr, n, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    """Running sums that begin anew where a flag is set; each program does one row of n."""
    row = tl.program_id(0) * n
    place = tl.arange(0, BLOCK)
    inside = place < n
    flags = tl.load(flags_ptr + row + place, mask=inside, other=0)
    x = tl.load(x_ptr + row + place, mask=inside, other=0.0)
    _, sums = tl.associative_scan((flags, x), 0, _join_segments, reverse=REVERSE)
    tl.store(out_ptr + row + place, sums, mask=inside)


@triton.jit
def heat_2d(x_ptr, out_ptr, height, width, rate, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One step of the five-point stencil; beyond the border lies zero."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    place = row * width + column
    inside = (row < height) & (column < width)
    middle = tl.load(x_ptr + place, mask=inside, other=0.0)
    up = tl.load(x_ptr + place - width, mask=inside & (row > 0), other=0.0)
    down = tl.load(x_ptr + place + width, mask=inside & (row + 1 < height), other=0.0)
    left = tl.load(x_ptr + place - 1, mask=inside & (column > 0), other=0.0)
    right = tl.load(x_ptr + place + 1, mask=inside & (column + 1 < width), other=0.0)
    tl.store(out_ptr + place, middle + rate * (up + down + left + right - 4 * middle), mask=inside)


@triton.jit
def box_3d(x_ptr, out_ptr, nx, ny, nz, Y: tl.constexpr, Z: tl.constexpr):
    """The mean over the 27 cells around each one that are there; one plane's block a program."""
    x = tl.program_id(0)
    y = (tl.program_id(1) * Y + tl.arange(0, Y))[:, None]
    z = (tl.program_id(2) * Z + tl.arange(0, Z))[None, :]
    total = tl.zeros((Y, Z), tl.float32)
    count = tl.zeros((Y, Z), tl.int32)
    for dx in range(-1, 2):
        for dy in tl.static_range(-1, 2):
            for dz in tl.static_range(-1, 2):
                there = (x + dx >= 0) & (x + dx < nx) & (y + dy >= 0) & (y + dy < ny) & (z + dz >= 0) & (z + dz < nz)
                total += tl.load(x_ptr + ((x + dx) * ny + y + dy) * nz + z + dz, mask=there, other=0.0)
                count += there.to(tl.int32)
    tl.store(out_ptr + (x * ny + y) * nz + z, total / count, mask=(y < ny) & (z < nz))


@triton.jit
def _butterflies(re, im, N: tl.constexpr, M: tl.constexpr):
    """One stage: pairs that lie N / 2 apart become neighbours M apart of transforms half as long."""
    a_re, b_re = re.reshape(2, M, N // M // 2).permute(1, 2, 0).split()
    a_im, b_im = im.reshape(2, M, N // M // 2).permute(1, 2, 0).split()
    angle = -3.14159265358979323846 / M * tl.arange(0, M)[:, None]
    c, s = tl.cos(angle), tl.sin(angle)
    d_re, d_im = a_re - b_re, a_im - b_im
    re = tl.join(a_re + b_re, d_re * c - d_im * s).permute(0, 2, 1).reshape(N)
    im = tl.join(a_im + b_im, d_re * s + d_im * c).permute(0, 2, 1).reshape(N)
    return re, im


@triton.jit
def fft(re_ptr, im_ptr, out_re_ptr, out_im_ptr, N: tl.constexpr, LOG: tl.constexpr):
    """The discrete Fourier transform of one row of N = 2^LOG, by butterflies that sort themselves."""
    row = tl.program_id(0) * N
    place = tl.arange(0, N)
    re, im = tl.load(re_ptr + row + place), tl.load(im_ptr + row + place)
    for i in tl.static_range(LOG):
        re, im = _butterflies(re, im, N, N >> (i + 1))
    tl.store(out_re_ptr + row + place, re)
    tl.store(out_im_ptr + row + place, im)
