# SPDX-License-Identifier: Apache-2.0
"""Module spaces: the user modules of a kernel, loaded from exactly the bytes that were stamped.

A space holds its own module objects. User code reaches them because its ``__builtins__`` carry the
space's ``__import__``: user modules (those that are neither the standard library nor installed)
come from the space, everything else from the interpreter's own import. So an edit makes a new
space while functions of the old one keep their code, two files with one name do not meet, and no
file can shadow a real module.

In ``sys.modules`` the modules sit under names that nobody else uses. Only those of the package that
a space is for have their real names, unless the host has its own module there or the interpreter
would find another package of that name.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

from . import source as source_files
from .locate import MAIN, Location, find_in, find_spec, is_installed, is_namespace, namespace_folders
from .source import SourceFile

LOAD_LOCK = threading.RLock()
_PREFIX = "triton_jit_source_"
_prefixes: set[str] = set()  # in use
_NEVER_PRIVATE = frozenset(("triton", "triton_jit_compile", "triton_jit_cpu", "standalone_compile"))


class SpaceLoader:
    """The ``__loader__`` of a private module: serves its text, and hands it out to ``importlib``."""

    def __init__(self, space: ModuleSpace, name: str, source: SourceFile | None) -> None:
        self.space = space
        self._name = name
        self._source = source

    def get_source(self, fullname: str) -> str:
        """The module's text, for ``inspect`` and ``linecache``."""
        if self._source is None:
            raise ImportError(f"{fullname} is a namespace package", name=fullname)
        return importlib.util.decode_source(self._source.data)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that is loaded already."""
        return self.space.modules[self._name]

    def exec_module(self, module: ModuleType) -> None:
        """It has run already."""


class ModuleSpace:
    """The private modules that belong to one file or one package."""

    def __init__(self, location: Location, pinned: dict[str, SourceFile] | None = None) -> None:
        self.location = location
        self.files: dict[str, SourceFile] = {}
        self.pinned = dict(pinned or {})  # module name -> the source to use, whatever the disk says
        self.modules: dict[str, ModuleType] = {}
        self._imports: dict[str, set[str]] = {}
        self._executing: list[str] = []
        self._public: dict[str, str] = {}  # internal name -> the name user code knows
        self._ordinary: dict[str, bool] = {}  # top-level name -> left to the interpreter
        self._prefix = self._unique_prefix()
        self._real_top = location.module.partition(".")[0] if _may_have_real_names(location) else ""
        self._stem = os.path.splitext(os.path.basename(location.path))[0] if location.kind == "file" else ""
        self.used = False  # a function came of it
        self._builtins = dict(vars(builtins))
        self._builtins["__import__"] = self._import

    def _unique_prefix(self) -> str:
        main = self.pinned.get(self.location.module)
        content = main.sha256 if main is not None else ""
        digest = hashlib.sha256(f"{self.location.path}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        prefix, number = f"{_PREFIX}{digest}", 1
        while prefix in _prefixes:
            number += 1
            prefix = f"{_PREFIX}{digest}_{number}"
        _prefixes.add(prefix)
        return prefix

    def forget(self) -> None:
        """Take the space's modules out of ``sys.modules`` (no function came of it)."""
        for internal in self._public:
            module = sys.modules.get(internal)
            if module is not None and _owner(module) is self:
                del sys.modules[internal]
        _prefixes.discard(self._prefix)

    # -- what is loaded -------------------------------------------------------------------------

    def closure(self, module: str) -> dict[str, SourceFile]:
        """The source files that ``module`` depends on: parents and imports, transitively."""
        todo, seen = [module], set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo.extend(self._imports.get(name, ()))
            if "." in name:
                todo.append(name.rpartition(".")[0])
        return {name: file for name, file in self.files.items() if name in seen}

    def accepts(self, files: dict[str, SourceFile]) -> bool:
        """True if ``files`` do not contradict what the space holds."""
        known = {**self.pinned, **self.files}
        return all(name not in known or known[name].sha256 == file.sha256 for name, file in files.items())

    def unchanged(self) -> bool:
        """True if every file of the space still has the content that was loaded."""
        return all(source_files.reread(file) is not None for file in self.files.values())

    # -- loading --------------------------------------------------------------------------------

    def load(self, name: str) -> ModuleType:
        """The module that user code knows as ``name``; raises what its source raises."""
        module = self.modules.get(name)
        if module is not None:
            return module
        with LOAD_LOCK:
            parent_name, _, child = name.rpartition(".")
            parent = self.load(parent_name) if parent_name else None
            if name in self.modules:  # loaded by its parent
                return self.modules[name]
            if name == self._stem and MAIN in self.modules and self._find_top(name) is None:
                return self.modules[MAIN]  # a neighbour imports the kernel's own file
            found = self._find(name, parent)
            if found is None:
                return importlib.import_module(name)
            module = self._create(name, found, parent)
            if parent is not None and _owner(parent) is not None:
                setattr(parent, child, module)
            return module

    def _find(self, name: str, parent: ModuleType | None) -> SourceFile | ModuleSpec | None:
        """The private source of a module; None if the interpreter's own import is to find it."""
        if name in self.pinned:
            return self.pinned[name]
        if parent is None:
            if self._is_ordinary(name):
                return None
            spec = self._find_top(name)
        elif _owner(parent) is None:
            return None
        elif not hasattr(parent, "__path__"):
            raise ModuleNotFoundError(
                f"No module named {name!r}; {name.rpartition('.')[0]!r} is not a package", name=name
            )
        else:
            spec = find_in(list(parent.__path__), name)
        if spec is None:
            if self._is_pinned_parent(name):
                return ModuleSpec(name, None, is_package=True)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if isinstance(spec.loader, SourceFileLoader) and spec.origin:
            path = os.path.realpath(spec.origin)
            if is_installed(path):
                return None
            return source_files.read_source(name, path, spec.submodule_search_locations is not None)
        return spec

    def _is_pinned_parent(self, name: str) -> bool:
        return any(pinned.startswith(name + ".") for pinned in self.pinned)

    def _is_ordinary(self, top: str) -> bool:
        """True if the interpreter's own import is to find the top-level module ``top``."""
        known = self._ordinary.get(top)
        if known is None:
            known = self._ordinary[top] = self._decide_ordinary(top)
        return known

    def _decide_ordinary(self, top: str) -> bool:
        if top in sys.stdlib_module_names or top in sys.builtin_module_names or top in _NEVER_PRIVATE:
            return True
        spec = self._find_top(top)
        if spec is None:
            return top != self._stem and not self._is_pinned_parent(top)
        if isinstance(spec.loader, SourceFileLoader):
            return is_installed(spec.origin or "")
        if is_namespace(spec):  # a namespace package: private if part of it is the user's
            near = [self.location.folder] if self.location.folder else []
            return all(is_installed(os.path.join(folder, "x")) for folder in namespace_folders(top, near + sys.path))
        # bytecode or an extension module: private only when it is a neighbour that nobody else finds
        return find_spec(top, skip=_bridge) is not None

    def _find_top(self, name: str) -> ModuleSpec | None:
        """A top-level module: next to the file first, as for a script, then as the interpreter would."""
        near = None
        if self.location.folder:
            near = find_in([self.location.folder], name)
            if near is not None and not self._is_main(near) and not is_namespace(near):
                return near
        spec = find_spec(name, skip=_bridge)
        if spec is not None and not self._is_main(spec):
            return spec
        # a folder without __init__.py counts only where nothing else has the name
        return near if near is not None and is_namespace(near) else None

    def _is_main(self, spec: ModuleSpec) -> bool:
        """True for the loose file itself: json.py that imports json wants the other one."""
        return (
            self.location.kind == "file" and bool(spec.origin) and os.path.realpath(spec.origin) == self.location.path
        )

    def internal_name(self, name: str) -> str:
        """The module's ``__name__`` and its key in ``sys.modules``."""
        if name.partition(".")[0] == self._real_top:
            return name
        return self._prefix if name == MAIN else f"{self._prefix}.{name}"

    def _create(self, name: str, found: SourceFile | ModuleSpec, parent: ModuleType | None) -> ModuleType:
        internal = self.internal_name(name)
        if isinstance(found, SourceFile):
            return self._execute(name, internal, found)
        if found.submodule_search_locations is None:
            module = importlib.util.module_from_spec(found)
            self.modules[name] = module
            try:
                found.loader.exec_module(module)
            except BaseException:
                self.modules.pop(name, None)
                raise
            return module
        module = ModuleType(internal)
        spec = ModuleSpec(internal, SpaceLoader(self, name, None), is_package=True)
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, internal
        if parent is not None:
            module.__path__ = namespace_folders(name, list(parent.__path__))
        else:
            near = [self.location.folder] if self.location.folder else []
            module.__path__ = namespace_folders(name, near + sys.path)
        self._public[internal] = name
        self.modules[name] = module
        self._register(internal, module)
        return module

    def _execute(self, name: str, internal: str, source: SourceFile) -> ModuleType:
        code = source_files.compile_source(source)
        module = ModuleType(internal)
        spec = ModuleSpec(internal, SpaceLoader(self, name, source), origin=source.path, is_package=source.package)
        spec.has_location = source.on_disk
        module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, source.path
        if source.package:
            module.__package__ = internal
            module.__path__ = [os.path.dirname(source.path)]
        else:
            # a top-level module of a loose file has no parent package, as a script has none
            module.__package__ = internal.rpartition(".")[0] if "." in name else ""
        module.__dict__["__builtins__"] = self._builtins
        self._public[internal] = name
        self.modules[name] = module
        self.files[name] = source
        before = self._register(internal, module)
        source_files.show_to_inspect(source, pinned=True)
        self._executing.append(name)
        try:
            exec(code, module.__dict__)  # noqa: S102 - running the user's module is what loading means
        except BaseException:
            self.modules.pop(name, None)
            self.files.pop(name, None)
            if sys.modules.get(internal) is module:
                del sys.modules[internal]
                if before is not None:
                    sys.modules[internal] = before
            raise
        finally:
            self._executing.pop()
        registered = sys.modules.get(internal)
        if before is None and registered is not None and registered is not module and _owner(registered) is None:
            self.modules[name] = registered  # the module replaced itself, as lazy modules do
        return self.modules[name]

    def _register(self, internal: str, module: ModuleType) -> ModuleType | None:
        """Put the module into ``sys.modules`` unless the host's own is there."""
        before = sys.modules.get(internal)
        if before is None or _owner(before) is not None:
            sys.modules[internal] = module
        return before

    # -- __import__ of the user's modules -----------------------------------------------------------

    def _import(
        self,
        name: str,
        globals: dict[str, Any] | None = None,  # noqa: A002 - the signature of __import__
        locals: Any = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> ModuleType:
        importer = self._public.get((globals or {}).get("__name__", ""))
        if level:
            absolute = self._absolute(name, globals, level)
            if absolute is None:
                return builtins.__import__(name, globals, locals, fromlist, level)
        else:
            absolute = name
        top = absolute.partition(".")[0]
        if top not in self.modules and self._is_ordinary(top) and not self._has_pinned(absolute, fromlist):
            if level:
                module = importlib.import_module(absolute)
                return self._resolve_fromlist(module, absolute, fromlist, importer)
            return builtins.__import__(name, globals, locals, fromlist, 0)
        module = self.load(absolute)
        self._record(importer, absolute)
        if fromlist:
            return self._resolve_fromlist(module, absolute, fromlist, importer)
        return self.load(top) if not level else module

    def _has_pinned(self, absolute: str, fromlist: Any) -> bool:
        if not self.pinned:
            return False
        return absolute in self.pinned or any(f"{absolute}.{item}" in self.pinned for item in fromlist or ())

    def _absolute(self, name: str, globals: dict[str, Any] | None, level: int) -> str | None:
        """The public dotted name of a relative import; None if it does not come from this space."""
        package = (globals or {}).get("__package__") or ""
        if package.startswith(self._prefix + "."):
            package = package[len(self._prefix) + 1 :]
        elif not package or package.partition(".")[0] != self._real_top:
            return None  # Python's own message: no known parent package
        parts = package.split(".")
        if level > len(parts):
            return None
        parts = parts[: len(parts) - (level - 1)]
        return ".".join([*parts, name] if name else parts)

    def _resolve_fromlist(self, module: ModuleType, name: str, fromlist: Any, importer: str | None) -> ModuleType:
        """Load the submodules among the names of ``from module import names``."""
        if not hasattr(module, "__path__"):
            return module
        names = list(fromlist or ())
        if "*" in names:
            names = [item for item in names if item != "*"] + list(getattr(module, "__all__", ()))
        for item in names:
            full = f"{name}.{item}"
            if full in self.pinned or not hasattr(module, item):
                try:
                    self.load(full)
                except ModuleNotFoundError as error:
                    if error.name != full:
                        raise
            self._record(importer, full)
        return module

    def _record(self, importer: str | None, imported: str) -> None:
        if importer is not None and imported in self.modules:
            self._imports.setdefault(importer, set()).add(imported)

    # -- importlib.import_module called by user code ---------------------------------------------------

    def bridge(self, fullname: str) -> ModuleType | None:
        """The private module for a name that user code gave to ``importlib``; None: not ours."""
        name = fullname.removeprefix(self._prefix + ".")
        if not self._is_for_bridge(name, name != fullname):
            return None
        module = self.load(name)
        self._record(self._executing[-1] if self._executing else None, name)
        return module

    def _is_for_bridge(self, name: str, internal: bool) -> bool:
        if internal:
            return True
        if "." in name:
            parent = self.modules.get(name.rpartition(".")[0])
            return parent is not None and _owner(parent) is not None and self._find(name, parent) is not None
        # not what an installed module imports, unless nobody else has it
        return not self._is_ordinary(name) and find_spec(name, skip=_bridge) is None


def _may_have_real_names(location: Location) -> bool:
    """True if no other module that the interpreter finds has the name of the location's package."""
    if location.kind == "installed":
        return True
    if location.kind != "package":
        return False
    top = location.module.partition(".")[0]
    if top in sys.modules:  # checked already: it is the same package
        return True
    if top in sys.stdlib_module_names:
        return False
    spec = find_spec(top, skip=_bridge)
    if spec is None or is_namespace(spec):
        return True
    return os.path.realpath(spec.origin or "").startswith(os.path.join(location.folder, top))


def _owner(module: ModuleType) -> ModuleSpace | None:
    """The space that a module is private to; None for everybody else's modules."""
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader.space if isinstance(loader, SpaceLoader) else None


def is_private(module: ModuleType) -> bool:
    """True if the module was loaded by this package."""
    return _owner(module) is not None


class _Bridge:
    """A finder for ``importlib.import_module`` in user code; present only while a space loads."""

    def __init__(self) -> None:
        self.space: ModuleSpace | None = None
        self.thread = 0
        self.names: list[str] = []

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if self.space is None or threading.get_ident() != self.thread:
            return None
        module = self.space.bridge(fullname)
        if module is None:
            return None
        self.names.append(fullname)
        return ModuleSpec(fullname, _Adopt(module))


class _Adopt:
    """A loader that hands out a module that is loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


_bridge = _Bridge()


@contextmanager
def loading(space: ModuleSpace) -> Iterator[None]:
    """Load modules of ``space``: holds the load lock, leaves ``sys.path`` and finders as found."""
    with LOAD_LOCK:
        outer = (_bridge.space, _bridge.thread, _bridge.names)
        path = list(sys.path)
        _bridge.space, _bridge.thread, _bridge.names = space, threading.get_ident(), []
        if outer[0] is None:
            sys.meta_path.insert(0, _bridge)
        try:
            yield
        finally:
            for name in _bridge.names:  # names that only user code of this space knows
                module = sys.modules.get(name)
                if module is not None and module.__name__ != name:
                    del sys.modules[name]
            _bridge.space, _bridge.thread, _bridge.names = outer
            if outer[0] is None and _bridge in sys.meta_path:
                sys.meta_path.remove(_bridge)
            if sys.path != path:
                sys.path[:] = path
            for file in space.files.values():
                source_files.show_to_inspect(file, pinned=False)
