# SPDX-License-Identifier: Apache-2.0
"""Loops over the math helpers vectorise: gcc and clang say so themselves."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from triton_jit_cpu.library import library
from triton_jit_cpu.ops import math as math_ops
from triton_jit_cpu.toolchain import FLAGS

ROOT = Path(__file__).resolve().parents[2]

# Loop bodies: helpers by the C type of their result, argument and number of arguments.
_TWO = {"pow", "atan2", "hypot"}
LOOPS = [("float", "float", 2 if n in _TWO else 1, f"tj_{n}f") for n in math_ops._FLOAT if n != "ldexp"]
LOOPS += [("double", "double", 1, f"tj_{n}") for n in math_ops._DOUBLE]
LOOPS += [("float", "uint16_t", 1, f"tj_{k}_to_f32") for k in ("f16", "bf16")]
LOOPS += [("float", "uint8_t", 1, f"tj_{k}_to_f32") for k in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0")]
for _mode in ("", "_rtz"):
    LOOPS += [("uint16_t", "float", 1, f"tj_f32_to_{k}{_mode}") for k in ("f16", "bf16")]
    LOOPS += [("uint8_t", "float", 1, f"tj_f32_to_{k}{_mode}") for k in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")]
LOOPS += [("uint8_t", "uint16_t", 1, "tj_f16_to_e4b15"), ("uint16_t", "uint8_t", 1, "tj_e4b15_to_f16")]
LOOPS += [("float", "double", 1, "tj_f64_to_odd")]
LOOPS += [(f"{u}int{b}_t", "float", 1, f"tj_f32_to_{u or 's'}{b}") for u in ("", "u") for b in (8, 16, 32)]
LOOPS += [("float", "float", 2, f"tj_{n}32") for n in ("maxnum", "minnum", "maximum", "minimum", "fdim")]
LOOPS += [("float", "float", 2, f"tj_f{op}_{m}") for op in ("add", "mul", "div") for m in ("rd", "ru", "rz")]
LOOPS += [("double", "double", 2, f"tj_d{op}_{m}") for op in ("add",) for m in ("rd", "ru", "rz")]

AVX2 = ["-march=x86-64", "-mavx2", "-mfma", "-mf16c"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
NEON = ["--target=aarch64-linux-gnu", "-ffreestanding"]


def source() -> tuple[str, dict[int, str]]:
    """A function with one loop for each helper, and the line that it stands in."""
    loops = []
    for number, (result, argument, count, helper) in enumerate(LOOPS):
        arguments = ", ".join(["a[i]", "b[i]"][:count])
        loops.append(
            f"void loop{number}({result} *restrict y, const {argument} *restrict a, const {argument} *restrict b)"
            f" {{ for (int i = 0; i < 4096; i++) y[i] = {helper}({arguments}); }}"
        )
    text = "\n".join(loops)
    abi = (ROOT / "scripts/triton_jit_cpu/cpu_abi.h").read_text()
    head = "#include <stdbool.h>\n" + abi + library().needed(text)
    first = head.count("\n") + 2
    return head + "\n" + text + "\n", {first + i: entry[3] for i, entry in enumerate(LOOPS)}


def compile_loops(command: list[str], folder: Path) -> tuple[subprocess.CompletedProcess, dict[int, str]]:
    text, lines = source()
    file = folder / "loops.c"
    file.write_text(text)
    flags = [f for f in FLAGS if f not in ("-march=native", "-shared", "-w")]
    done = subprocess.run(
        [*command, *flags, "-S", str(file), "-o", str(folder / "loops.s")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done, lines


# Without FMA and with the baseline's few vector operations, some of these stay scalar.
CASES = {
    "gcc-avx2": ("gcc", [*AVX2, "-fopt-info-vec-optimized"]),
    "gcc-avx512": ("gcc", [*AVX512, "-fopt-info-vec-optimized"]),
    "clang-avx2": ("clang", [*AVX2, "-Rpass=loop-vectorize"]),
    "clang-avx512": ("clang", [*AVX512, "-Rpass=loop-vectorize"]),
    "clang-neon": ("clang", [*NEON, "-Rpass=loop-vectorize"]),
}


@pytest.mark.parametrize("case", list(CASES))
def test_vectorises(case, tmp_path):
    compiler, flags = CASES[case]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    done, lines = compile_loops([compiler, *flags], tmp_path)
    said = {int(m.group(1)) for m in re.finditer(r"loops\.c:(\d+):\d+: (?:optimized: +loop v|remark: v)", done.stderr)}
    missing = [helper for line, helper in lines.items() if line not in said]
    assert not missing, f"{case}: not vectorised: {', '.join(missing)}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compiles_for_any_machine_without_warnings(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    warnings = [
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wno-unused-parameter",
        "-Wno-unused-command-line-argument",
        "-Werror",
    ]
    compile_loops([compiler, "-march=x86-64", *warnings], tmp_path)
