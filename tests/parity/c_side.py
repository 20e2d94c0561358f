# SPDX-License-Identifier: Apache-2.0
"""The library's answer to a call: the program parity_keys, and the compile side in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = ROOT / "scripts"
KERNELS = HERE / "parity_kernels.py"
PROGRAM = os.environ.get("TJ_PARITY_KEYS", str(ROOT / "build/release/tests/parity/parity_keys"))

sys.path.insert(0, str(SCRIPTS))

from triton_jit_compile import handle  # noqa: E402
from triton_jit_compile.protocol import decode_message, encode_message  # noqa: E402


class Program:
    """A running parity_keys."""

    def __init__(self, kernels: list[str]) -> None:
        environment = os.environ | {"TRITON_JIT_SCRIPTS": str(SCRIPTS), "TRITON_JIT_PYTHON": sys.executable}
        self._process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.functions: dict[str, int] = {}
        self.ids: dict[str, str] = {}
        for name in kernels:
            reply = self.ask({"open": {"source": str(KERNELS), "name": name}})
            assert "status" not in reply, f"{name}: {reply}"
            self.functions[name], self.ids[name] = reply["function"], reply["id"]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"parity_keys ended with status {self._process.wait()} at {request}"
        return json.loads(line)

    def close(self) -> int:
        self._process.stdin.close()
        status = self._process.wait(60)
        self._process.stdout.close()
        return status


def _ask_compiler(request: dict[str, Any]) -> dict[str, Any]:
    body, _ = decode_message(handle(encode_message(request)))
    return body


def describe(name: str) -> str:
    """Opens a kernel on the compile side; returns its id."""
    reply = _ask_compiler({"v": 1, "op": "describe", "source": str(KERNELS), "name": name, "backend": "cuda"})
    assert reply["status"] == "OK", reply
    return reply["record"]["id"]


def hash_of(id_: str, arguments: list[Any], target: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The compile side's reply to a request that stops before it compiles."""
    return _ask_compiler(
        {"v": 1, "op": "compile", "id": id_, "args": arguments, "target": target, "options": options, "key_only": True}
    )
