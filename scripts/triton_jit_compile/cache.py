# SPDX-License-Identifier: Apache-2.0
"""Triton's disk cache stays in use; where it cannot be, a compile uses a folder of its own.

The private folder lives for one compile: its result is in memory then. It is chosen per thread,
through the name by which ``triton.compile`` looks its cache up, so other users of Triton in the
process keep theirs, and no environment variable changes.
"""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import Failure, os_error_text
from .triton_api import TritonApi

_thread = threading.local()
_lock = threading.Lock()
_patched = False
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the last resort when no temporary folder can be written


def cache_folder(api: TritonApi) -> str:
    """The folder that Triton keeps its artifacts in."""
    if api.knobs is not None:
        return str(api.knobs.cache.dir)
    return os.environ.get("TRITON_CACHE_DIR") or os.path.expanduser("~/.triton/cache")


def has_own_manager(api: TritonApi) -> bool:
    """True if the user replaced the cache by another kind (TRITON_CACHE_MANAGER)."""
    if api.knobs is not None:
        return api.knobs.cache.manager_class is not None
    return bool(os.environ.get("TRITON_CACHE_MANAGER"))


def why_unusable(api: TritonApi) -> str:
    """Why the cache folder cannot be written right now; '' if it can."""
    if has_own_manager(api):
        return ""
    folder = cache_folder(api)
    if not os.path.isabs(folder) and folder.startswith("~"):
        return "HOME is not set"  # expanduser gave up: the path would be relative to the current folder
    probe = os.path.join(folder, f".write-test-{os.getpid()}-{uuid.uuid4()}")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(probe, "wb") as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        return f"{folder}: {os_error_text(error)}"
    finally:
        try:
            os.unlink(probe)
        except OSError:
            pass
    return ""


def _patch(api: TritonApi) -> None:
    global _patched
    with _lock:
        if _patched:
            return
        _patched = True
        shared = api.compiler.get_cache_manager

        def get_cache_manager(key: str) -> Any:
            folder = getattr(_thread, "folder", None)
            return shared(key) if folder is None else _manager_in(shared, key, folder)

        api.compiler.get_cache_manager = get_cache_manager


def _manager_in(shared: Any, key: str, folder: str) -> Any:
    from triton.runtime.cache import FileCacheManager

    manager = object.__new__(FileCacheManager)
    manager.key = key
    manager.cache_dir = os.path.join(folder, key)
    manager.lock_path = os.path.join(manager.cache_dir, "lock")
    os.makedirs(manager.cache_dir, exist_ok=True)
    return manager


@contextmanager
def private_cache(api: TritonApi) -> Iterator[None]:
    """Within the block, the calling thread's compiles use a folder that is removed afterwards."""
    _patch(api)
    holder = _temporary_folder()
    outer = getattr(_thread, "folder", None)
    _thread.folder = holder.name
    try:
        yield
    finally:
        _thread.folder = outer
        holder.cleanup()


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    problem: OSError | None = None
    for parent in (None, _SHARED_MEMORY):
        try:
            return tempfile.TemporaryDirectory(prefix="triton-jit-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            problem = problem or error
    raise Failure(
        "E_IO",
        f"neither Triton's cache folder nor a temporary folder can be written ({os_error_text(problem)}); "
        "set TRITON_CACHE_DIR or TMPDIR to a writable folder",
    ) from None


def discard(api: TritonApi, artifact_hash: str, name: str) -> None:
    """Remove an artifact from the disk cache (best effort): it must not be served again."""
    try:
        manager = api.compiler.get_cache_manager(artifact_hash)
        path = manager.get_file(f"__grp__{name[:150]}.json")
        if path:
            os.unlink(path)
    except (OSError, RuntimeError):
        pass
