# SPDX-License-Identifier: Apache-2.0
"""Starts bad_input_host (host.c) in a prepared environment and reads what came of its steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LIBRARY = Path(os.environ.get("TJ_LIBRARY") or ROOT / "build" / "release" / "lib" / "libtriton_jit.so")
PROGRAMS = LIBRARY.parent.parent / "tests" / "integration" / "bad_input"
HOST = PROGRAMS / "bad_input_host"
SCRIPTS = ROOT / "scripts"
GOOD = HERE / "kernels" / "good.py"
PYTHON = os.environ.get("TRITON_JIT_PYTHON") or sys.executable
SITE = Path(sysconfig.get_paths()["purelib"])
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
KERNEL = """import triton
import triton.language as tl

@triton.jit
def k(out):
    tl.store(out, 5)
"""

ADD = ("get", GOOD, "add_kernel")
WARNING = 2


@dataclass
class Step:
    """What came of one step."""

    step: str
    status: str
    message: str
    value: str

    def ok(self, value: str | None = None) -> Step:
        assert self.status == "TJ_OK", self
        assert value is None or self.value == value, self
        return self

    def fails(self, status: str, *words: str) -> Step:
        assert self.status == status, self
        for word in words:
            assert word in self.message, f"{word!r} is not in: {self.message}"
        return self


@dataclass
class Outcome:
    """A whole run."""

    steps: list[Step] = field(default_factory=list)
    log: list[tuple[int, str]] = field(default_factory=list)
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""

    def __getitem__(self, index: int) -> Step:
        assert index < len(self.steps), self
        return self.steps[index]

    def all_ok(self) -> Outcome:
        for step in self.steps:
            step.ok()
        return self

    def warnings(self, *words: str) -> list[str]:
        """The warnings that have all these words in them."""
        return [text for level, text in self.log if level == WARNING and all(word in text for word in words)]


def environment(mode: str, cache: Path | None, home: Path, **more: str | None) -> dict[str, str]:
    """A plain environment; a value of None leaves a variable out."""
    found = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TRITON_JIT_COMPILER": mode,
        "TRITON_JIT_PYTHON": PYTHON,
        "TRITON_JIT_SCRIPTS": str(SCRIPTS),
    }
    if cache is not None:
        found["TRITON_CACHE_DIR"] = str(cache)
    for name, value in more.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def start(env: dict[str, str], steps: Iterable[Sequence[Any]], records: Path, **popen: Any) -> subprocess.Popen[str]:
    """Starts the host, ``through`` another program if there is one; finish() waits for it."""
    words = [str(word) for step in steps for word in step]
    return subprocess.Popen(
        [*popen.pop("through", []), str(HOST), str(records), *words],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **popen,
    )


def finish(process: subprocess.Popen[str], records: Path, timeout: float = 120, quiet: bool = True) -> Outcome:
    """Waits for the host. It must end by itself, with status 0, and have printed nothing."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(f"the host hangs: {stderr}\n{records.read_text(errors='replace')}") from None
    outcome = Outcome(returncode=process.returncode, stdout=stdout, stderr=stderr)
    text = records.read_text(encoding="utf-8", errors="surrogateescape") if records.exists() else ""
    for line in text.splitlines():
        record = json.loads(line, strict=False)
        if "log" in record:
            outcome.log.append((record["log"], record["text"]))
        else:
            outcome.steps.append(Step(**record))
    assert process.returncode == 0, outcome
    if quiet:
        assert stdout == "" and stderr == "", outcome
    return outcome


class Host:
    """Runs of the host with the compiler in one mode; unless told otherwise they share one cache."""

    def __init__(self, mode: str, folder: Path, cache: Path) -> None:
        self.mode, self.folder, self.cache = mode, folder, cache

    def environment(self, cache: Any = "shared", **more: str | None) -> dict[str, str]:
        folder = self.cache if cache == "shared" else cache
        return environment(self.mode, folder, self.folder, **more)

    def __call__(
        self, *steps: Sequence[Any], cache: Any = "shared", popen: Any = None, quiet: bool = True, **more: str | None
    ) -> Outcome:
        handle, name = tempfile.mkstemp(prefix="records-")
        os.close(handle)
        os.chmod(name, 0o666)
        records = Path(name)
        try:
            process = start(self.environment(cache, **more), steps, records, **(popen or {}))
            return finish(process, records, quiet=quiet)
        finally:
            records.unlink()


def install_hint(package: dict[str, str]) -> str:
    """The command of ``package`` that belongs to this distribution; '' if it is none of those known."""
    words: list[str] = []
    try:
        for line in Path("/etc/os-release").read_text().splitlines():
            key, _, value = line.partition("=")
            if key in ("ID", "ID_LIKE"):
                words += value.strip("\"'").split()
    except OSError:
        pass
    return next((command for name, command in package.items() if name in words), "")


def make_environment(folder: Path, without: Sequence[str] = ()) -> Path:
    """A virtual environment that has the packages of this one by links, less some; returns its Python."""
    import venv

    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    target = folder / "lib" / VERSION / "site-packages"
    for entry in SITE.iterdir():
        if entry.suffix == ".pth" or entry.name == "__pycache__" or (target / entry.name).exists():
            continue
        if entry.name.partition("-")[0].partition(".")[0] not in without:
            (target / entry.name).symlink_to(entry)
    return folder / "bin" / "python3"
