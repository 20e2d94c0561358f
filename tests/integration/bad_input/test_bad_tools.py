# SPDX-License-Identifier: Apache-2.0
"""Python, Triton, xdsl or the C compiler absent, too old or failing: what to install, and another try."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from bad_input_host import ADD, GOOD, LIBRARY, PYTHON, SITE, Host, install_hint, make_environment

PYTHON_PACKAGES = {"debian": "apt-get install python3", "ubuntu": "apt-get install python3", "fedora": "dnf install"}
COMPILER_PACKAGES = {"debian": "apt-get install gcc", "ubuntu": "apt-get install gcc", "fedora": "dnf install gcc"}


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fake_python(path: Path, before: str) -> Path:
    """A Python that runs ``before`` when it is asked about itself, and else is the real one."""
    return script(path, f"#!{PYTHON}\nimport os, sys\n{before}\nexec(sys.argv[2])\n")


# ---- Python ---------------------------------------------------------------------------------------------


def test_no_python(host: Host, tmp_path: Path) -> None:
    """None on PATH; one that turns up later is found by the same process."""
    path = tmp_path / "bin"
    path.mkdir()
    found = host(
        ADD,
        ("sh", f"/bin/ln -s {PYTHON} /usr/bin/cc /usr/bin/as /usr/bin/ld {path}"),
        ADD,
        ("add", 256),
        TRITON_JIT_PYTHON=None,
        PATH=str(path),
        PYTHONPATH=str(SITE),
    )
    found[0].fails("TJ_E_NO_PYTHON", "python3", str(path), "TRITON_JIT_PYTHON", "3.10", "triton")
    assert install_hint(PYTHON_PACKAGES) in found[0].message
    found[2].ok()
    found[3].ok("right")


@pytest.mark.parametrize("path", ["", None])
def test_path_empty_or_unset(host: Host, path: str | None) -> None:
    found = host(ADD, TRITON_JIT_PYTHON=None, PATH=path)
    found[0].fails("TJ_E_NO_PYTHON", "PATH", "empty", "TRITON_JIT_PYTHON")


def test_path_empty_with_a_python_named(host: Host) -> None:
    host(ADD, ("prepare", "cuda", "90"), PATH="").all_ok()


def test_python_asked_for(host: Host, tmp_path: Path) -> None:
    """What TRITON_JIT_PYTHON names is no Python."""
    nowhere = tmp_path / "no such python"
    host(ADD, TRITON_JIT_PYTHON=str(nowhere))[0].fails("TJ_E_NO_PYTHON", str(nowhere), "No such file")
    host(ADD, TRITON_JIT_PYTHON="python9.9")[0].fails("TJ_E_NO_PYTHON", "python9.9", "PATH")
    host(ADD, TRITON_JIT_PYTHON=str(tmp_path))[0].fails("TJ_E_NO_PYTHON", str(tmp_path), "bin/python3")
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    host(ADD, TRITON_JIT_PYTHON=str(plain))[0].fails("TJ_E_NO_PYTHON", str(plain), "Permission denied")
    host(ADD, TRITON_JIT_PYTHON="/bin/true")[0].fails("TJ_E_NO_PYTHON", "/bin/true", "about itself", "(none)")
    broken = script(tmp_path / "broken", "#!/bin/sh\necho this is broken >&2\nexit 3\n")
    host(ADD, TRITON_JIT_PYTHON=str(broken))[0].fails("TJ_E_NO_PYTHON", "status 3", "this is broken", str(broken))


def test_python_too_old(host: Host, tmp_path: Path) -> None:
    old = fake_python(tmp_path / "python3", "sys.version_info = (3, 8, 1, 'final', 0)")
    found = host(ADD, TRITON_JIT_PYTHON=str(old))
    found[0].fails("TJ_E_NO_PYTHON", str(old), "3.8.1", "too old", "3.10")


def test_python_repaired(host: Host, tmp_path: Path) -> None:
    """A failure of the machine is not remembered."""
    path = script(tmp_path / "python3", "#!/bin/sh\nexit 3\n")
    mend = f"ln -sf {PYTHON} {path}"
    host(ADD, ("sh", mend), ADD, TRITON_JIT_PYTHON=str(path), PYTHONPATH=str(SITE))[2].ok()


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1", "free-threaded"),
        ("os.path.isfile = lambda path: False", "shared libpython"),
    ],
    ids=["free-threaded", "no libpython"],
)
def test_python_that_cannot_be_embedded(embedded: Host, tmp_path: Path, before: str, words: str) -> None:
    """Asked to embed it, that is an error; otherwise the worker is used, and the log says why."""
    path = fake_python(tmp_path / "python3", before)
    found = embedded(ADD, TRITON_JIT_PYTHON=str(path))
    assert found[0].status in ("TJ_E_NOT_SUPPORTED", "TJ_E_NO_PYTHON")
    found[0].fails(found[0].status, words)
    if "libpython" in words:
        assert "TRITON_JIT_COMPILER=worker" in found[0].message
    found = embedded(ADD, ("add", 256), TRITON_JIT_PYTHON=str(path), TRITON_JIT_COMPILER="auto").all_ok()
    assert any("worker process" in text and words in text for _, text in found.log)


def test_free_threaded_python(host: Host) -> None:
    """A real one, where there is one."""
    import shutil

    python = shutil.which(os.environ.get("TJ_TEST_PYTHON_FREE_THREADED", "python3.13t")) or shutil.which("python3.14t")
    if python is None:
        pytest.skip("there is no free-threaded Python (python3.13t, python3.14t, TJ_TEST_PYTHON_FREE_THREADED) here")
    status = "TJ_E_NOT_SUPPORTED" if host.mode == "embedded" else "TJ_E_NO_TRITON"
    host(ADD, TRITON_JIT_PYTHON=python)[0].fails(status)


def test_python_home(host: Host) -> None:
    """An interpreter that cannot find its library aborts: not this process."""
    found = host(ADD, PYTHONHOME="/dev/null")
    found[0].fails("TJ_E_NO_PYTHON", "PYTHONHOME is '/dev/null'", "encodings", PYTHON)


def test_virtual_environment_active(host: Host) -> None:
    """An activated environment is used, also where PATH leads elsewhere; one that is gone is only warned about."""
    folder = str(Path(PYTHON).parent.parent)
    host(ADD, ("add", 256), TRITON_JIT_PYTHON=None, VIRTUAL_ENV=folder).all_ok()
    host(ADD, ("add", 256), TRITON_JIT_PYTHON=None, PATH=f"{folder}/bin:/usr/bin:/bin").all_ok()
    found = host(ADD, TRITON_JIT_PYTHON=None, VIRTUAL_ENV="/no/such/environment", PATH=f"{folder}/bin:/usr/bin:/bin")
    found[0].ok()
    assert found.warnings("VIRTUAL_ENV", "/no/such/environment")


def test_settings(host: Host, tmp_path: Path) -> None:
    found = host(ADD, TRITON_JIT_COMPILER="both")
    found[0].fails("TJ_E_INVALID", "TRITON_JIT_COMPILER", "'both'", "embedded", "worker")
    found = host(ADD, TRITON_JIT_SCRIPTS=str(tmp_path))
    found[0].fails("TJ_E_NO_SCRIPTS", f"{tmp_path}/standalone_compile.py", "TRITON_JIT_SCRIPTS")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "standalone_compile.py").write_text("raise ValueError('half an installation')\n")
    found = host(ADD, TRITON_JIT_SCRIPTS=str(broken))
    expected = "TJ_E_NO_SCRIPTS" if host.mode == "embedded" else "TJ_E_COMPILER_DIED"
    found[0].fails(expected, "half an installation", str(broken))


# ---- Triton and xdsl -----------------------------------------------------------------------------------------


def test_no_triton(host: Host, tmp_path: Path) -> None:
    """In a real environment without it; installed while the process runs, it is found."""
    python = make_environment(tmp_path / "bare", without=("triton",))
    site = next((tmp_path / "bare" / "lib").glob("python*/site-packages"))
    found = host(
        ADD,
        ADD,
        ("sh", f"ln -s {SITE}/triton {site}/triton"),
        ADD,
        ("add", 256),
        TRITON_JIT_PYTHON=str(python),
    )
    for step in found.steps[:2]:
        step.fails("TJ_E_NO_TRITON", f"{python} -m pip install triton")
    found[3].ok()
    found[4].ok("right")


def test_old_triton(host: Host, tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '2.1.0'\n")
    found = host(ADD, PYTHONPATH=str(tmp_path))
    found[0].fails("TJ_E_TRITON_VERSION", "2.1.0", "or later is needed", "pip install --upgrade triton")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ImportError('libtriton.so: undefined symbol: foo')", "undefined symbol: foo"),
        ("import no_such_dependency", "no_such_dependency"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_broken_triton(worker: Host, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(text + "\n")
    found = worker(ADD, PYTHONPATH=str(tmp_path))
    found[0].fails("TJ_E_NO_TRITON", words, "--force-reinstall")


def test_no_xdsl(host: Host, tmp_path: Path) -> None:
    """The CPU backend needs it; other targets do not. Installed later, it is found."""
    python = make_environment(tmp_path / "bare", without=("xdsl",))
    site = next((tmp_path / "bare" / "lib").glob("python*/site-packages"))
    found = host(
        ADD,
        ("get-on", "null", GOOD, "add_kernel"),
        ("prepare", "cuda", "90"),
        ("sh", f"ln -s {SITE}/xdsl {site}/xdsl"),
        ADD,
        ("add", 256),
        TRITON_JIT_PYTHON=str(python),
    )
    found[0].fails("TJ_E_NO_XDSL", "xdsl", f"{python} -m pip install xdsl")
    for step in found.steps[1:]:
        step.ok()
    found[5].ok("right")


# ---- the C compiler ---------------------------------------------------------------------------------------------


def cold(tmp_path: Path) -> Path:
    return tmp_path / "cold"


def test_no_c_compiler(host: Host, tmp_path: Path) -> None:
    """Named with what to install; found when it is there; not needed where there is nothing to build."""
    path = tmp_path / "bin"
    path.mkdir()
    found = host(
        ADD,
        ("add", 256),
        ("add", 256),
        ("prepare", "cuda", "90"),
        ("sh", f"/bin/ln -s /usr/bin/gcc {path}/gcc; /bin/ln -s /usr/bin/as /usr/bin/ld {path}/"),
        ("add", 256),
        cache=cold(tmp_path),
        PATH=str(path),
    )
    found[0].ok()
    for step in found.steps[1:3]:
        step.fails("TJ_E_NO_C_COMPILER", "add_kernel", "cc, gcc, clang", "PATH", "TRITON_JIT_CC")
        assert install_hint(COMPILER_PACKAGES) in step.message
    found[3].ok()
    found[5].ok("right")


@pytest.mark.parametrize("variable", ["TRITON_JIT_CC", "CC"])
def test_c_compiler_asked_for(worker: Host, tmp_path: Path, variable: str) -> None:
    found = worker(ADD, ("add", 256), cache=cold(tmp_path), **{variable: "/no/such/cc -pipe"})
    found[1].fails("TJ_E_NO_C_COMPILER", variable, "'/no/such/cc -pipe'")
    plain = tmp_path / "plain"
    plain.write_text("no program")
    found = worker(ADD, ("add", 256), cache=cold(tmp_path), **{variable: str(plain)})
    found[1].fails("TJ_E_NO_C_COMPILER", variable, str(plain))


BREAKAGES = {
    "error": ("echo 'fatal error: the disk of the compiler is bent' >&2; exit 1", "TJ_E_C_COMPILER", "is bent"),
    "killed": ("kill -9 $$", "TJ_E_C_COMPILER", "signal 9"),
    "silent": ("exit 4", "TJ_E_C_COMPILER", "exit status 4"),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_c_compiler_fails(host: Host, tmp_path: Path, breakage: str) -> None:
    """Its command and its words are in the message; a mended one is used at the next call."""
    command, status, words = BREAKAGES[breakage]
    body = f'case " $* " in *-shared*) [ -e {tmp_path}/mended ] || {{ {command}; }};; esac\nexec /usr/bin/cc "$@"\n'
    compiler = script(tmp_path / "my cc", f"#!/bin/sh\n{body}")
    found = host(
        ADD,
        ("add", 256),
        ("add", 256),
        ("sh", f"touch {tmp_path}/mended"),
        ("add", 256),
        cache=cold(tmp_path),
        TRITON_JIT_CC=str(compiler),
    )
    for step in found.steps[1:3]:
        step.fails(status, "add_kernel", words, shlex.quote(str(compiler)), "-shared")
    found[4].ok("right")


def test_c_compiler_that_makes_nothing(worker: Host, tmp_path: Path) -> None:
    compiler = script(tmp_path / "cc", '#!/bin/sh\ncase " $* " in *-shared*) exit 0;; esac\nexec /usr/bin/cc "$@"\n')
    found = worker(ADD, ("add", 256), cache=cold(tmp_path), TRITON_JIT_CC=str(compiler))
    found[1].fails("TJ_E_C_COMPILER", "add_kernel", "exit status 0", str(compiler))


def test_c_compiler_that_makes_rubbish(worker: Host, tmp_path: Path) -> None:
    """What is not a shared object does not get as far as being run."""
    make = 'for a; do [ "$p" = -o ] && echo rubbish >"$a"; p=$a; done; exit 0'
    compiler = script(tmp_path / "cc", f'#!/bin/sh\ncase " $* " in *-shared*) {make};; esac\nexec /usr/bin/cc "$@"\n')
    found = worker(ADD, ("add", 256), ("add", 256), cache=cold(tmp_path), TRITON_JIT_CC=str(compiler))
    for step in found.steps[1:]:
        step.fails("TJ_E_LOAD", "add_kernel")


def test_no_linker(worker: Host, tmp_path: Path) -> None:
    """A compiler without its neighbours, as in images that were slimmed too far."""
    path = tmp_path / "bin"
    script(path / "cc", '#!/bin/sh\nexec /usr/bin/gcc -B /nowhere -fuse-ld=gold-that-is-not-there "$@"\n')
    found = worker(ADD, ("add", 256), cache=cold(tmp_path), PATH=str(path))
    found[1].fails("TJ_E_C_COMPILER", "gold-that-is-not-there", str(path / "cc"))


# ---- what is not needed -------------------------------------------------------------------------------------------


def test_nothing_but_triton(host: Host, tmp_path: Path) -> None:
    """R091, R150: no C compiler, no Python.h, no torch for a compile; and nothing imports torch if it is there."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('torch was imported')\n")
    kernels = tmp_path / "kernels.py"
    kernels.write_text(GOOD.read_text() + "\nimport sys\nprint('torch is loaded:', 'torch' in sys.modules)\n")
    found = host(
        ("get-on", "null", kernels, "add_kernel"),
        ("prepare", "cuda", "90"),
        ("prepare", "hip", "gfx942"),
        cache=cold(tmp_path),
        PATH="",
        PYTHONPATH=str(tmp_path),
        CPATH="/nowhere",
    ).all_ok()
    assert (3, "torch is loaded: False") in found.log
    headers = [path for path in cold(tmp_path).rglob("*") if path.suffix in (".so", ".h")]
    assert headers == []  # no helper was built


def test_library_needs_little() -> None:
    """R150: what the library itself is linked with."""
    import subprocess

    text = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    needed = [line for line in text.splitlines() if "NEEDED" in line]
    assert needed and not any(word in line for line in needed for word in ("torch", "c10", "python", "cuda", "stdc++"))
