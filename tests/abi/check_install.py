# SPDX-License-Identifier: Apache-2.0
"""Installs the build into an empty folder and builds and runs a C program against nothing but that folder.

check_install.py <build folder> <C compiler> <version>
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
#include <stdio.h>
#include <triton_jit/triton_jit.h>
int main(void) {
  puts(tj_version_string());
  return tj_version() == TJ_VERSION ? 0 : 1;
}
"""


def main(build: str, compiler: str, version: str) -> int:
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "prefix")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
        libraries = list(prefix.glob("lib*/libtriton_jit.so"))
        if len(libraries) != 1:
            print(f"expected one libtriton_jit.so below {prefix}/lib*, found {libraries}")
            return 1
        scripts = libraries[0].parent.parent / "share" / "triton_jit" / "scripts"
        wanted = {"standalone_compile.py", "triton_jit_compile/__init__.py", "triton_jit_cpu/__init__.py"}
        problems += [f"{scripts / name} was not installed" for name in sorted(wanted) if not (scripts / name).is_file()]
        foreign = ("lib", "test", "demo", "format", "__pycache__")
        problems += [f"{path} should not be installed" for path in scripts.rglob("*") if path.name in foreign]

        source, program = Path(folder, "client.c"), Path(folder, "client")
        source.write_text(PROGRAM)
        command = [compiler, "-std=c11", f"-I{prefix / 'include'}", source, f"-L{libraries[0].parent}", "-ltriton_jit"]
        subprocess.run([*command, "-o", program], check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries[0].parent)}
        run = subprocess.run([program], env=environment, capture_output=True, text=True)
        if run.returncode != 0 or run.stdout.strip() != version:
            problems.append(f"the client ended with {run.returncode} and said {run.stdout!r} {run.stderr!r}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
