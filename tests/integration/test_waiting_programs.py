# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for earlier ones end, on one core too; the bits do not depend on the number of threads."""

from __future__ import annotations

# Each child prints a digest of the results, which the tests compare and check against NumPy.
CODE = """
import hashlib, os
cores = CORES
if cores:
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))
rng = np.random.default_rng(17)


def digest(name, array):
    print(name, hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest())


def load(name):
    return tj.function(KERNELS + "/waiting.py", name)


a = rng.standard_normal((16, 1000)).astype(np.float32)
b = rng.standard_normal((1000, 16)).astype(np.float32)
split_k = load("split_k")
for splits in (1, 7, 31):
    c, locks = np.zeros((16, 16), np.float32), np.zeros(1, np.int32)
    split_k((splits,), a, b, c, locks, 1000, 16, 16, splits)
    assert locks[0] == splits
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-3)
    digest(f"split_k{splits}", c)

x = rng.integers(-1000, 1000, 50000)
out, sums, prefixes = (np.zeros(50000, np.int64) for _ in range(3))
flags = np.zeros(800, np.int32)
load("scan")((-(-50000 // 64),), x, out, sums, prefixes, flags, 50000, 64)
np.testing.assert_array_equal(out, np.cumsum(x))
digest("scan", out)

counter, work, done = np.zeros(1, np.int32), np.zeros(500, np.int64), np.zeros(500, np.int32)
load("queue")((12,), counter, work, done, 500)
want = [1]
for i in range(1, 500):
    want.append((want[-1] * 3 + i) % 1000003)
assert work.tolist() == want and counter[0] == 512
digest("queue", work)

v = rng.standard_normal((301, 256)).astype(np.float32)
w, out = rng.standard_normal(256).astype(np.float32), np.zeros((301, 256), np.float32)
load("mixed")((301,), v, w, out, 250, 256)
digest("mixed", out)
"""

THREADS = (1, 2, 3, 8)


def test_every_program_ends_and_gives_the_same_bits(child):
    """1, 2, 3 and 8 threads, on all cores and on one."""
    ways = [(threads, 0) for threads in THREADS] + [(1, 1), (8, 1)]
    printed = {way: child(CODE.replace("CORES", str(way[1])), TRITON_JIT_CPU_THREADS=str(way[0])) for way in ways}
    first = printed[(1, 0)]
    assert [line.split()[0] for line in first.splitlines()] == [
        "split_k1", "split_k7", "split_k31", "scan", "queue", "mixed",
    ]  # fmt: skip
    for way, text in printed.items():
        assert text == first, way
