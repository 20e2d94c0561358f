# SPDX-License-Identifier: Apache-2.0
"""Checks of the built shared library that are about its interface and manners, not its behaviour.

    check_library.py <check> <library> [argument...]

Each check is one test (tests/abi/CMakeLists.txt); it prints what is wrong and ends with 1.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SIZE_LIMIT = 300 * 1024

# libdl and libpthread are part of libc since glibc 2.34.
NEEDED = re.compile(r"lib(c|m|dl|pthread)\.so\.\d+|ld-linux.*\.so\.\d+")

# What a guest in a host process must not do. _exit is allowed: a forked child ends with it.
RUDE = {
    "abort", "exit", "quick_exit", "atexit", "on_exit", "__assert_fail", "__assert",
    "setenv", "unsetenv", "putenv", "clearenv", "signal", "chdir", "fchdir", "umask",
    "printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar", "perror", "psignal", "stdout", "stderr",
    "syslog", "err", "errx", "warn", "warnx",
}  # fmt: skip


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def undefined(library: str) -> set[str]:
    """Names that the library takes from others, without their versions."""
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--undefined-only", library).splitlines()}


def exports(library: str, expected_file: str) -> list[str]:
    """The dynamic symbols, with their versions, are those of exports.txt."""
    found, problems = set(), []
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        _, kind, name = line.split()
        if kind == "A":  # the version node itself
            continue
        found.add(name)
        if kind != "T":
            problems.append(f"{name} is not a function (nm says {kind}): data cannot be versioned")
    lines = [line.partition("#")[0].strip() for line in Path(expected_file).read_text().splitlines()]
    names = [line for line in lines if line]
    if names != sorted(names):
        problems.append(f"{expected_file} is not sorted")
    expected = set(names)
    problems += [f"{name} is exported but not in exports.txt" for name in sorted(found - expected)]
    problems += [f"{name} is in exports.txt but not exported" for name in sorted(expected - found)]
    return problems


def needed(library: str, *also: str) -> list[str]:
    """Only the C library is needed at load time, and what the build says (a shared libcjson)."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library))
    allowed = [re.compile(re.escape(name) + r"\.so(\.\d+)*") for name in also]
    allowed.append(NEEDED)
    return [f"needs {name}" for name in names if not any(pattern.fullmatch(name) for pattern in allowed)]


def elf_flags(library: str, soname: str) -> list[str]:
    """Name, link flags and segments."""
    dynamic, segments = run("readelf", "-dW", library), run("readelf", "-lW", library)
    problems = []
    if f"[{soname}]" not in "".join(line for line in dynamic.splitlines() if "(SONAME)" in line):
        problems.append(f"SONAME is not {soname}")
    flags = "".join(line for line in dynamic.splitlines() if "(FLAGS_1)" in line).split()
    problems += [f"FLAGS_1 lacks {flag}" for flag in ("NOW", "NODELETE") if flag not in flags]
    problems += [f"has {tag}" for tag in ("TEXTREL", "RPATH", "RUNPATH") if f"({tag})" in dynamic]
    if "GNU_RELRO" not in segments:
        problems.append("no GNU_RELRO segment")
    stack = re.search(r"GNU_STACK.*?(R\S*|RW\S*) +0x", segments)
    if stack is None or "E" in stack.group(1):
        problems.append("the stack would be executable")
    # One pointer each: the C run-time's own. A constructor or destructor of ours would be another.
    for tag in ("INIT_ARRAYSZ", "FINI_ARRAYSZ"):
        size = re.search(rf"\({tag}\)\s+(\d+)", dynamic)
        if size and int(size.group(1)) > 8:
            problems.append(f"{tag} is {size.group(1)}: there is a constructor or destructor")
    return problems


def no_cxx(library: str) -> list[str]:
    """No C++ symbol, defined or wanted."""
    names = {line.split()[-1] for line in run("nm", "-a", library).splitlines() if line.split()}
    return [
        f"C++ symbol {name}" for name in sorted(names | undefined(library)) if name.startswith(("_Z", "__cxa_throw"))
    ]


def guest(library: str) -> list[str]:
    """Calls nothing that prints, ends the process or changes what belongs to the host."""
    return [f"calls {name}" for name in sorted(undefined(library) & RUDE)]


def stripped(library: str, source_dir: str) -> list[str]:
    """Its size without symbols, and no path of the build machine in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stripped.so")
        run("strip", "-o", str(path), library)
        content = path.read_bytes()
    print(f"stripped size: {len(content)} bytes = {len(content) / 1024:.1f} KiB (limit {SIZE_LIMIT // 1024} KiB)")
    problems = []
    if len(content) > SIZE_LIMIT:
        problems.append("too large")
    if source_dir.encode() in content:
        problems.append(f"{source_dir} is compiled in")
    return problems


def version(library: str, project_version: str, header: str) -> list[str]:
    """The version is the same in the header, the build and the file's name."""
    text = Path(header).read_text()
    parts = [re.search(rf"#define TJ_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    in_header = ".".join(match.group(1) if match else "?" for match in parts)
    problems = []
    if in_header != project_version:
        problems.append(f"version.h says {in_header}, CMakeLists.txt {project_version}")
    if not Path(library).resolve().name.endswith(f".so.{project_version}"):
        problems.append(f"the file is {Path(library).resolve().name}")
    return problems


CHECKS: dict[str, Callable[..., list[str]]] = {
    "exports": exports,
    "needed": needed,
    "elf_flags": elf_flags,
    "no_cxx": no_cxx,
    "guest": guest,
    "stripped": stripped,
    "version": version,
}


def main(arguments: list[str]) -> int:
    problems = CHECKS[arguments[0]](*arguments[1:])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
