# SPDX-License-Identifier: Apache-2.0
"""Triton's disk cache: shared with Python, and never a reason to fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import BASIC, check_python

COMPILE = f"""
import os, sys, tempfile
from conftest import *
compiler = Compiler(script.handle)
function = compiler.open({BASIC!r}, "add_kernel")
before = dict(os.environ)
reply = compiler.compile(function, ADD_ARGS)
reply.ok()
assert reply.sections["cubin"][:4] == b"\\x7fELF" and reply["metadata"]["name"] == "add_kernel"
assert dict(os.environ) == before
"""
FELL_BACK = (
    COMPILE
    + """
assert compiler.logged().count("cache cannot be used") == 1, compiler.log
assert not [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("triton-jit-")]
assert not reply["cached"]
"""
)
USED = (
    COMPILE
    + """
assert "cache cannot be used" not in compiler.logged(), compiler.log
"""
)


def test_cache_is_used_and_shared_between_processes(tmp_path: Path) -> None:
    folder = tmp_path / "a b" / "\u00fc\"x'"
    for cached in (False, True):
        check_python(USED + f"assert reply['cached'] is {cached}", {"TRITON_CACHE_DIR": str(folder)})
    assert list(folder.rglob("add_kernel.cubin"))


def test_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    check_python(USED, {"TRITON_CACHE_DIR": str(tmp_path / "link")})
    assert list((tmp_path / "real").iterdir())


def test_cache_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    check_python(FELL_BACK, {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)})


def test_read_only_cache(tmp_path: Path) -> None:
    """A folder that nobody can write, root included: /proc has no room for new entries."""
    check_python(FELL_BACK, {"TRITON_CACHE_DIR": "/proc/self/cache", "TMPDIR": str(tmp_path)})


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o555)
    check_python(FELL_BACK, {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)})


def test_no_home(tmp_path: Path) -> None:
    """Without HOME and without an entry in the user data base, '~' stays as it is: never a folder here."""
    check_python(
        """
        import os, pwd
        def nobody(*_):
            raise KeyError("no such user")
        pwd.getpwuid = nobody
        """
        + FELL_BACK.replace("\n", "\n        "),
        {"HOME": None, "TRITON_CACHE_DIR": None, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/full").exists(), reason="needs to mount a small file system")
def test_full_disk(tmp_path: Path) -> None:
    import subprocess

    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", small], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        check_python(FELL_BACK, {"TRITON_CACHE_DIR": str(small), "TMPDIR": str(tmp_path)})
    finally:
        subprocess.run(["umount", small], check=True)


def test_write_that_fails_half_way(tmp_path: Path) -> None:
    """No space left in the middle of a compile: the compile is done again in a folder of its own."""
    check_python(
        """
        import errno
        from triton.runtime.cache import FileCacheManager
        put = FileCacheManager.put
        def full(self, data, filename, binary=True):
            if filename.endswith(".ptx") and "triton-jit-" not in self.cache_dir:
                raise OSError(errno.ENOSPC, "No space left on device")
            return put(self, data, filename, binary)
        FileCacheManager.put = full
        """
        + FELL_BACK.replace("\n", "\n        "),
        {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)},
    )


@pytest.mark.parametrize("damage", ["metadata", "binary gone", "group"])
def test_damaged_entry(tmp_path: Path, damage: str) -> None:
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    check_python(USED, environment)
    (metadata,) = (tmp_path / "cache").rglob("add_kernel.json")
    if damage == "metadata":
        metadata.write_text(metadata.read_text()[:100])
    elif damage == "binary gone":
        metadata.with_name("add_kernel.cubin").unlink()
    else:
        metadata.with_name("__grp__add_kernel.json").write_text("{")
    check_python(COMPILE, environment)


def test_nothing_can_be_written(tmp_path: Path) -> None:
    check_python(
        """
        import tempfile
        from conftest import *
        def refuse(*arguments, **named):
            raise OSError(28, "No space left on device")
        tempfile.mkdtemp = refuse
        compiler = Compiler(script.handle)
        reply = compiler.compile(compiler.open(BASIC, "add_kernel"), ADD_ARGS)
        assert reply.status == "E_IO" and "TRITON_CACHE_DIR" in reply["message"], reply
        """,
        {"TRITON_CACHE_DIR": "/proc/self/cache"},
    )


def test_cache_removed_while_the_process_runs(tmp_path: Path) -> None:
    check_python(
        USED
        + f"""
import shutil
shutil.rmtree({str(tmp_path / "cache")!r})
again = compiler.compile(function, ADD_ARGS).ok()
assert not again["cached"] and again["hash"] == reply["hash"]
""",
        {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )


def test_always_compile_and_overrides_keep_their_meaning(tmp_path: Path) -> None:
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    check_python(USED, environment)
    check_python(USED + "assert not reply['cached']", {**environment, "TRITON_ALWAYS_COMPILE": "1"})
    check_python(
        USED + "assert not reply['cached'] and '.loc' not in reply.sections['ptx'].decode()",
        {**environment, "TRITON_DISABLE_LINE_INFO": "1"},
    )
    check_python(
        USED + f"assert os.listdir({str(tmp_path / 'dump')!r})",
        {
            **environment,
            "TRITON_ALWAYS_COMPILE": "1",
            "TRITON_KERNEL_DUMP": "1",
            "TRITON_DUMP_DIR": str(tmp_path / "dump"),
        },
    )


def test_own_cache_manager(tmp_path: Path) -> None:
    (tmp_path / "my_cache.py").write_text(
        "from triton.runtime.cache import FileCacheManager\n\n\nclass CacheManager(FileCacheManager):\n"
        "    made = 0\n\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n"
        "        CacheManager.made += 1\n"
    )
    check_python(
        f"import sys\nsys.path.append({str(tmp_path)!r})\n"
        + USED
        + "import my_cache\nassert my_cache.CacheManager.made\n",
        {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_CACHE_MANAGER": "my_cache:CacheManager"},
    )
