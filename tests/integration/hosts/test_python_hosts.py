# SPDX-License-Identifier: Apache-2.0
"""The library in a Python process: loaded by ctypes, with and without the GIL, in threads, forks, sub-interpreters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parent / "kernels"

# In each child: compile(block) describes and compiles kernels/add.py; `lines` is what the library logs.
PRELUDE = f"""
import ctypes, os, threading
NULL_TARGET = Target(struct_size=ctypes.sizeof(Target), backend=b"cuda", arch=b"90")
pointer = spec_ptr("fp32", True)
lines = []
log_function = LOG_FN(lambda _, level, text: lines.append(text.decode()))
tj.c.tj_set_log(log_function, None, 4)

def compile(block):
    function = tj.function("{KERNELS}/add.py", "add", backend="null")
    return function.prepare(pointer, pointer, pointer, spec("i32", True), block, target=ctypes.pointer(NULL_TARGET))

def workers():
    return sum("compiler process" in line and "started" in line for line in lines)

def in_threads(count, function):
    errors = []
    def run(number):
        try:
            function(number)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors

def hold_the_gil():
    '''All calls from now on are made with the GIL held.'''
    held = ctypes.PyDLL(tj.c._name)
    for name in ("tj_function_get_ex", "tj_function_prepare", "tj_function_call"):
        call, old = getattr(held, name), getattr(tj.c, name)
        call.restype, call.argtypes = old.restype, old.argtypes
        setattr(tj.c, name, call)
"""

Child = Callable[..., str]


@pytest.fixture
def host(child: Child, tmp_path: Path) -> Child:
    """``host(code)``: runs code after the prelude, with a cache of its own; returns what it printed."""

    def run(code: str, **environment: str) -> str:
        return child(PRELUDE + code, TRITON_CACHE_DIR=str(tmp_path / "cache"), **environment)

    return run


MODES = ["embedded", "worker"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gil", ["released", "held"])
def test_calls_from_the_main_thread(host: Child, mode: str, gil: str) -> None:
    out = host(
        f"""
if {gil == "held"}:
    hold_the_gil()
compile(128)
compile(256)
assert workers() == {mode == "worker":d}, lines
print("done")
""",
        TRITON_JIT_COMPILER=mode,
    )
    assert out == "done\n"  # and nothing that the kernel's file has printed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gil", ["released", "held", "mixed"])
def test_calls_from_many_threads(host: Child, mode: str, gil: str) -> None:
    """Some ask for the same variant, so that one waits for another that needs Python."""
    host(
        f"""
free = compile
if {gil != "released"}:
    import copy
    library = tj
    tj = Library(library.c._name)
    hold_the_gil()
    held, tj = tj, library

def run(number):
    global tj
    if {gil == "released"} or ({gil == "mixed"} and number % 2):
        compile(64 << number // 4)
    else:
        function = held.function("{KERNELS}/add.py", "add", backend="null")
        args = pointer, pointer, pointer, spec("i32", True), 64 << number // 4
        function.prepare(*args, target=ctypes.pointer(NULL_TARGET))

in_threads(12, run)
assert tj.stats().compiles == 3, tj.stats().compiles
""",
        TRITON_JIT_COMPILER=mode,
    )


def test_the_process_is_unchanged(host: Child) -> None:
    host(
        """
import signal, warnings
def state():
    return (
        list(sys.path), list(sys.argv), dict(os.environ), os.getcwd(), sys.stdout, sys.stderr, warnings.showwarning,
        list(warnings.filters), [signal.getsignal(number) for number in signal.valid_signals()],
        sys.getrecursionlimit(), sys.excepthook, sys.displayhook, threading.active_count(),
        sorted(os.listdir("/proc/self/fd")),
    )
import triton  # what importing it changes is its own doing
before = state()
compile(128)
after = state()
for a, b in zip(before, after):
    assert a == b, (a, b)
"""
    )


def test_forked_child(host: Child) -> None:
    host(
        """
compile(128)
assert workers() == 0
pid = os.fork()
if pid == 0:
    try:
        lines.clear()
        compile(256)
        compile(512)
        assert workers() == 1, lines
        assert any("forked" in line for line in lines), lines
        os._exit(17)
    except BaseException as error:
        print(error, flush=True)
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17
compile(1024)
assert workers() == 0
"""
    )


def test_forked_child_that_is_the_first_to_compile(host: Child) -> None:
    host(
        """
pid = os.fork()
if pid == 0:
    try:
        compile(256)
        assert workers() == 0, lines
        os._exit(17)
    except BaseException as error:
        print(error, flush=True)
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17
compile(1024)
"""
    )


def test_forked_child_while_threads_compile(host: Child) -> None:
    host(
        """
import time
threads = [threading.Thread(target=compile, args=(64 << number,)) for number in range(3)]
for thread in threads:
    thread.start()
    time.sleep(0.1)
    pid = os.fork()
    if pid == 0:
        try:
            compile(2048)
            os._exit(17)
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 17
for thread in threads:
    thread.join()
"""
    )


SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
    run_string = lambda code: interpreters.exec(interpreters.create("legacy"), code)
except ImportError:
    import _xxsubinterpreters as interpreters
    run_string = lambda code: interpreters.run_string(interpreters.create(isolated=False), code)
"""


@pytest.mark.parametrize("loader", ["PyDLL", "CDLL"])
def test_sub_interpreter(host: Child, loader: str) -> None:
    """It is served, and the main interpreter stays embedded."""
    in_it = f"""
import ctypes
library = ctypes.{loader}(PATH)
for _ in range(2):
    out = ctypes.c_void_p()
    status = library.tj_function_get(b"{KERNELS}/add.py", b"add", ctypes.byref(out))
    assert status == 0, status
"""
    host(
        SUB_INTERPRETER
        + f"""
tj.c.tj_set_log(LOG_FN(), None, 0)  # ctypes cannot call back into Python from a sub-interpreter

def worker_processes():
    found = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += f"PPid:\\t{{os.getpid()}}\\n" in open(f"/proc/{{process}}/status").read()
        except OSError:  # it has just ended
            pass
    return found

run_string({in_it!r}.replace("PATH", repr(tj.c._name)))
# Before 3.12 a thread that has released the GIL enters the main interpreter.
expected = {loader == "PyDLL"} or sys.version_info >= (3, 12)
assert worker_processes() == expected
tj.function("{KERNELS}/add.py", "add", backend="null")
assert worker_processes() == expected
"""
    )


@pytest.mark.parametrize("mode", MODES)
def test_log_callback_wants_the_gil_of_a_waiting_thread(host: Child, mode: str) -> None:
    """Thread 1 compiles and logs to Python; thread 2 came with the GIL held and waits for it."""
    host(
        """
library = tj
tj = Library(library.c._name)
hold_the_gil()
in_threads(4, lambda number: compile(128))
assert any("printed to stdout" in line for line in lines), lines
""",
        TRITON_JIT_COMPILER=mode,
    )


def test_compile_while_a_package_is_imported(host: Child, tmp_path: Path) -> None:
    """The kernel's file belongs to the package whose __init__ makes the call: Python's import lock is taken."""
    package = tmp_path / "calling_package"
    package.mkdir()
    (package / "kernel.py").write_text((KERNELS / "add.py").read_text())
    (package / "__init__.py").write_text("import builtins\nbuiltins.during_import()\n")
    host(
        f"""
import builtins
sys.path.insert(0, {str(tmp_path)!r})
def during_import():
    tj.function("{package}/kernel.py", "add", backend="null")
builtins.during_import = during_import
import calling_package
"""
    )


def test_calls_at_the_end_of_the_interpreter(host: Child) -> None:
    """In an exit function everything works; threads that Python abandons do no harm."""
    out = host(
        f"""
import atexit
compile(128)
@atexit.register
def at_exit():
    compile(256)
    print("compiled")
def forever():
    while True:
        tj.function("{KERNELS}/add.py", "add", backend="null")
threading.Thread(target=forever, daemon=True).start()
"""
    )
    assert out == "compiled\n"
