# SPDX-License-Identifier: Apache-2.0
"""One program and one disk cache for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import c_side
import pytest
from compare import KERNELS


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty disk cache, of Triton in this process and in the program's worker."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TRITON_CACHE_DIR"]
    else:
        os.environ["TRITON_CACHE_DIR"] = before


@pytest.fixture(scope="session")
def program(cache: Path) -> Iterator[c_side.Program]:
    """A running parity_keys with all kernels open."""
    running = c_side.Program(list(KERNELS))
    for name in KERNELS:  # the compile side of this process gives the functions the same names
        assert c_side.describe(name) == running.ids[name]
    yield running
    assert running.close() == 0
