# SPDX-License-Identifier: Apache-2.0
"""Lets the tests find each other's helpers and the code generator wherever pytest is started."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "ops"), str(HERE.parents[1] / "scripts")]

_CACHE = "TRITON_CACHE_DIR"


def pytest_configure(config):
    """One cache of kernels for all workers of a run: cases of one kernel may go to several."""
    if _CACHE not in os.environ:
        config.tj_cache = os.environ[_CACHE] = tempfile.mkdtemp(prefix="tj_cpu_test_cache_")


def pytest_unconfigure(config):
    if hasattr(config, "tj_cache"):
        shutil.rmtree(config.tj_cache, ignore_errors=True)
        del os.environ[_CACHE]
