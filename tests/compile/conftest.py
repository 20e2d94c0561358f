# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the compile side: requests as Python calls, and Python in a fresh process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "scripts" / "standalone_compile.py"
KERNELS = HERE / "kernels"
BASIC = str(KERNELS / "basic.py")
CUDA = {"backend": "cuda", "arch": "90", "warp_size": 32}

# Triton reads these when it is imported; the tests start from an empty cache and the defaults.
if "TJ_TEST_CHILD" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="tj-test-cache-")
    for _name in [name for name in os.environ if name.startswith("TRITON_")]:
        del os.environ[_name]
    os.environ["TRITON_CACHE_DIR"] = _cache.name


def load_script() -> Any:
    """standalone_compile, loaded by path as a host does."""
    if "standalone_compile" not in sys.modules:
        spec = importlib.util.spec_from_file_location("standalone_compile", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        sys.modules["standalone_compile"] = module
        spec.loader.exec_module(module)
    return sys.modules["standalone_compile"]


script = load_script()

from triton_jit_compile.protocol import decode_message, encode_message  # noqa: E402


def ptr(dtype: str = "fp32", aligned: bool = True) -> dict[str, str]:
    return {"ptr": dtype, "class": "D" if aligned else ""}


def integer(value: int) -> dict[str, str]:
    return {"int": str(value)}


def text(value: str) -> dict[str, str]:
    return {"str": value.encode().hex()}


DEFAULT = {"default": 1}
NONE = {"none": 1}
ADD_ARGS = [ptr(), ptr(), ptr(), integer(32), integer(64)]


class Reply(dict):
    """A reply's JSON, with its sections beside it."""

    sections: dict[str, bytes]

    @property
    def status(self) -> str:
        return self["status"]

    def ok(self) -> Reply:
        assert self["status"] == "OK", f"{self['status']}: {self.get('message')}\n{self.get('traceback')}"
        return self


class Compiler:
    """The two operations; ``send`` takes request bytes and a log function and returns reply bytes."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self.log: list[tuple[int, str]] = []

    def ask(self, request: dict[str, Any], sections: list[tuple[str, bytes]] = ()) -> Reply:
        reply = self._send(encode_message(request, sections), lambda level, line: self.log.append((level, line)))
        body, parts = decode_message(reply)
        result = Reply(body)
        result.sections = parts
        return result

    def describe(self, source: Any, name: str, backend: str = "cuda", memory: str | None = None) -> Reply:
        request = {"v": 1, "op": "describe", "source": str(source), "name": name, "backend": backend}
        if memory is None:
            return self.ask(request)
        return self.ask({**request, "text_section": True}, [("text", memory.encode())])

    def compile(
        self,
        function_id: str,
        args: list[Any],
        target: dict[str, Any] | None = None,
        snapshots: dict[str, bytes] | None = None,
        key_only: bool = False,
        **options: Any,
    ) -> Reply:
        request = {
            "v": 1,
            "op": "compile",
            "id": function_id,
            "args": args,
            "target": target or CUDA,
            "options": options,
        }
        if key_only:
            request["key_only"] = True
        return self.ask(request, [(f"snapshot:{name}", data) for name, data in (snapshots or {}).items()])

    def open(self, source: Any, name: str, **how: Any) -> str:
        return self.describe(source, name, **how).ok()["record"]["id"]

    def logged(self) -> str:
        return "\n".join(line for _, line in self.log)


@pytest.fixture
def compiler() -> Compiler:
    """Requests answered in this process, as when Python is embedded."""
    return Compiler(script.handle)


class Worker(Compiler):
    """Requests answered by ``standalone_compile.py --serve``."""

    def __init__(self, environment: dict[str, str] | None = None, **how: Any) -> None:
        super().__init__(self._exchange)
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            **how,
        )

    def _exchange(self, request: bytes, log: Any) -> bytes:
        from triton_jit_compile.protocol import read_frame, write_frame

        write_frame(self.process.stdin.fileno(), request)
        while True:
            reply = read_frame(self.process.stdout.fileno())
            body, _ = decode_message(reply)
            if "log" not in body:
                return reply
            log(body["log"]["level"], body["log"]["text"])

    def close(self) -> tuple[int, str]:
        """Close the requests; returns the exit status and what came on descriptor 2."""
        self.process.stdin.close()
        status = self.process.wait(20)
        return status, self.process.stderr.read().decode()


@pytest.fixture
def worker():
    """Starts workers; ends those that a test leaves running."""
    started: list[Worker] = []

    def start(environment: dict[str, str] | None = None, **how: Any) -> Worker:
        started.append(Worker(environment, **how))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            stream.close()


def run_python(code: str, environment: dict[str, str | None] | None = None, **how: Any) -> subprocess.CompletedProcess:
    """Run code in a fresh interpreter that can use this module's helpers; None unsets a variable."""
    env = {**os.environ}
    for name, value in (environment or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    env |= {"PYTHONPATH": str(HERE), "TJ_TEST_CHILD": "1"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=120, **how
    )


def check_python(code: str, environment: dict[str, str | None] | None = None, **how: Any) -> str:
    """run_python that has to succeed; returns what it printed."""
    done = run_python(code, environment, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(folder: Path, name: str, source: str) -> Path:
    """Write a source file, making folders as needed."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source))
    return path


def kernel(body: str = "tl.store(out, 1)", name: str = "k", params: str = "out", head: str = "") -> str:
    """A kernel file's text."""
    return f"import triton\nimport triton.language as tl\n{head}\n\n@triton.jit\ndef {name}({params}):\n    {body}\n"
