# SPDX-License-Identifier: Apache-2.0
"""Lets the tests find each other's helpers and the code generator wherever pytest is started."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
