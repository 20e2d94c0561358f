# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that start a host program in a bad environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bad_input_host import HOST, Host


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Triton's cache of all tests that do not care."""
    return tmp_path_factory.mktemp("shared-cache")


@pytest.fixture(params=["embedded", "worker"])
def host(request: pytest.FixtureRequest, tmp_path: Path, shared_cache: Path) -> Host:
    """The host, once with the compiler inside it and once with the worker."""
    assert HOST.exists(), f"{HOST} is not built"
    return Host(request.param, tmp_path, shared_cache)


@pytest.fixture
def embedded(tmp_path: Path, shared_cache: Path) -> Host:
    """The host with the compiler inside it, for what does not differ in the worker."""
    return Host("embedded", tmp_path, shared_cache)


@pytest.fixture
def worker(tmp_path: Path, shared_cache: Path) -> Host:
    """The host with the worker."""
    return Host("worker", tmp_path, shared_cache)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """``tmpfs("size=1m")``: a small file system of its own; skips where mounting is not allowed."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"tmpfs{len(mounted)}"
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def other_user() -> dict[str, list[str]]:
    """What makes a process another user's, one without a name; needs root.

    It may read everything, since the Python under test may lie in root's home, but write nothing of root's.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can start a process as another user")
    reads_all = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    return {"through": ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", *reads_all, "--"]}
