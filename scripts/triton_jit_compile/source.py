# SPDX-License-Identifier: Apache-2.0
"""Source files, read once: the bytes that are stamped are the bytes that are compiled."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import linecache
import os
from dataclasses import dataclass
from types import CodeType

from .errors import Failure, os_error_text

_READ_ATTEMPTS = 5


@dataclass(frozen=True)
class SourceFile:
    """One module's source: its bytes and the stamp of the file they came from."""

    module: str  # the dotted name that user code imports it by
    path: str  # real path, or the name given to a text from memory
    data: bytes
    sha256: str
    package: bool  # an __init__.py
    on_disk: bool  # False: text from memory, nothing to compare with
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0

    def stamp(self) -> dict[str, object]:
        """The file's entry in a record."""
        return {
            "path": self.path,
            "size": self.size,
            "mtime_ns": str(self.mtime_ns),
            "inode": str(self.inode),
            "sha256": self.sha256,
        }


def from_memory(module: str, name: str, data: bytes) -> SourceFile:
    """A source text that is not in a file."""
    return SourceFile(module, name, data, hashlib.sha256(data).hexdigest(), False, False, len(data))


def read_source(module: str, path: str, package: bool) -> SourceFile:
    """Read a file and its stamp; raises OSError.

    An edit between the two looks at the file would pair one version's stamp with the other's
    bytes, so the stamp is taken before and after, from the open file.
    """
    for _ in range(_READ_ATTEMPTS):
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            data = file.read()
            after = os.fstat(file.fileno())
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and len(data) == after.st_size:
            break
    return SourceFile(
        module=module,
        path=path,
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        package=package,
        on_disk=True,
        size=after.st_size,
        mtime_ns=after.st_mtime_ns,
        inode=after.st_ino,
    )


def reread(file: SourceFile) -> SourceFile | None:
    """The same file with a fresh stamp if its content is unchanged, else None.

    Content decides, not the stamp: two edits within one tick of the file system's clock can leave
    size, time and inode as they were.
    """
    if not file.on_disk:
        return file
    try:
        now = read_source(file.module, file.path, file.package)
    except OSError:
        return None
    return now if now.sha256 == file.sha256 else None


def check_is_python(source: SourceFile) -> None:
    """Raise Failure unless the bytes are Python source text."""
    where, data = source.path, source.data
    kind = ""
    if data[:4] == b"\x7fELF":
        kind = "a compiled shared object"
    elif data[2:4] == b"\r\n" and where.endswith((".pyc", ".pyo")):
        kind = "Python bytecode"
    elif b"\0" in data:
        kind = "a binary file"
    if not kind:
        try:
            importlib.util.decode_source(data)
            return
        except (SyntaxError, UnicodeDecodeError) as error:
            kind = f"not decodable as Python source ({error})"
    raise Failure(
        "E_SOURCE_NOT_PYTHON",
        f"{where} is {kind}. Triton compiles from source text: give the .py file that holds the kernel.",
    )


def compile_source(source: SourceFile) -> CodeType:
    """Byte-compile exactly the bytes of ``source``; raises SyntaxError."""
    try:
        return compile(source.data, source.path, "exec", dont_inherit=True)
    except ValueError as error:  # null bytes, before Python 3.12
        raise SyntaxError(str(error), (source.path, 0, 0, None)) from None


def show_to_inspect(source: SourceFile, pinned: bool) -> None:
    """Give ``inspect`` (and so Triton) the text of ``source`` under its path.

    While a module loads the entry is pinned: no look at the disk can replace it. Afterwards it
    carries the file's stamp, so that other users of ``linecache`` see later edits.
    """
    try:
        text = importlib.util.decode_source(source.data)
    except (SyntaxError, UnicodeDecodeError):
        return
    lines = io.StringIO(text).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    mtime = None if pinned or not source.on_disk else source.mtime_ns / 1e9
    linecache.cache[source.path] = (source.size, mtime, lines, source.path)


def not_found(path: str, error: OSError) -> Failure:
    """A failure that says why a source file cannot be read."""
    return Failure("E_SOURCE_NOT_FOUND", f"cannot read the kernel source {path}: {os_error_text(error)}")
