# SPDX-License-Identifier: Apache-2.0
"""What the numbers were taken on."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

# The features that kernels are chosen by, in ascending order.
_FEATURES = (
    "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "amx_tile", "amx_int8", "amx_bf16", "neon", "asimd", "asimddp", "bf16", "i8mm", "sve",
)  # fmt: skip


def _cpu_fields() -> dict[str, str]:
    fields = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            break  # the first processor is enough
        fields[name.strip().lower()] = value.strip()
    return fields


def _caches() -> list[str]:
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            kib = int(size.removesuffix("K"))
            found.append(f"L{level} {kib // 1024} MiB" if kib >= 1024 else f"L{level} {kib} KiB")
    return found


def _compiler() -> str:
    # The order of scripts/triton_jit_cpu/toolchain.py.
    command = (
        os.environ.get("TRITON_JIT_CC") or os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "clang"
    )
    done = subprocess.run([*command.split(), "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or "none").splitlines()[0]


def describe() -> dict[str, Any]:
    """The machine's features and the programs' versions."""
    cpu = _cpu_fields()
    flags = set((cpu.get("flags") or cpu.get("features") or "").split())
    return {
        "cpu": cpu.get("model name") or f"{cpu.get('cpu implementer')} {cpu.get('cpu part')}",
        "cores": len(os.sched_getaffinity(0)),
        "isa": [name for name in _FEATURES if name in flags],
        "caches": _caches(),
        "compiler": _compiler(),
        "load": os.getloadavg()[0],
        **{name: version(name) for name in ("torch", "numpy", "triton")},
    }


def text(machine: dict[str, Any]) -> str:
    """One paragraph for people."""
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {' '.join(machine['isa'][-4:])}; {', '.join(machine['caches'])};"
        f" {machine['compiler']}; torch {machine['torch']}, NumPy {machine['numpy']}, Triton {machine['triton']};"
        f" load at the start {machine['load']:.1f}"
    )
