# SPDX-License-Identifier: Apache-2.0
"""Several threads at once."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from conftest import Compiler, integer, kernel, ptr, script, write


def test_threads_describe_and_compile(tmp_path: Path) -> None:
    head = "import helper\nprint('loading', __file__)"
    write(tmp_path, "helper.py", "x = 1\n")
    paths = [write(tmp_path, f"k{n}.py", kernel(f"tl.store(out, {1000 + n})", head=head)) for n in range(4)]
    problems: list[object] = []
    ids: list[set[str]] = [set() for _ in paths]
    barrier = threading.Barrier(8)
    before = sys.stdout, list(sys.path), list(sys.meta_path)

    def work(number: int) -> None:
        try:
            compiler = Compiler(script.handle)
            barrier.wait()
            for step in range(4):
                n = (number + step) % len(paths)
                function = compiler.open(paths[n], "k")
                ids[n].add(function)
                reply = compiler.compile(function, [ptr("i32")], num_stages=step + 1).ok()
                if str(1000 + n) not in reply.sections["ttir"].decode():
                    problems.append((number, n, "wrong code"))
            foreign = [line for _, line in compiler.log if line.startswith("loading") and str(tmp_path) not in line]
            problems.extend(foreign)
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert all(len(one) == 1 for one in ids)
    assert (sys.stdout, list(sys.path), list(sys.meta_path)) == before


def test_edits_while_others_compile(tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, n + 0)", params="out, n"))
    stop = threading.Event()
    problems: list[object] = []

    def compile_old(function: str) -> None:
        compiler, step = Compiler(script.handle), 0
        while not stop.is_set():
            step += 1
            reply = compiler.compile(function, [ptr("i32"), integer(3)], maxnreg=32 + step)
            if reply.status != "OK" or "arith.constant 10" in reply.sections["ttir"].decode():
                problems.append(reply)

    compiler = Compiler(script.handle)
    thread = threading.Thread(target=compile_old, args=(compiler.open(path, "k"),))
    thread.start()
    seen = set()
    for number in range(100, 110):
        write(tmp_path, "k.py", kernel(f"tl.store(out, n + {number})", params="out, n"))
        function = compiler.open(path, "k")
        seen.add(function)
        assert str(number) in compiler.compile(function, [ptr("i32"), integer(3)]).ok().sections["ttir"].decode()
    stop.set()
    thread.join()
    assert not problems and len(seen) == 10
