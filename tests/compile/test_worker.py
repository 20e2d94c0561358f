# SPDX-License-Identifier: Apache-2.0
"""The worker process: clean frames whatever is printed, useful deaths, and an end with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ADD_ARGS, BASIC, CUDA, check_python, kernel, ptr, write

WRITE = """import ctypes, os
libc = ctypes.CDLL(None)
def c_write(fd, data):
    libc.write(fd, data, len(data))
"""


def test_answers_and_ends(worker) -> None:
    one = worker()
    function = one.open(BASIC, "add_kernel")
    reply = one.compile(function, ADD_ARGS).ok()
    assert reply.sections["cubin"][:4] == b"\x7fELF"
    assert one.compile(function, ADD_ARGS, num_warps=3).status == "E_OPTION_VALUE"
    assert one.compile("3" * 64, []).status == "NEED_SNAPSHOT"
    assert one.describe(BASIC, "absent").status == "E_KERNEL_NOT_FOUND"
    status, text = one.close()
    assert status == 0 and text == ""


def test_embedded_and_worker_agree(worker, compiler) -> None:
    one = worker()
    there, here = one.describe(BASIC, "add_kernel").ok(), compiler.describe(BASIC, "add_kernel").ok()
    assert there["record"] == {**here["record"], "module": there["record"]["module"]}
    assert there.sections == here.sections
    replies = [who.compile(here["record"]["id"], ADD_ARGS).ok() for who in (one, compiler)]
    assert replies[0]["hash"] == replies[1]["hash"] and replies[0].sections == replies[1].sections


def test_malformed_requests(worker) -> None:
    one = worker()
    assert one.ask({"v": 7}).status == "E_INTERNAL"
    one.process.stdin.write((5).to_bytes(4, "little") + b"junk!")
    one.process.stdin.flush()
    from triton_jit_compile.protocol import decode_message, read_frame

    assert decode_message(read_frame(one.process.stdout.fileno()))[0]["status"] == "E_INTERNAL"
    one.process.stdin.write(b"\xff\xff\xff\xff")
    status, text = one.close()
    assert status == 1 and "4294967295" in text


def test_frame_cut_short(worker) -> None:
    one = worker()
    one.process.stdin.write((500).to_bytes(4, "little") + b"{")
    assert one.close() == (0, "")


def test_output_of_every_kind_leaves_frames_intact(worker, tmp_path: Path) -> None:
    head = WRITE + "print('python out')\nc_write(1, b'c out\\n')\nc_write(2, b'c err\\n')\n"
    head += "os.system('echo child out; echo child err >&2')\n"
    one = worker()
    function = one.open(write(tmp_path, "k.py", kernel(head=head)), "k")
    for words in ("python out", "c out", "c err", "child out", "child err"):
        assert words in one.logged()
    one.compile(function, [ptr("i32")]).ok()
    status, text = one.close()
    assert status == 0
    assert {"c out", "c err", "child out", "child err"} <= set(text.splitlines()) and "python out" not in text


def test_much_output(worker, tmp_path: Path) -> None:
    """More than a pipe holds: the reader of descriptor 2 need not be quick, but it must read."""
    import threading

    one = worker()
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(one.process.stderr.read()))
    reader.start()
    head = WRITE + "for _ in range(40):\n    c_write(2, b'x' * 100000 + b'\\n')\nprint('y' * 3000000)\n"
    one.open(write(tmp_path, "k.py", kernel(head=head)), "k")
    one.process.stdin.close()
    assert one.process.wait(20) == 0
    reader.join()
    assert read[0].count(b"x") == 4000000
    assert one.logged().count("y") >= 3000000


def dies(one, action) -> tuple[int, str]:
    """The exit status and the last output of a worker that dies in ``action``."""
    with pytest.raises((EOFError, BrokenPipeError)):
        action()
    # the end of the frames says that the output is complete: no waiting for the process before reading
    os.set_blocking(one.process.stderr.fileno(), False)
    text = (one.process.stderr.read() or b"").decode()
    return one.process.wait(20), text


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("os.abort()", -signal.SIGABRT),
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("libc.exit(6)", 6),
        ("ctypes.string_at(0)", -signal.SIGSEGV),
    ],
)
def test_death_while_loading(worker, tmp_path: Path, statement: str, status: int) -> None:
    head = WRITE + f"import signal\nc_write(2, b'last words\\n')\n{statement}\n"
    one = worker()
    path = write(tmp_path, "k.py", kernel(head=head))
    found, text = dies(one, lambda: one.describe(path, "k"))
    assert found == status and "last words" in text
    worker().open(BASIC, "add_kernel")


def test_death_while_a_child_holds_the_pipe(worker, tmp_path: Path) -> None:
    head = WRITE + "import subprocess\nsubprocess.Popen(['sleep', '30'], close_fds=False)\nos._exit(7)\n"
    one = worker()
    begin = time.monotonic()
    found, _ = dies(one, lambda: one.describe(write(tmp_path, "k.py", kernel(head=head)), "k"))
    assert found == 7 and time.monotonic() - begin < 15


def asm_kernel(constraint: str) -> str:
    body = f"y = tl.inline_asm_elementwise('mov.b32 $0, $1;', '{constraint}', [tl.load(out)], tl.int32, False, 1)"
    return kernel(f"{body}\n    tl.store(out, y)").replace("@triton.jit", "@triton.jit(repr=lambda _: 'renamed')")


def test_bad_inline_asm_constraint(worker, tmp_path: Path) -> None:
    """LLVM prints the error to descriptor 2; 3.6 then calls exit, 3.9 goes on with broken code."""
    path = write(tmp_path, "k.py", asm_kernel("=Z,r"))
    for _ in range(2):  # the second time must not find a broken artifact in the disk cache
        one = worker()
        function = one.open(path, "k")
        try:
            reply = one.compile(function, [ptr("i32")])
        except EOFError:
            os.set_blocking(one.process.stderr.fileno(), False)
            text = one.process.stderr.read().decode()
            assert one.process.wait(20) == 1
            assert "error:" in text and "constraint 'Z'" in text
        else:
            assert reply.status == "E_COMPILE", reply
            assert "error:" in reply["message"] and "constraint 'Z'" in reply["message"]
            assert str(path) in reply["message"]
            assert one.compile(one.open(BASIC, "add_kernel"), ADD_ARGS).status == "OK"


def test_assertion_inside_llvm(worker, tmp_path: Path) -> None:
    """A scalar in a 128-bit register trips an assertion, and with it abort."""
    one = worker()
    function = one.open(write(tmp_path, "k.py", asm_kernel("=q,q")), "k")
    status, text = dies(one, lambda: one.compile(function, [ptr("i32")]))
    assert status == -signal.SIGABRT and "Assertion" in text


C_WRITE_IN_A_COMPILE = (
    WRITE
    + """
class Write:
    def __new__(cls, text):
        c_write(2, text.encode())
        return 5

@triton.constexpr_function
def write(text):
    return Write(text)

@triton.constexpr_function
def fail(text):
    Write(text)
    raise ValueError("short")
"""
)


def compile_that_writes(one, tmp_path: Path, call: str):
    path = write(tmp_path, "k.py", kernel(f"tl.store(out, {call})", head=C_WRITE_IN_A_COMPILE))
    return one.compile(one.open(path, "k"), [ptr("i32")])


def test_text_printed_by_the_compiler_is_in_the_error(worker, tmp_path: Path) -> None:
    """MLIR reports through descriptor 2 and raises an exception that says little."""
    reply = compile_that_writes(worker(), tmp_path, "fail('k.py:1:1: remark: from C++')")
    assert reply.status == "E_COMPILE"
    assert "remark: from C++" in reply["message"] and "short" in reply["message"]


def test_error_lines_fail_a_compile(worker, tmp_path: Path) -> None:
    reply = compile_that_writes(worker(), tmp_path, "write('first\\n<unknown>:0: error: broken\\nsecond\\n')")
    assert reply.status == "E_COMPILE" and "error: broken\nsecond" in reply["message"]


def test_warnings_of_native_code_do_not_fail_a_compile(worker, tmp_path: Path) -> None:
    one = worker()
    assert compile_that_writes(one, tmp_path, "write('x.c:1: warning: 3 errors were avoided')").status == "OK"
    assert "3 errors were avoided" in one.logged()


def test_recreated_after_death(worker, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, 4321)"))
    first = worker()
    reply = first.describe(path, "k").ok()
    first.process.kill()
    path.unlink()
    second, function = worker(), reply["record"]["id"]
    assert second.compile(function, [ptr("i32")]).status == "NEED_SNAPSHOT"
    again = second.compile(function, [ptr("i32")], snapshots={function: reply.sections["snapshot"]}).ok()
    assert "4321" in again.sections["ttir"].decode()


def test_interrupts_are_the_hosts_business(worker) -> None:
    one = worker()
    function = one.open(BASIC, "add_kernel")
    one.process.send_signal(signal.SIGINT)
    one.compile(function, ADD_ARGS, num_stages=6).ok()  # LLVM installs signal handlers here
    one.process.send_signal(signal.SIGINT)
    one.compile(function, ADD_ARGS, num_stages=7).ok()
    assert os.getsid(one.process.pid) == one.process.pid
    assert one.close()[0] == 0


def gone(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("busy", [False, True])
def test_ends_with_its_parent(tmp_path: Path, busy: bool) -> None:
    """Killed parents close nothing in an orderly way; a busy worker must end too."""
    path = write(tmp_path, "k.py", kernel(head="import time\ntime.sleep(60)" if busy else ""))
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, threading, time\nfrom conftest import *\n"
            "one = Worker()\nprint(one.process.pid, flush=True)\n"
            f"request = dict(target=one.describe, args=({str(path)!r}, 'k'), daemon=True)\n"
            "threading.Thread(**request).start()\ntime.sleep(60)",
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "TJ_TEST_CHILD": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(parent.stdout.readline())
    time.sleep(1.5)
    assert not gone(pid, 0.1)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(pid)
    assert all(gone(int(child)) for child in children)


def test_thread_that_started_it_may_end() -> None:
    """A worker started from a short-lived thread of the host lives on."""
    check_python(
        """
        import threading, time
        from conftest import *
        started = []
        thread = threading.Thread(target=lambda: started.append(Worker()))
        thread.start()
        thread.join()
        time.sleep(0.3)
        function = started[0].open(BASIC, "add_kernel")
        started[0].compile(function, ADD_ARGS).ok()
        assert started[0].close()[0] == 0
        """
    )


def test_no_descriptor_of_the_frames_in_children(worker, tmp_path: Path) -> None:
    run = "subprocess.run(['ls', '-l', '/proc/self/fd'], capture_output=True, text=True)"
    head = f"import subprocess\nprint({run}.stdout)"
    one = worker()
    one.open(write(tmp_path, "k.py", kernel(head=head)), "k")
    listed = [line for line in one.logged().splitlines() if "->" in line]
    assert listed
    frames = {
        os.readlink(f"/proc/self/fd/{one.process.stdout.fileno()}"),
        os.readlink(f"/proc/self/fd/{one.process.stdin.fileno()}"),
    }
    assert not [line for line in listed if line.rpartition("-> ")[2] in frames]


def test_serve_reads_nothing_from_stdin_for_the_file(worker, tmp_path: Path) -> None:
    one = worker()
    path = write(tmp_path, "k.py", kernel(head="import sys\nassert sys.stdin.read() == ''"))
    one.open(path, "k")
    one.open(BASIC, "add_kernel")


def test_scripts_are_not_on_the_path_of_kernel_files(worker, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(head="import standalone_compile"))
    assert worker().describe(path, "k").status == "E_IMPORT"
    path = write(
        tmp_path, "k2.py", kernel(head="import sys\nassert not [p for p in sys.path if p.endswith('scripts')]")
    )
    worker().open(path, "k")


def test_environment_is_the_workers_own(worker, tmp_path: Path) -> None:
    one = worker({"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_DISABLE_LINE_INFO": "1"})
    reply = one.compile(one.open(BASIC, "add_kernel"), ADD_ARGS).ok()
    assert ".loc" not in reply.sections["ptx"].decode() and (tmp_path / "cache").exists()
    assert reply["metadata"]["target"]["arch"] == int(CUDA["arch"])
