# SPDX-License-Identifier: Apache-2.0
"""Triton's disk cache where it cannot be written, disappears, is shared, or lies behind a link: calls go on."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input_host import ADD, PROGRAMS, PYTHON, Host, Outcome, finish, start

BOTH = (ADD, ("add", 256), ("add", 512), ("add", 256))  # two variants, and one of them again


def cache_warnings(found: Outcome) -> list[str]:
    return found.warnings("cache cannot be used")


# ---- not writable ----------------------------------------------------------------------------------------------


def test_cache_is_a_file(embedded: Host, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    found = embedded(*BOTH, cache=path).all_ok()
    assert [step.value for step in found.steps[1:]] == ["right"] * 3
    assert len(cache_warnings(found)) == 2  # one for each variant that was compiled
    assert str(path) in cache_warnings(found)[0] and "add_kernel" in cache_warnings(found)[0]


def test_cache_cannot_be_created(worker: Host) -> None:
    found = worker(*BOTH, cache=Path("/proc/1/no/such/folder")).all_ok()
    assert "/proc/1/no/such/folder" in cache_warnings(found)[0]


def test_cache_is_read_only(embedded: Host, tmpfs: Callable[[str], Path], tmp_path: Path) -> None:
    """A read-only file system that holds one variant already: that one is used, the other is compiled beside it."""
    folder = tmpfs("size=16m")
    embedded(ADD, ("add", 256), cache=folder).all_ok()
    before = sorted(folder.rglob("*"))
    assert before
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    found = embedded(ADD, ("add", 256), ("add", 512), cache=folder).all_ok()
    assert any("Read-only file system" in text and str(folder) in text for text in cache_warnings(found))
    assert sorted(folder.rglob("*")) == before


def test_cache_of_another_user(host: Host, other_user: dict[str, list[str]], tmp_path: Path) -> None:
    """R058: root's folder, mode 755, and a process without rights there."""
    cache = tmp_path / "theirs"
    cache.mkdir(mode=0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    found = host(*BOTH, cache=cache, popen=other_user).all_ok()
    assert "Permission denied" in cache_warnings(found)[0] and str(cache) in cache_warnings(found)[0]
    assert list(cache.iterdir()) == []


def test_home_unset(embedded: Host, other_user: dict[str, list[str]], tmp_path: Path) -> None:
    """A user without a name or a home: no folder called '~' appears anywhere."""
    where = tmp_path / "cwd"
    where.mkdir()
    where.chmod(0o777)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    found = embedded(*BOTH, cache=None, HOME=None, popen={**other_user, "cwd": where}).all_ok()
    assert "HOME is not set" in cache_warnings(found)[0]
    assert list(where.iterdir()) == []


def test_home_is_nowhere(worker: Host) -> None:
    found = worker(*BOTH, cache=None, HOME="/dev/null").all_ok()
    assert "/dev/null/.triton/cache" in cache_warnings(found)[0]


# ---- full ----------------------------------------------------------------------------------------------------


def test_disk_full(embedded: Host, tmpfs: Callable[[str], Path]) -> None:
    """R065: every call succeeds, and what half a write left behind breaks no later run."""
    folder = tmpfs("size=64k")
    found = embedded(*BOTH, ("prepare", "cuda", "90"), cache=folder).all_ok()
    assert any("No space left" in text for text in cache_warnings(found))
    subprocess.run(["mount", "-o", "remount,size=16m", str(folder)], check=True)
    found = embedded(*BOTH, ("prepare", "cuda", "90"), cache=folder).all_ok()
    assert cache_warnings(found) == []


def test_no_inodes_left(worker: Host, tmpfs: Callable[[str], Path]) -> None:
    """R069, its second half: the number of files is used up, not their bytes."""
    folder = tmpfs("size=16m,nr_inodes=20")
    found = worker(ADD, ("threads", 8), ("add", 256), cache=folder).all_ok()
    assert found[1].value == "8 of 8"
    assert any("No space left" in text for text in cache_warnings(found))


def _write_no_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # with it, the host itself would be ended
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_no_file_can_be_written(host: Host, tmp_path: Path) -> None:
    """Not in the cache, nor in any folder for temporary files: named, and tried again."""
    records, pipe = tmp_path / "records", tmp_path / "pipe"
    os.mkfifo(pipe)  # which has no size
    with subprocess.Popen(["/bin/cp", str(pipe), str(records)]) as copy:
        process = start(
            host.environment(cache=tmp_path / "cold"),
            [ADD, ("add", 256), ("add", 256)],
            pipe,
            preexec_fn=_write_no_files,
        )
        copy.wait(timeout=60)
    found = finish(process, records)
    found[0].ok()
    for step in found.steps[1:]:
        step.fails("TJ_E_IO", "add_kernel", "File too large")


# ---- gone, linked, shared ------------------------------------------------------------------------------------


def test_cache_removed_while_running(host: Host, tmp_path: Path) -> None:
    """R064: old variants are in memory, new ones are compiled."""
    cache = tmp_path / "cache"
    found = host(
        ADD, ("add", 256), ("sh", f"rm -rf {cache}"), ("add", 256), ("add", 512), ("add", 128), cache=cache
    ).all_ok()
    assert [step.value for step in found.steps if step.step == "add"] == ["right"] * 4
    assert any(cache.rglob("*.so"))


def test_cache_behind_links(embedded: Host, tmp_path: Path) -> None:
    """R062: link to a link to another file system; the entries lie where it leads, and are found again."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as other:
        (tmp_path / "first").symlink_to(other)
        (tmp_path / "second").symlink_to(tmp_path / "first")
        for _ in range(2):
            found = embedded(ADD, ("add", 256), cache=tmp_path / "second").all_ok()
            assert cache_warnings(found) == []
        assert len(list(Path(other).rglob("add_kernel.so"))) == 1
    found = embedded(ADD, ("add", 256), cache=tmp_path / "second").all_ok()  # now it leads nowhere
    assert found[1].value == "right"


def test_damaged_entries(worker: Host, tmp_path: Path) -> None:
    """Truncated and overwritten files in the cache: compiled again, never run."""
    cache = tmp_path / "cache"
    worker(ADD, ("add", 256), cache=cache).all_ok()
    for path in cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:20] if path.suffix == ".json" else b"")
    found = worker(ADD, ("add", 256), cache=cache)
    found.all_ok()[1].ok("right")


def test_two_versions_share_a_cache(embedded: Host, tmp_path: Path) -> None:
    """R067: each finds its own entries, and nothing of the other's."""
    pythons = {}
    for name in ("T36", "T39"):
        folder = os.environ.get(f"TJ_VENV_{name}")
        if folder:
            pythons[name] = f"{folder}/bin/python3"
    if len(pythons) != 2:
        pytest.skip("TJ_VENV_T36 and TJ_VENV_T39 do not name two environments")
    if PYTHON != pythons["T36"]:
        pytest.skip("the run with T36 has both versions in it")
    cache, seen = tmp_path / "cache", {}
    for round_ in range(2):
        for name, python in pythons.items():
            found = embedded(
                ADD, ("add", 256), ("info",), ("prepare", "cuda", "90"), cache=cache, TRITON_JIT_PYTHON=python
            )
            found.all_ok()[1].ok("right")
            entry = (found[2].value, found[3].value)
            assert seen.setdefault(name, entry) == entry
        if round_ == 0:
            files = sorted(cache.rglob("*"))
    assert len({version for version, _ in seen.values()}) == 2 and len(set(seen.values())) == 2
    assert sorted(cache.rglob("*")) == files  # the second round compiled nothing


def test_no_code_is_loaded_from_the_cache(host: Host, tmp_path: Path) -> None:
    """R068: neither cold nor from a warm cache; and the cache can go once a kernel runs."""
    cache = tmp_path / "the-cache"
    for _ in range(2):
        found = host(ADD, ("add", 256), ("maps", "the-cache"), ("maps", "libtriton_jit"), cache=cache).all_ok()
        assert any(cache.rglob("*.so"))
        assert found[2].value == ""
        assert "libtriton_jit" in found[3].value  # the step does see what is mapped


# ---- many processes ----------------------------------------------------------------------------------------------


def run_together(host: Host, n: int, tmp_path: Path, steps: list[tuple[Any, ...]], **env: str) -> list[Outcome]:
    outcomes, running = [], []
    for number in range(n):
        records = tmp_path / f"records{number}"
        running.append((start(host.environment(cache=tmp_path / "cold", **env), steps, records), records))
    for process, records in running:
        outcomes.append(finish(process, records))
    return outcomes


def test_many_processes_from_a_cold_cache(embedded: Host, tmp_path: Path) -> None:
    """R061: no failure, the same artifact for all, one entry in the end. TJ_TEST_PROCESSES makes it harder."""
    n = int(os.environ.get("TJ_TEST_PROCESSES", "5"))
    outcomes = run_together(embedded, n, tmp_path, [ADD, ("add", 256), ("prepare", "cuda", "90")])
    hashes = {found.all_ok()[2].value for found in outcomes}
    assert len(outcomes) == n and len(hashes) == 1
    assert {found[1].value for found in outcomes} == {"right"}
    assert [text for found in outcomes for text in cache_warnings(found)] == []
    assert len(list((tmp_path / "cold").rglob("add_kernel.so"))) == 1
    assert len(list((tmp_path / "cold").rglob("add_kernel.cubin"))) == 1


def test_network_folder(worker: Host, tmp_path: Path) -> None:
    """R060: folders that stay busy, files that are late: a shim instead of an NFS server."""
    cold = tmp_path / "cold"
    outcomes = run_together(
        worker,
        3,
        tmp_path,
        [ADD, ("add", 256), ("add", 512)],
        LD_PRELOAD=str(PROGRAMS / "bad_input_shim_network_folder.so"),
        TJ_SHIM_FOLDER=str(cold),
    )
    for found in outcomes:
        assert [step.value for step in found.all_ok().steps[1:]] == ["right", "right"]
    leftovers = [path for path in cold.rglob("tmp.*") if path.is_dir()]
    assert leftovers  # the shim was at work


def test_network_folder_shim(tmp_path: Path) -> None:
    """The shim does what the test above needs: late files, busy folders, and nothing elsewhere."""
    code = (
        "import os, sys; folder, other = sys.argv[1:]\n"
        "for place in (folder, other):\n"
        "    os.mkdir(place + '/sub'); open(place + '/f', 'w').close()\n"
        "    for attempt in ('open', 'open', 'rmdir'):\n"
        "        try: (open(place + '/f').close() if attempt == 'open' else os.rmdir(place + '/sub')); print('ok')\n"
        "        except OSError as error: print(error.errno)\n"
    )
    folders = [tmp_path / "shimmed", tmp_path / "plain"]
    for folder in folders:
        folder.mkdir()
    env = {
        **os.environ,
        "LD_PRELOAD": str(PROGRAMS / "bad_input_shim_network_folder.so"),
        "TJ_SHIM_FOLDER": str(folders[0]),
    }
    done = subprocess.run([PYTHON, "-c", code, *map(str, folders)], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "ok", "16", "ok", "ok", "ok"]
