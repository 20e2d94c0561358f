# SPDX-License-Identifier: Apache-2.0
"""From the ``source`` of a request (a path or a dotted name) to a file and the module it is."""

from __future__ import annotations

import importlib.machinery
import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache

from .errors import Failure, os_error_text

_SCRIPTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_OWN_FOLDERS = tuple(os.path.join(_SCRIPTS, name, "") for name in ("triton_jit_compile", "triton_jit_cpu"))
_OTHER_SUFFIXES = (".pyc", ".pyo", *importlib.machinery.EXTENSION_SUFFIXES, ".so", ".pyd")


MAIN = "<main>"  # the module of a loose file: no import statement can name it


@dataclass(frozen=True)
class Location:
    """Where a kernel's source is and how its module is loaded.

    ``kind`` is ``file`` (a loose file: private module name), ``package`` (real dotted name),
    ``installed`` (the interpreter's own import) or ``text`` (from memory).
    """

    kind: str
    path: str
    module: str  # dotted name; MAIN for a loose file
    folder: str  # searched for the modules that it imports; '' for a text from memory


@lru_cache(maxsize=1)
def _standard_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({os.path.realpath(paths[key]) + os.sep for key in ("stdlib", "platstdlib") if paths.get(key)})


def _installed_folders() -> tuple[str, ...]:
    """The folders that packages are installed into (sys.path can grow, so not cached)."""
    paths = sysconfig.get_paths()
    folders = {paths.get("purelib"), paths.get("platlib")}
    folders.update(getattr(site, "getsitepackages", list)())
    folders.add(getattr(site, "USER_SITE", None))
    folders.update(entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages"))
    triton = sys.modules.get("triton")
    if triton is not None and getattr(triton, "__file__", None):
        folders.add(os.path.dirname(triton.__file__))
    return tuple(os.path.realpath(folder) + os.sep for folder in folders if folder)


def is_installed(path: str) -> bool:
    """True for the standard library, installed packages, Triton and this package itself."""
    real = os.path.realpath(path)
    return real.startswith((*_installed_folders(), *_OWN_FOLDERS, *_standard_folders()))


def looks_like_path(source: str) -> bool:
    """True if ``source`` names a file rather than a module."""
    return os.sep in source or source.endswith((".py", *_OTHER_SUFFIXES)) or os.path.isfile(source)


def locate(source: str) -> Location:
    """Find the source; raises Failure."""
    if not source or "\0" in source:
        raise Failure("E_SOURCE_NOT_FOUND", "the kernel source is empty: give a .py path or a dotted module name")
    return _locate_path(source) if looks_like_path(source) else _locate_module(source)


def text_location(name: str) -> Location:
    """The location of a source text from memory, known by ``name`` only."""
    return Location("text", name, MAIN, "")


def _locate_path(source: str) -> Location:
    path = os.path.realpath(source)
    try:
        os.stat(path)
    except OSError as error:
        raise Failure("E_SOURCE_NOT_FOUND", f"no kernel source at {path}: {os_error_text(error)}") from None
    if os.path.isdir(path):
        raise Failure("E_SOURCE_NOT_FOUND", f"{path} is a folder: give the .py file in it that holds the kernel")
    if path.endswith(_OTHER_SUFFIXES):
        raise Failure(
            "E_SOURCE_NOT_PYTHON",
            f"{path} is compiled code. Triton compiles from source text: give the .py file that holds the kernel.",
        )
    folder, names = _package_of(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    if not names:
        return Location("file", path, MAIN, folder)
    if stem != "__init__":
        names.append(stem)
    module = ".".join(names)
    if is_installed(path) and _plain_find(module) == path:
        return Location("installed", path, module, folder)
    return Location("package", path, module, folder)


def _package_of(path: str) -> tuple[str, list[str]]:
    """The folder above the outermost package that holds ``path``, and the package's dotted name."""
    folder, names = os.path.dirname(path), []
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parent, name = os.path.split(folder)
        if not name or not name.isidentifier():
            break
        names.insert(0, name)
        folder = parent
    return folder, names


def find_spec(name: str, skip: object = None) -> importlib.machinery.ModuleSpec | None:
    """Ask the interpreter's finders for a top-level module, without importing anything."""
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if finder is skip or find is None:
            continue
        try:
            spec = find(name, None)
        except ImportError:
            spec = None
        if spec is not None:
            return spec
    return None


def find_in(folders: list[str], name: str) -> importlib.machinery.ModuleSpec | None:
    """Look for a module in folders, without importing its parents.

    The finder gets the last part of the name only: for the parts of a namespace package it would
    look the parent up in ``sys.modules``.
    """
    return importlib.machinery.PathFinder.find_spec(name.rpartition(".")[2], folders)


def is_namespace(spec: importlib.machinery.ModuleSpec) -> bool:
    """True for a package without __init__.py."""
    return spec.origin is None and spec.submodule_search_locations is not None


def namespace_folders(name: str, search: list[str]) -> list[str]:
    """The folders of a namespace package (its spec's own list works only while it is imported)."""
    folders = [os.path.join(entry or os.getcwd(), name.rpartition(".")[2]) for entry in search]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def _spec_of(module: str) -> importlib.machinery.ModuleSpec | None:
    """The spec of a dotted name, found from folder to folder without importing its parents."""
    path: list[str] | None = None
    name = ""
    spec = None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = find_spec(name) if path is None else find_in(path, name)
        if spec is None:
            return None
        if is_namespace(spec):
            path = namespace_folders(name, sys.path if path is None else path)
        else:
            path = list(spec.submodule_search_locations or [])
    return spec


def _plain_find(module: str) -> str | None:
    spec = _spec_of(module)
    return os.path.realpath(spec.origin) if spec is not None and spec.origin else None


def _locate_module(module: str) -> Location:
    if not all(part.isidentifier() for part in module.split(".")):
        raise Failure(
            "E_SOURCE_NOT_FOUND",
            f"'{module}' is neither a file nor a dotted module name: give a .py path or, say, package.module",
        )
    spec = _spec_of(module)
    if spec is None:
        searched = "".join(f"\n    {entry or '.'}" for entry in sys.path)
        raise Failure("E_SOURCE_NOT_FOUND", f"no module '{module}' (and no such file). Searched:{searched}")
    if spec.origin is None or spec.origin in ("built-in", "frozen", "namespace"):
        raise Failure(
            "E_SOURCE_NOT_PYTHON", f"module '{module}' has no source file: give the module that holds the kernel"
        )
    if not spec.origin.endswith(".py"):
        raise Failure(
            "E_SOURCE_NOT_PYTHON",
            f"module '{module}' is {spec.origin}, not Python source. Triton compiles from source text.",
        )
    path = os.path.realpath(spec.origin)
    if is_installed(path):
        return Location("installed", path, module, "")
    if "." not in module and not spec.submodule_search_locations:
        return Location("file", path, MAIN, os.path.dirname(path))
    folder = os.path.dirname(path)
    depth = module.count(".") + (1 if spec.submodule_search_locations else 0)
    for _ in range(depth):
        folder = os.path.dirname(folder)
    return Location("package", path, module, folder)
