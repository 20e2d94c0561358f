# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the own math functions: at most 2 ulp, special cases as in C.

math_ulp.c compares them with libm's next wider type. ``python test_math_ulp.py [step]`` prints the
largest errors over every step-th float (1: all 2^32, minutes a function), ``speed`` the rates.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]

from triton_jit_cpu.library import library  # noqa: E402
from triton_jit_cpu.ops import math as math_ops  # noqa: E402
from triton_jit_cpu.toolchain import FLAGS, find_compiler  # noqa: E402

HELPERS = HERE.parents[1] / "scripts" / "triton_jit_cpu"
FUNCTIONS = re.findall(r"X\((\w+), ", (HERE / "math_ulp.c").read_text())


def build(folder: Path, *flags: str) -> Path:
    """The measuring program, with the flags of generated code."""
    helpers = folder / "helpers.h"
    names = " ".join(f"tj_{name} tj_{name}f" for name in FUNCTIONS)
    helpers.write_text((HELPERS / "cpu_abi.h").read_text() + library().needed(names))
    program = folder / "math_ulp"
    command = [
        *find_compiler().command, *(f for f in FLAGS if f not in ("-fPIC", "-shared")), *flags,
        f'-DHELPERS="{helpers}"', str(HERE / "math_ulp.c"), "-o", str(program), "-lm",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return program


def stated() -> dict[str, float]:
    """What the comments in c/*.h say: "ULP ulp" in the chunk of each function."""
    out = {}
    for file in ("exp", "log", "trig", "special"):
        text = (HELPERS / "c" / f"{file}.h").read_text()
        for match in re.finditer(r"^/\*@ tj_(\w+) \*/\n/\*(.*?)\*/", text, re.MULTILINE | re.DOTALL):
            number = re.search(r"([0-9.]+) ulp", match.group(2))
            if number:
                out[match.group(1)] = float(number.group(1))
    return out


@pytest.mark.parametrize("machine", ["native", "baseline"])
def test_ulp(machine, tmp_path):
    """Without fused multiply-add and wide vectors, too."""
    program = build(tmp_path, *(["-march=x86-64"] if machine == "baseline" and os.uname().machine == "x86_64" else []))
    done = subprocess.run([str(program), "ulp", "20011"], capture_output=True, text=True, check=True)
    found = {name: float(worst) for name, worst, *_ in map(str.split, done.stdout.splitlines())}
    limits = stated()
    assert {f"{n}f" for n in math_ops._FLOAT if n != "ldexp"} | set(math_ops._DOUBLE) == set(found) == set(limits)
    wrong = {name: (worst, limits[name]) for name, worst in found.items() if worst > limits[name] or worst > 2}
    assert not wrong, f"(largest error, stated error) in ulp: {wrong}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        mode = ["speed"] if sys.argv[1:2] == ["speed"] else ["ulp", *(sys.argv[1:2] or ["20011"])]
        subprocess.run([str(build(Path(made))), *mode, *sys.argv[2:]], check=True)
