# SPDX-License-Identifier: Apache-2.0
"""What Python code prints goes to the log of its request, and nowhere else."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path

from conftest import Compiler, check_python, kernel, ptr, run_python, write

NOISY = """
import sys, warnings
print("to stdout", "and more")
print("no newline", end="")
sys.stderr.write("to stderr\\n")
sys.stdout.buffer.write(b"bytes \\xff\\n")
print("flushed", flush=True)
warnings.warn("take care")
sys.stdout.writelines(["one\\n", "two\\n"])
assert not sys.stdout.isatty() and sys.stdout.encoding
"""


def test_prints_at_import_are_logged(compiler: Compiler, tmp_path: Path, capfd) -> None:
    path = write(tmp_path, "k.py", kernel(head=NOISY))
    before = sys.stdout, sys.stderr, warnings.showwarning, list(warnings.filters)
    compiler.open(path, "k")
    assert (sys.stdout, sys.stderr, warnings.showwarning, list(warnings.filters)) == before
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""
    assert (3, "to stdout and more") in compiler.log
    assert (2, "to stderr") in compiler.log
    assert any(level == 2 and "take care" in text and "k.py" in text for level, text in compiler.log)
    for words in ("no newlinebytes \ufffd", "flushed", "one", "two"):
        assert words in compiler.logged()


def test_prints_at_compile_time_are_logged(compiler: Compiler, tmp_path: Path, capfd) -> None:
    path = write(tmp_path, "k.py", kernel("tl.static_print('printed while compiling')"))
    compiler.compile(compiler.open(path, "k"), [ptr("i32")]).ok()
    assert "printed while compiling" in compiler.logged()
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""


def test_output_before_a_failure_is_logged(compiler: Compiler, tmp_path: Path) -> None:
    compiler.describe(write(tmp_path, "k.py", "print('last words', end='')\n1 / 0\n"), "k")
    assert (3, "last words") in compiler.log


def test_no_log_and_a_log_that_raises(tmp_path: Path, capfd) -> None:
    from conftest import decode_message, encode_message, script

    path = write(tmp_path, "k.py", kernel(head=NOISY))
    request = encode_message({"v": 1, "op": "describe", "source": str(path), "name": "k", "backend": "cuda"})

    def bad_log(level: int, text: str) -> None:
        print("the callback's own words")
        raise SystemExit(level)

    for log in (None, bad_log):
        write(tmp_path, "k.py", kernel(head=NOISY + f"# {log}"))
        assert decode_message(script.handle(request, log))[0]["status"] == "OK"
    assert set(capfd.readouterr().out.splitlines()) == {"the callback's own words"}


def test_prints_of_other_threads_pass_through(compiler: Compiler, tmp_path: Path, capsys) -> None:
    started, go_on, stop = threading.Event(), threading.Event(), threading.Event()
    import builtins

    builtins.tj_events = (started, go_on)
    head = "import builtins\na, b = builtins.tj_events\nprint('inside')\na.set()\nassert b.wait(20)\n"
    path = write(tmp_path, "k.py", kernel(head=head))

    def other() -> None:
        started.wait(20)
        print("other thread")
        print("other error", file=sys.stderr)
        warnings.warn("other warning", stacklevel=1)
        go_on.set()
        stop.set()

    thread = threading.Thread(target=other)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread.start()
        compiler.open(path, "k")
        thread.join()
    del builtins.tj_events
    assert stop.is_set()
    captured = capsys.readouterr()
    assert captured.out == "other thread\n" and captured.err == "other error\n"
    assert [str(warning.message) for warning in caught] == ["other warning"]
    assert compiler.log == [(3, "inside")]


def test_streams_that_the_host_replaces_meanwhile_stay(compiler: Compiler, tmp_path: Path) -> None:
    import io

    before = sys.stdout
    mine = io.StringIO()
    import builtins

    builtins.tj_stream = mine
    try:
        compiler.open(
            write(tmp_path, "k.py", kernel(head="import builtins, sys\nsys.stdout = builtins.tj_stream")), "k"
        )
        assert sys.stdout is mine
    finally:
        sys.stdout = before
        del builtins.tj_stream


def test_logging_handler_made_by_the_file(compiler: Compiler, tmp_path: Path, capfd) -> None:
    """A handler that keeps sys.stderr writes to the log within a request and to the host's stream after it."""
    head = "import logging\nlog = logging.getLogger('tj_test')\nlog.addHandler(logging.StreamHandler())\n"
    head += "log.error('early')"
    record = compiler.describe(write(tmp_path, "k.py", kernel(head=head)), "k").ok()["record"]
    assert (2, "early") in compiler.log
    sys.modules[record["module"]].log.error("late")
    import logging

    logging.getLogger("tj_test").handlers.clear()
    assert capfd.readouterr().err == "late\n"


def test_process_without_streams(tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(head=NOISY))
    check_python(
        f"""
        import sys
        from conftest import *
        out, sys.stdout, sys.stderr = sys.stdout, None, None
        compiler = Compiler(script.handle)
        compiler.open({str(path)!r}, "k")
        assert sys.stdout is None and "to stdout" in compiler.logged()
        sys.stdout = out
        """
    )


def test_process_without_arguments(tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(head="import argparse, sys\nargparse.ArgumentParser()\nsys.argv[0]"))
    check_python(
        f"""
        import sys
        del sys.argv
        from conftest import *
        Compiler(script.handle).open({str(path)!r}, "k")
        assert sys.argv == [""]
        """
    )


def test_usage() -> None:
    from conftest import SCRIPT

    done = run_python(f"import runpy, sys\nsys.argv = ['x']\nrunpy.run_path({str(SCRIPT)!r}, run_name='__main__')")
    assert done.returncode == 2 and "--serve" in done.stderr and done.stdout == ""
