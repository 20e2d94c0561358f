# SPDX-License-Identifier: Apache-2.0
"""Odd paths, Triton's environment variables, and what else lives in the host process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bad_input_host import ADD, GOOD, KERNEL, LIBRARY, PROGRAMS, PYTHON, SCRIPTS, SITE, Host, make_environment

# ---- paths -------------------------------------------------------------------------------------------------

ODD = "a b/ü\"x'$HOME `ls`;&|*?[x]%s\\n~#/日本"


def test_odd_paths(host: Host, tmp_path: Path) -> None:
    """R066: Python, kernels, cache, home and temporary files, all in a folder whose name needs care."""
    odd = tmp_path / ODD
    odd.mkdir(parents=True)
    python = make_environment(odd / "venv")
    kernels = odd / "my kernels.py"
    kernels.write_text(GOOD.read_text())
    (odd / "scripts").symlink_to(SCRIPTS)
    (odd / "tmp").mkdir()
    found = host(
        ("get", kernels, "add_kernel"),
        ("add", 256),
        ("get", odd / "not there.py", "k"),
        cache=odd / "cache",
        HOME=str(odd),
        TMPDIR=str(odd / "tmp"),
        TRITON_JIT_PYTHON=str(python),
        TRITON_JIT_SCRIPTS=str(odd / "scripts"),
    )
    found[0].ok()
    found[1].ok("right")
    found[2].fails("TJ_E_SOURCE_NOT_FOUND", str(odd / "not there.py"))
    assert found.warnings() == []
    assert len(list((odd / "cache").rglob("add_kernel.so"))) == 1
    assert list((odd / "tmp").iterdir()) == []


@pytest.mark.parametrize("locale", ["C", "xx_YY.nonsense"])
def test_odd_paths_in_a_plain_locale(host: Host, tmp_path: Path, locale: str) -> None:
    kernels = tmp_path / "käse 日本.py"
    kernels.write_text("# é\n" + KERNEL)
    host(("get", kernels, "k"), ("call",), LANG=locale, LC_ALL=locale).all_ok()[1].ok("5")


def test_path_that_is_no_text(host: Host, tmp_path: Path) -> None:
    """File names are bytes: these are not UTF-8."""
    kernels = os.fsencode(tmp_path) + b"/caf\xe9.py"
    with open(kernels, "w") as file:
        file.write(KERNEL)
    good = tmp_path / "good.py"
    good.write_text(KERNEL)
    found = host(
        ("get", os.fsdecode(kernels), "k"), ("get", good, os.fsdecode(b"k\xe9")), ("get", good, "k"), ("call",)
    )
    found[0].fails("TJ_E_SOURCE_NOT_FOUND", "not UTF-8", f"{tmp_path}/caf\\xe9.py", "rename")
    found[1].fails("TJ_E_KERNEL_NOT_FOUND", "not UTF-8", "k\\xe9")
    found[2].ok()
    found[3].ok("5")


def test_long_path(host: Host, tmp_path: Path) -> None:
    """Almost as long as the system allows; a longer one is named."""
    folder = tmp_path
    while len(str(folder)) < 3600:
        folder = folder / ("x" * 200)
    folder.mkdir(parents=True)
    kernels = folder / "kernels.py"
    kernels.write_text(KERNEL)
    host(("get", kernels, "k"), ("call",)).all_ok()[1].ok("5")
    found = host(("get", "/" + "y" * 5000 + ".py", "k"))
    found[0].fails("TJ_E_SOURCE_NOT_FOUND", "File name too long")


# ---- variables of Triton -------------------------------------------------------------------------------------


def test_interpreter(host: Host) -> None:
    found = host(ADD, ADD, TRITON_INTERPRET="1")
    for step in found.steps:
        step.fails("TJ_E_INTERPRETED", "TRITON_INTERPRET", "Unset")


HARMLESS = {
    "TRITON_ALWAYS_COMPILE": "1",
    "TRITON_DEBUG": "1",
    "TRITON_DISABLE_LINE_INFO": "1",
    "TRITON_FRONT_END_DEBUGGING": "1",
    "TRITON_KERNEL_DUMP": "1",
    "TRITON_DEFAULT_BACKEND": "cuda",
    "TRITON_OVERRIDE_ARCH": "sm80",
    "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS": "1",
    "TRITON_PRINT_AUTOTUNING": "1",
    "TRITON_DEFAULT_FP_FUSION": "0",
    "TRITON_INTERPRET": "0",
}


def test_variables_that_change_nothing_here(host: Host, tmp_path: Path) -> None:
    """All at once, and the results are right."""
    host(ADD, ("add", 256), cache=tmp_path / "cold", TRITON_DUMP_DIR=str(tmp_path / "dump"), **HARMLESS).all_ok()[1].ok(
        "right"
    )


def test_binary_only(worker: Host, tmp_path: Path) -> None:
    """A variable that would make Triton throw the CPU's artifact away."""
    found = worker(ADD, ("add", 256), ("prepare", "cuda", "90"), cache=tmp_path / "cold", TRITON_STORE_BINARY_ONLY="1")
    found[1].fails("TJ_E_NOT_SUPPORTED", "TRITON_STORE_BINARY_ONLY", "Unset", "'so'")
    found[2].ok()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRITON_DEFAULT_BACKEND", "no_such_backend"),
        ("TRITON_CACHE_MANAGER", "no_such_module:Manager"),
        ("TRITON_DEFAULT_FP_FUSION", "maybe"),
        ("TRITON_PTXAS_PATH", "/no/such/ptxas"),
    ],
)
def test_variables_with_nonsense(worker: Host, tmp_path: Path, name: str, value: str) -> None:
    """Either they do not matter to the CPU, or the message names the value."""
    found = worker(ADD, ("add", 256), cache=tmp_path / "cold", quiet=False, **{name: value})
    failed = [step for step in found.steps if step.status != "TJ_OK"]
    if failed:
        assert value.split(":")[0] in failed[0].message, failed[0]
    else:
        found[1].ok("right")


# ---- output -----------------------------------------------------------------------------------------------


def test_output_at_import(host: Host, tmp_path: Path) -> None:
    """R089: what a kernel file prints arrives in the log, with and without an end of line, and nowhere else."""
    kernels = tmp_path / "prints.py"
    kernels.write_text(
        "import sys, warnings\nprint('to stdout')\nsys.stdout.write('no end of line')\n"
        "print('to stderr', file=sys.stderr)\nwarnings.warn('a warning')\n" + KERNEL
    )
    found = host(("get", kernels, "k"), ("call",)).all_ok()
    texts = [text for _, text in found.log]
    assert "to stdout" in texts and "no end of line" in texts and "to stderr" in texts
    assert any("a warning" in text for text in texts)


def test_output_below_python(worker: Host, tmp_path: Path) -> None:
    """The worker's own descriptors: even these do not reach the host's terminal, or the frames."""
    kernels = tmp_path / "prints.py"
    kernels.write_text(
        "import os\nos.write(1, b'fd one\\n')\nos.write(2, b'fd two\\n')\nos.system('echo a shell')\n" + KERNEL
    )
    found = worker(("get", kernels, "k"), ("call",)).all_ok()
    text = "\n".join(text for _, text in found.log)
    assert "fd one" in text and "fd two" in text and "a shell" in text


# ---- the interpreter -----------------------------------------------------------------------------------------


def test_sys_argv_and_executable(host: Host, tmp_path: Path) -> None:
    """R085: modules that look at the command line when they are imported, and ones that start a Python."""
    kernels = tmp_path / "looks.py"
    kernels.write_text(
        "import argparse, multiprocessing, subprocess, sys\n"
        "argparse.ArgumentParser()\n"
        "print('argv', repr(sys.argv[0]))\nprint('executable', sys.executable)\n"
        "command = [sys.executable, '-c', 'print(6 * 7)']\n"
        "print('child', subprocess.run(command, capture_output=True, text=True).stdout)\n"
        "print('context', multiprocessing.get_context('spawn').Process.__name__)\n" + KERNEL
    )
    found = host(("get", kernels, "k"), ("call",)).all_ok()
    texts = [text for _, text in found.log]
    assert f"executable {PYTHON}" in texts
    assert "child 42" in texts and "context SpawnProcess" in texts
    assert any(text.startswith("argv ") for text in texts)


STATIC = """
import ctypes, sys
sys.path.insert(0, {support!r})
from triton_jit_ctypes import Library
import numpy as np
tj = Library({library!r})
add = tj.function({good!r}, "add_kernel")
x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
add((4,), x, x, out, 1000, 256)
assert (out == 2 * x).all()
maps = open("/proc/self/maps").read()
print(sum(1 for path in set(line.split()[-1] for line in maps.splitlines()) if "/libpython" in path))
"""


@pytest.mark.parametrize("mode", ["embedded", "worker", "auto"])
def test_python_inside_the_program(tmp_path: Path, shared_cache: Path, mode: str) -> None:
    """R086: a Python that is linked statically loads the library: no second copy of Python comes into the process."""
    probe = "import sys; sys.exit('/libpython' in open('/proc/self/maps').read())"
    if subprocess.run([PYTHON, "-c", probe]).returncode != 0:
        pytest.skip(f"{PYTHON} is linked with a shared libpython")
    code = STATIC.format(
        support=str(LIBRARY and SCRIPTS.parent / "tests/support"), library=str(LIBRARY), good=str(GOOD)
    )
    env = {
        **os.environ,
        "TRITON_JIT_COMPILER": mode,
        "TRITON_CACHE_DIR": str(shared_cache),
        "TRITON_JIT_PYTHON": PYTHON,
    }
    done = subprocess.run([PYTHON, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"


def static_python() -> str:
    """Another Python of this version without a shared library, as pyenv builds them; '' if there is none."""
    named = os.environ.get("TJ_TEST_PYTHON_STATIC")
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    places = [named] if named else sorted(map(str, root.glob(f"versions/{version}.*/bin/python{version}")))
    probe = "import sys, sysconfig; sys.exit(bool(sysconfig.get_config_var('Py_ENABLE_SHARED')))"
    return next((place for place in places if subprocess.run([place, "-c", probe]).returncode == 0), "")


def test_python_without_a_library(host: Host, shared_cache: Path) -> None:
    """R086 the other way round: to embed is impossible, which is said; the worker needs no library."""
    python = static_python()
    if not python:
        pytest.skip("no Python without a shared library (TJ_TEST_PYTHON_STATIC, pyenv) of this version here")
    found = host(ADD, ("add", 256), TRITON_JIT_PYTHON=python, PYTHONPATH=str(SITE))
    if host.mode == "embedded":
        found[0].fails("TJ_E_NO_PYTHON", "no shared libpython", "TRITON_JIT_COMPILER=worker")
    else:
        found.all_ok()[1].ok("right")
    found = host(ADD, ("add", 256), TRITON_JIT_PYTHON=python, PYTHONPATH=str(SITE), TRITON_JIT_COMPILER="auto")
    found.all_ok()[1].ok("right")


# ---- other libraries, locks, limits ----------------------------------------------------------------------------


def test_foreign_llvm(worker: Host, tmp_path: Path) -> None:
    """R090: a library that gives its LLVM to the whole process does not reach the worker."""
    library = PROGRAMS / "bad_input_shim_llvm.so"
    found = worker(
        ("global", library),
        ADD,
        ("add", 256),
        ("prepare", "cuda", "90"),
        ("maps", "shim_llvm"),
        cache=tmp_path / "cold",
    ).all_ok()
    assert found[0].value == "open" and str(library) in found[4].value
    found[2].ok("right")


def test_loader_lock(host: Host) -> None:
    """R072: a thread loads and unloads a library without end while others compile.

    In the worker's host its constructor even wants Python's lock. Embedded that cannot work: Triton enters the loader
    itself with that lock held (``ir.context()`` starts threads), and each would wait for the other.
    """
    library = PROGRAMS / ("bad_input_shim_llvm.so" if host.mode == "embedded" else "bad_input_shim_gil.so")
    found = host(ADD, ("add", 256), ("loader", library, 4), ("add", 256)).all_ok()
    assert found[2].value == "4 of 4"
    assert found[3].value == "some"
    found[4].ok("right")


def open_to_others(folder: Path) -> None:
    """Lets other users into a test's folder."""
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)


def test_few_processes_allowed(worker: Host, other_user: dict[str, list[str]], tmp_path: Path) -> None:
    """R081: cold variants at once where a user may have few threads and processes; the worker has the limit, too."""
    open_to_others(tmp_path)
    found = worker(
        ("nproc", 40), ADD, ("add", 256), ("threads", 16), ("add", 256), cache=tmp_path / "cold", popen=other_user
    ).all_ok()
    assert found[0].value == "set"
    assert found[3].value == "16 of 16"
    found[4].ok("right")


def test_no_process_allowed(host: Host, other_user: dict[str, list[str]], tmp_path: Path) -> None:
    """Not even the worker, or the Python that is asked about itself, can be started: the message says why."""
    open_to_others(tmp_path)
    found = host(("nproc", 1), ADD, ADD, cache=tmp_path / "cold", popen=other_user)
    assert found[0].value == "set"
    for step in found.steps[1:]:
        step.fails("TJ_E_NO_PYTHON", PYTHON, "cannot be started", "Resource temporarily unavailable")
