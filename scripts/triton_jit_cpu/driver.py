# SPDX-License-Identifier: Apache-2.0
"""A Triton driver that is never active: kernels are launched by the library, not by Triton."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase


class CpuDriver(DriverBase):
    """Present because Triton pairs every backend with a driver."""

    @classmethod
    def is_active(cls) -> bool:
        """Never: so the driver of a real device stays the default."""
        return False

    def get_current_target(self) -> GPUTarget:
        """The machine itself."""
        return GPUTarget("cpu", "native", 1)

    def get_active_torch_device(self) -> Any:
        """torch is never imported here."""
        raise RuntimeError("the CPU backend of libtriton_jit does not launch through Triton")

    def get_benchmarker(self) -> Any:
        """See get_active_torch_device."""
        raise RuntimeError("the CPU backend of libtriton_jit does not launch through Triton")

    def map_python_to_cpp_type(self, ty: str) -> str:
        """See get_active_torch_device."""
        raise RuntimeError("the CPU backend of libtriton_jit does not launch through Triton")
