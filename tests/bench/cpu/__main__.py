# SPDX-License-Identifier: Apache-2.0
"""The program behind tests/bench/bench_cpu."""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts")]

import machine  # noqa: E402
import report  # noqa: E402


def _options() -> argparse.Namespace:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="bench_cpu", description="Kernels on the CPU backend beside torch and NumPy.")
    parser.add_argument(
        "families", nargs="*", help="only these: a family's name or its beginning, e.g. softmax, matmul"
    )
    parser.add_argument("--quick", action="store_true", help="the two smallest sizes, few rounds: shows that all runs")
    parser.add_argument("--threads", default=str(cores), help=f"one number or several, e.g. 1,2; now {cores}")
    parser.add_argument("--size", help="only this size, as the table prints it, e.g. 4096x4096")
    parser.add_argument("--rounds", type=int, default=21, help="rounds of a case (21)")
    parser.add_argument("--seconds", type=float, default=4.0, help="time of a case, once it has three rounds (4)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="of the calling thread: for one thread, on a busy machine"
    )
    parser.add_argument("--markdown", action="store_true", help="print the table of the README too")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")
    parser.add_argument("--no-compile-time", action="store_true", help="do not measure what compiling costs")
    parser.add_argument(
        "--library", default=os.environ.get("TJ_LIBRARY") or ROOT / "build/release/lib/libtriton_jit.so"
    )
    parser.add_argument("--child", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu_time and options.threads != "1":
        parser.error("--cpu-time is for --threads 1: it does not see the work of other threads")
    return options


def _environment(threads: int) -> dict[str, str]:
    """Our pool, OpenMP (torch) and OpenBLAS (NumPy) read the number of threads when they start."""
    names = ("TRITON_JIT_CPU_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **{name: str(threads) for name in names}}


def _child(options: argparse.Namespace) -> None:
    """Measures the cases with one number of threads, in this process."""
    # torch.compile warns that it finds no CUDA.
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    import torch
    from cases import Kernels, families
    from measure import measure
    from triton_jit_ctypes import Library

    threads = int(options.threads)
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    kernels = Kernels(Library(str(options.library)))
    clock = time.thread_time if options.cpu_time else time.perf_counter
    wanted = tuple(options.families)
    rows: list[dict[str, Any]] = []
    for family in families():
        if wanted and not family.name.startswith(wanted):
            continue
        for size in family.sizes[:2] if options.quick else family.sizes:
            label = "x".join(map(str, size))
            if options.size and label != options.size:
                continue
            case = family.make(kernels, *size)
            case.check()
            rounds, seconds = (3, 0.0) if options.quick else (options.rounds, options.seconds)
            times = measure(case.candidates, rounds, seconds, clock)
            rows.append(report.row(family.name, label, family.reach, threads, case.bytes, case.flops, times))
            print(report.line(rows[-1]), flush=True)
    Path(options.child).write_text(json.dumps(rows), encoding="utf-8")


def _run_child(program: list[str], threads: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbers.json"
        subprocess.run([*program, "--child", str(file)], env=_environment(threads), check=True)
        return json.loads(file.read_text(encoding="utf-8"))


def main() -> int:
    """Runs a child for each number of threads, and one that compiles."""
    options = _options()
    if options.child:
        _child(options)
        return 0
    numbers: dict[str, Any] = {"machine": machine.describe(), "rows": []}
    print(machine.text(numbers["machine"]))
    counts = [int(text) for text in options.threads.split(",")]
    for threads in counts:
        print(f"\n{report.heading(threads)}", flush=True)
        arguments = [a for a in sys.argv[1:] if a != "--markdown"]
        program = [sys.executable, str(HERE), *arguments, "--threads", str(threads)]
        numbers["rows"] += _run_child(program, threads)
    if len(counts) > 1:
        print(f"\n{report.scaling(numbers['rows'], counts)}")
    if not options.no_compile_time:
        numbers["compile"] = _run_child(
            [sys.executable, str(HERE / "compile_time.py"), str(options.library)], max(counts)
        )
        print(f"\n{report.compile_times(numbers['compile'])}")
    if options.markdown:
        print(f"\n{report.markdown(numbers, max(counts))}")
    if options.json:
        Path(options.json).write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
