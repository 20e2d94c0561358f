# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled under the target names of vendors, as fakes of their devices ask for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = str(HERE.parents[1] / "scripts")


def test_nine_names_and_all_warp_sizes(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([SCRIPTS, *sys.path]), "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(HERE / "vendor_kernels.py")], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len({name for name, _ in lines}) == 9
    assert {int(warp) for _, warp in lines} == {1, 16, 32, 64, 128}
