# SPDX-License-Identifier: Apache-2.0
"""The lowering of each operation, by subject. Importing the package fills the tables."""

from . import (  # noqa: F401
    arith,
    atomics,
    control,
    debug,
    dot,
    dot_scaled,
    extern,
    functions,
    math,
    memory,
    reduce,
    sanitize,
    scan,
    shape,
)
