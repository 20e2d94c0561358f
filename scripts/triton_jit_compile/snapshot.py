# SPDX-License-Identifier: Apache-2.0
"""Functions: a kernel together with the sources it was loaded from, known by an id.

The id is a hash over names and contents, so a function can be asked for in another process: the
serialised snapshot carries every text, and loading it there gives the same id.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any

from . import source as source_files
from .errors import Failure, from_source_error
from .inspection import find_function, reached_files
from .locate import Location, is_installed, locate, text_location
from .output import warn
from .protocol import MalformedMessage, decode_message, encode_message
from .source import SourceFile
from .space import LOAD_LOCK, ModuleSpace, is_private, loading
from .triton_api import TritonApi


@dataclass
class Function:
    """A JIT function that stays as it was loaded."""

    id: str
    name: str
    location: Location
    module: str
    jit: Any
    tuned: list[str]
    files: dict[str, SourceFile]

    def serialise(self) -> bytes:
        """Everything that recreates the function in another process."""
        header = {
            "v": 1,
            "name": self.name,
            "location": vars(self.location),
            "files": [
                {"module": file.module, "path": file.path, "package": file.package, "on_disk": file.on_disk}
                for file in self.files.values()
            ],
        }
        return encode_message(header, [(str(i), file.data) for i, file in enumerate(self.files.values())])


_functions: dict[str, Function] = {}
_latest: dict[tuple[str, str, str, str], str] = {}  # what was asked for -> the id it had last
_spaces: dict[tuple[str, str, str], ModuleSpace] = {}
_installed: dict[str, SourceFile] = {}


def known(function_id: str) -> Function | None:
    """The function with this id, if this process has loaded it."""
    return _functions.get(function_id)


def make_id(path: str, name: str, files: dict[str, SourceFile]) -> str:
    """Hash of what a function is: real path, name, and every file's path and content."""
    digest = hashlib.sha256()
    fields = [path, name]
    for file in sorted(files.values(), key=lambda file: (file.path, file.module)):
        fields += [file.path, file.sha256]
    for field in fields:
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def open_function(api: TritonApi, source: str, name: str, text: bytes | None) -> Function:
    """Load a function, or find it loaded and unchanged; raises Failure."""
    with LOAD_LOCK:
        location = locate(source) if text is None else text_location(source)
        main = _main_source(location, text)
        asked = (location.kind, location.path, main.sha256 if text is not None else "", name)
        before = _functions.get(_latest.get(asked, ""))
        if before is not None and _refresh(before):
            return before
        if location.kind == "installed":
            function = _from_installed(api, location, name)
        else:
            function = _from_space(api, location, name, _space_for(location, main))
        _latest[asked] = function.id
        _refresh(function)  # stamps as of now: the function may have come from a snapshot
        return function


def recreate(api: TritonApi, function_id: str, serialised: bytes) -> Function:
    """Load a function from its snapshot, whatever is on the disk now; raises Failure."""
    with LOAD_LOCK:
        function = _functions.get(function_id)
        if function is not None:
            return function
        location, name, files = _parse(serialised)
        if make_id(location.path, name, files) != function_id:
            raise Failure(
                "E_INTERNAL", f"the snapshot sent for function {function_id} is another function's or damaged"
            )
        key = _space_key(location)
        space = _spaces.get(key)
        if space is None or not space.accepts(files):
            space = ModuleSpace(location, files)
            _spaces.setdefault(key, space)
        space.pinned.update(files)
        return _from_space(api, location, name, space, function_id, files)


def _parse(serialised: bytes) -> tuple[Location, str, dict[str, SourceFile]]:
    try:
        header, sections = decode_message(serialised)
        files: dict[str, SourceFile] = {}
        for number, entry in enumerate(header["files"]):
            data = sections[str(number)]
            files[entry["module"]] = SourceFile(
                module=entry["module"],
                path=entry["path"],
                data=data,
                sha256=hashlib.sha256(data).hexdigest(),
                package=entry["package"],
                on_disk=entry["on_disk"],
                size=len(data),
            )
        return Location(**header["location"]), header["name"], files
    except (MalformedMessage, KeyError, TypeError) as error:
        raise Failure("E_INTERNAL", f"a snapshot does not parse: {error}") from None


def _main_source(location: Location, text: bytes | None) -> SourceFile:
    if text is not None:
        main = source_files.from_memory(location.module, location.path, text)
    else:
        try:
            main = source_files.read_source(location.module, location.path, location.path.endswith("__init__.py"))
        except OSError as error:
            raise source_files.not_found(location.path, error) from None
    source_files.check_is_python(main)
    return main


def _refresh(function: Function) -> bool:
    """True if the function's files have not changed; takes over new stamps."""
    fresh = {}
    for name, file in function.files.items():
        now = source_files.reread(file)
        if now is None and file.path in _installed:
            warn(f"{file.path} changed after it was imported; its old version stays in use until a restart")
            now = file
        if now is None:
            return False
        fresh[name] = now
    function.files = fresh
    return True


def _space_key(location: Location) -> tuple[str, str, str]:
    if location.kind in ("package", "installed"):
        return ("package", location.folder, location.module.partition(".")[0])
    return (location.kind, location.path, "")


def _space_for(location: Location, main: SourceFile) -> ModuleSpace:
    """The space to load from: the one there is, as long as its files are unchanged."""
    if location.kind == "package":
        _check_conflict(location)
    key = _space_key(location)
    space = _spaces.get(key)
    if space is None or not space.accepts({main.module: main}) or not space.unchanged():
        if space is not None and not space.used:
            space.forget()
        space = ModuleSpace(location, {main.module: main})
        _spaces[key] = space
    space.pinned.setdefault(main.module, main)
    return space


def _check_conflict(location: Location) -> None:
    """Refuse a package whose name another package has taken in this process."""
    parts = location.module.split(".")
    folder = location.folder
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        module = sys.modules.get(name)
        if module is None:
            continue
        loaded = getattr(module, "__file__", None)
        if loaded:
            stem = "/".join([folder, *parts[:depth]])
            if os.path.realpath(loaded) in (os.path.realpath(f"{stem}.py"), os.path.realpath(f"{stem}/__init__.py")):
                continue
            there = loaded
        else:
            paths = [os.path.realpath(entry) for entry in getattr(module, "__path__", ())]
            if os.path.realpath("/".join([folder, *parts[:depth]])) in paths:
                continue
            there = ", ".join(paths) or "a built-in module"
        raise Failure(
            "E_MODULE_CONFLICT",
            f"{location.path} is module '{location.module}', but '{name}' is already loaded in this process from "
            f"{there}. Rename one of the two packages, or compile in a worker process.",
        )


def _from_space(
    api: TritonApi,
    location: Location,
    name: str,
    space: ModuleSpace,
    function_id: str = "",
    files: dict[str, SourceFile] | None = None,
) -> Function:
    try:
        with loading(space):
            module = space.load(location.module)
            jit, tuned = find_function(api, module, name, location.path)
    except Failure:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of the source too
        if not space.used:
            space.forget()
            if _spaces.get(_space_key(location)) is space:
                del _spaces[_space_key(location)]
        raise from_source_error(error, location.path) from error
    space.used = True
    if files is None:
        files = space.closure(location.module)
        files.update(_installed_files(api, jit, files))
        function_id = make_id(location.path, name, files)
    return _functions.setdefault(function_id, Function(function_id, name, location, module.__name__, jit, tuned, files))


def _from_installed(api: TritonApi, location: Location, name: str) -> Function:
    """A function of an installed package: imported as everybody imports it."""
    try:
        module = importlib.import_module(location.module)
        jit, tuned = find_function(api, module, name, location.path)
    except Failure:
        raise
    except BaseException as error:  # noqa: BLE001 - as in _from_space
        raise from_source_error(error, location.path) from error
    files = _installed_files(api, jit, {})
    main = _installed_file(location.module, location.path)
    files.setdefault(main.module, main)
    function_id = make_id(location.path, name, files)
    return _functions.setdefault(function_id, Function(function_id, name, location, module.__name__, jit, tuned, files))


def _installed_files(api: TritonApi, jit: Any, have: dict[str, SourceFile]) -> dict[str, SourceFile]:
    """The files of installed packages (Triton's own apart) that define a function the kernel reaches."""
    paths = {file.path for file in have.values()}
    files: dict[str, SourceFile] = {}
    for module_name, path in reached_files(api, jit):
        module = sys.modules.get(module_name)
        if path in paths or (module is not None and is_private(module)) or not is_installed(path):
            continue
        try:
            files[module_name] = _installed_file(module_name, path)
        except OSError:
            continue
    return files


def _installed_file(module: str, path: str) -> SourceFile:
    """A file of an installed package as it was when it was first looked at.

    The interpreter imports an installed package once, so later content is not what runs.
    """
    file = _installed.get(path)
    if file is None:
        file = _installed[path] = source_files.read_source(module, path, path.endswith("__init__.py"))
    return file
