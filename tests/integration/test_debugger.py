# SPDX-License-Identifier: Apache-2.0
"""A debugger, a profiler and the object's own tables speak of the kernel's Python file; the kept C can be read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LIBRARY = os.environ.get("TJ_LIBRARY") or str(HERE.parents[1] / "build" / "release" / "lib" / "libtriton_jit.so")
HOST = Path(LIBRARY).resolve().parents[1] / "tests" / "integration" / "debugger" / "debugger_host"
KERNEL = HERE / "debugger" / "kernels" / "scale.py"
LINES = KERNEL.read_text(encoding="utf-8").splitlines()


def line_of(text: str) -> int:
    """The number of the source line with a text."""
    (number,) = [n for n, line in enumerate(LINES, 1) if text in line]
    return number


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """``host(times, before=["gdb", ...], NAME=value)``: what the host prints, run below another program."""
    if not HOST.exists():
        pytest.skip(f"{HOST} is not built")
    keep, cache = tmp_path_factory.mktemp("keep"), tmp_path_factory.mktemp("cache")

    def run(times: int, before: tuple[str, ...] = (), **environment: str) -> str:
        base = {"TRITON_JIT_CPU_KEEP": str(keep), "TRITON_JIT_CPU_THREADS": "1", "TRITON_CACHE_DIR": str(cache)}
        done = subprocess.run(
            [*before, str(HOST), str(KERNEL), str(times)],
            env={**os.environ, **base, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.keep = keep
    return run


@pytest.fixture(scope="module")
def kept(host) -> Path:
    """The folder with what one run keeps."""
    assert host(1).strip() == "1.10474"
    return host.keep


def need(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def test_the_kept_c_reads_like_the_kernel(kept):
    (path,) = kept.glob("scale-*.c")
    c = path.read_text(encoding="utf-8")
    for text in ("y = tl.exp(x * -0.001) * factor", "tl.store(out_ptr + offsets, y, mask=mask)"):
        assert f"/* scale.py:{line_of(text)}: {text} */" in c
    for name in ("x_ptr", "out_ptr", "factor", "start", "offsets", "mask"):
        assert re.search(rf"\b{name}\b", c.split("scale_program(", 1)[1]), name
    assert "#line" not in c


def test_the_kept_object_is_what_runs(kept, host):
    (path,) = kept.glob("scale-*.so")
    before = path.read_bytes()
    assert host(1).strip() == "1.10474"
    assert list(kept.glob("scale-*.so")) == [path] and path.read_bytes() == before
    mapped = host(1, before=("env", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={kept}/loader"))
    assert mapped.strip() == "1.10474"
    loaders = [p.read_text(errors="replace") for p in kept.glob("loader*")]
    assert any(str(path) in text for text in loaders)


def test_the_line_table(kept):
    (path,) = kept.glob("scale-*.so")
    done = subprocess.run(
        [need("objdump"), "--dwarf=decodedline", str(path)], capture_output=True, text=True, check=True
    )
    lines = {int(m) for m in re.findall(r"^scale\.py +(\d+) ", done.stdout, re.M)}
    assert {line_of("x = tl.load"), line_of("y = tl.exp"), line_of("tl.store(")} <= lines
    assert max(lines) <= len(LINES) and str(KERNEL) in done.stdout


def test_objects_that_are_not_kept_have_line_tables_too(tj, tmp_path):
    import numpy as np

    x = np.ones(4, np.float32)
    path = tmp_path / "scale.so"
    path.write_bytes(tj.function(KERNEL, "scale").prepare(x, x, 2.0, 4, 4).asm("so"))
    done = subprocess.run(
        [need("objdump"), "--dwarf=decodedline", str(path)], capture_output=True, text=True, check=True
    )
    assert re.search(rf"^scale\.py +{line_of('y = tl.exp')} ", done.stdout, re.M)


def test_gdb_stops_in_the_kernel(host):
    line = line_of("y = tl.exp")
    commands = (
        "set breakpoint pending on", "set debuginfod enabled off", f"break scale.py:{line}", "run", "bt 1",
        "print n", "print factor", "print x_ptr[3]", "clear", "next", "next", "info source",
    )  # fmt: skip
    arguments = [part for command in commands for part in ("-ex", command)]
    printed = host(1, (need("gdb"), "-batch", "-nx", *arguments, "--args"), TRITON_DEBUG="1")
    assert "ptrace" not in printed, "gdb may not trace here"
    assert re.search(rf"Breakpoint 1.*scale_program .*scale\.py:{line}\n{line}\t    y = tl\.exp", printed, re.S)
    assert "$1 = 1000" in printed and "$2 = 3" in printed and "$3 = 3" in printed
    assert f"Located in {KERNEL}" in printed


def test_perf_names_the_line(host, tmp_path):
    perf = need("perf")
    data = tmp_path / "perf.data"
    try:
        host(20000, (perf, "record", "-q", "-e", "cpu-clock", "-o", str(data), "--"))
    except AssertionError as error:
        pytest.skip(f"perf may not record here: {str(error)[:200]}")
    done = subprocess.run(
        [perf, "report", "-i", str(data), "--stdio", "-q", "--sort", "dso,srcline"],
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    samples = [line for line in done.stdout.splitlines() if "scale-" in line]
    assert any(re.search(r"scale\.py:\d+", line) for line in samples), done.stdout[:3000] + done.stderr[:1000]
