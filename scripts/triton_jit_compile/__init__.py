# SPDX-License-Identifier: Apache-2.0
"""The Python side of libtriton_jit's compiler: describe kernels and compile them."""

from .service import handle

__all__ = ["handle"]
