# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the C compiler."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import CompilerFailed, CompilerMissing, ScratchFolder

# Numbers are IEEE and signed overflow wraps; never -ffast-math, whose start-up code changes
# the floating-point mode of the process that loads the object.
FLAGS = (
    "-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off",
    "-fno-strict-overflow", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math", "-w",
)  # fmt: skip

KEEP = "TRITON_JIT_CPU_KEEP"


def debug_flags(debug: bool = False) -> tuple[str, ...]:
    """Line tables, which cost a compile a hundredth of its time.

    Code that is kept has its variables too (a third); with the option ``debug`` it is not optimised away either.
    """
    if not keep_folder():
        return ("-g1",)
    return ("-g", "-O0") if debug else ("-g",)


def keep_folder() -> str:
    """Where generated code is kept; "" if it is not."""
    folder = os.environ.get(KEEP)
    return os.path.abspath(folder) if folder else ""


# The oldest that compile it: GCC 8 is the first whose -fno-strict-overflow makes signed overflow wrap
# and that has "unroll"; the loop pragmas of Clang 8 and its vector builtins are those of today.
OLDEST = {"GCC": 8, "Clang": 8}

_INSTALL = (
    (("debian", "ubuntu"), "apt-get install gcc libc6-dev"),
    (("fedora", "rhel", "centos", "rocky", "almalinux", "openeuler", "anolis"), "dnf install gcc glibc-devel"),
    (("alpine",), "apk add gcc musl-dev"),
    (("arch",), "pacman -S gcc"),
    (("suse", "opensuse", "sles"), "zypper install gcc glibc-devel"),
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the command in front of the flags, what it says it is, a digest of what
    -march=native means to it ("": it does not take the flag), and whether vectors of 64 bytes
    are the best (compilers prefer 32, for processors that slow down for wide ones; those with
    AVX512_BF16 do not)."""

    command: tuple[str, ...]
    identity: str
    isa: str
    wide: bool = False


def find_compiler(asked: str | None = None) -> Compiler:
    """The compiler to use: the one asked for, TRITON_JIT_CC, CC, cc, gcc, clang."""
    choices = (
        ("the option cc", asked),
        ("TRITON_JIT_CC", os.environ.get("TRITON_JIT_CC")),
        ("CC", os.environ.get("CC")),
    )
    for origin, text in choices:
        if text and text.strip():
            command = _command(text)
            found = _resolve(command[0])
            if found is None:
                raise CompilerMissing(
                    f"{origin} names the C compiler '{text}', which is not an executable on this machine"
                )
            return _inspect((found, *command[1:]), _stamp(found))
    for name in ("cc", "gcc", "clang"):
        found = _resolve(name)
        if found is not None:
            return _inspect((found,), _stamp(found))
    raise CompilerMissing(
        "the CPU backend needs a C compiler and found none of cc, gcc, clang on PATH;"
        f" {install_hint()}, or set TRITON_JIT_CC to one"
    )


def install_hint(release: str = "/etc/os-release") -> str:
    """What to type to get a compiler on this system."""
    names: list[str] = []
    try:
        for line in Path(release).read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition("=")
            if key in ("ID", "ID_LIKE"):
                names += value.strip().strip("\"'").lower().split()
    except OSError:
        pass
    for systems, command in _INSTALL:
        if any(name == s or name.startswith(s) for name in names for s in systems):
            return f"install one with: {command}"
    return "install gcc or clang and the C library's headers"


def _command(text: str) -> tuple[str, ...]:
    """The words of a command; a path with spaces that exists is one word."""
    text = text.strip()
    if os.path.isfile(text):
        return (text,)
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return (text,)


def _resolve(name: str) -> str | None:
    return shutil.which(name)


def _stamp(path: str) -> tuple[int, int]:
    info = os.stat(path)
    return info.st_mtime_ns, info.st_size


def _environment() -> dict[str, str]:
    """The compiler's environment: ours, with messages in plain English."""
    env = dict(os.environ)
    env["LC_ALL"] = "C"
    return env


@functools.lru_cache(maxsize=16)
def _inspect(command: tuple[str, ...], stamp: tuple[int, int]) -> Compiler:
    """Asks a compiler who it is and what -march=native means to it."""
    del stamp  # part of the key: an updated compiler is another one
    version = _ask([*command, "--version"])
    if version is None:
        raise CompilerMissing(f"the C compiler '{shlex.join(command)}' could not be run")
    predefined = ["-dM", "-E", "-x", "c", os.devnull]
    macros = _ask([*command, "-march=native", *predefined])
    _check_age(command, macros or _ask([*command, *predefined]) or "")
    # Without -march=native (some architectures, cross compilers) there is no more than the default.
    isa = hashlib.sha256((macros + platform.machine()).encode()).hexdigest() if macros is not None else ""
    return Compiler(command, version, isa, "__AVX512BF16__" in (macros or ""))


def _check_age(command: tuple[str, ...], macros: str) -> None:
    """Refuses a compiler that is known to be too old; of one that tells nothing the compile will show it."""
    words = [line.split() for line in macros.splitlines()]
    defined = {w[1]: w[2] for w in words if len(w) > 2}
    name, macro = ("Clang", "__clang_major__") if "__clang_major__" in defined else ("GCC", "__GNUC__")
    version = defined.get(macro, "")
    if not version.isdigit() or int(version) >= OLDEST[name]:
        return
    minor = defined.get("__clang_minor__" if name == "Clang" else "__GNUC_MINOR__", "0")
    needed = " or ".join(f"{each} {oldest}" for each, oldest in OLDEST.items())
    raise CompilerMissing(
        f"the C compiler '{shlex.join(command)}' is {name} {version}.{minor}; the CPU backend needs {needed} or newer:"
        f" {install_hint()}, or set TRITON_JIT_CC to a newer one"
    )


def _ask(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def compile_shared(c: str, compiler: Compiler, name: str, debug: bool = False) -> bytes:
    """Compiles C text to the bytes of a shared object."""
    folder = scratch_folder()
    try:
        source = os.path.join(folder, f"{_file_name(name)}.c")
        target = os.path.join(folder, f"{_file_name(name)}.so")
        try:
            with open(source, "w", encoding="utf-8") as file:
                file.write(c)
        except OSError as error:
            raise ScratchFolder(f"cannot write the generated C to {source}: {error.strerror}") from error
        flags = FLAGS if compiler.isa else tuple(f for f in FLAGS if f != "-march=native")
        flags += ("-mprefer-vector-width=512",) * compiler.wide
        flags += (*debug_flags(debug), f"-fdebug-prefix-map={folder}=.")
        command = [*compiler.command, *flags, source, "-o", target, "-lm"]
        env = _environment()
        env["TMPDIR"] = folder
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env)
        except OSError as error:
            raise CompilerMissing(
                f"the C compiler '{shlex.join(compiler.command)}' could not be run: {error}"
            ) from error
        # Where the host ignores SIGCHLD the exit status is lost; a missing file then says it.
        if done.returncode != 0 or not os.path.isfile(target):
            output = (done.stderr + done.stdout).decode("utf-8", "replace")
            raise CompilerFailed(command, done.returncode, output)
        try:
            with open(target, "rb") as file:
                return file.read()
        except OSError as error:
            raise ScratchFolder(f"cannot read the compiled object {target}: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep(c: str, name: str) -> None:
    """Keeps the generated C in the folder TRITON_JIT_CPU_KEEP, if that is set. (The library keeps the objects.)"""
    folder = keep_folder()
    if not folder:
        return
    path = os.path.join(folder, f"{_file_name(name)}-{hashlib.sha256(c.encode()).hexdigest()[:8]}.c")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(c)
    except OSError as error:
        raise ScratchFolder(f"{KEEP}: cannot write {path}: {error.strerror}") from error


def scratch_folder() -> str:
    """A fresh private folder for temporary files, in the first place that can be written."""
    tried = []
    for place in dict.fromkeys(_places()):
        try:
            return tempfile.mkdtemp(prefix="triton_jit_cpu_", dir=place)
        except OSError as error:
            tried.append(f"{place} ({error.strerror})")
    raise ScratchFolder(
        "no folder for temporary files can be written; set TMPDIR to one that can. Tried: " + ", ".join(tried)
    )


def _places() -> Iterator[str]:
    for variable in ("TMPDIR", "TEMP", "TMP"):
        place = os.environ.get(variable)
        if place:
            yield place
    yield from ("/tmp", "/var/tmp", "/dev/shm")
    for variable in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"):
        place = os.environ.get(variable)
        if place:
            yield place
    try:
        yield os.getcwd()
    except OSError:
        return


def _file_name(name: str) -> str:
    short = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:80]
    return short or "kernel"
