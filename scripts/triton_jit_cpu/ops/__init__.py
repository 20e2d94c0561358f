# SPDX-License-Identifier: Apache-2.0
"""The lowering of each operation, by subject. Importing the package fills the tables."""

from . import arith, control, dot, functions, math, memory, shape  # noqa: F401
