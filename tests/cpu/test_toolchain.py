# SPDX-License-Identifier: Apache-2.0
"""The C compiler: finding it, its failures, odd folders, the generated C itself, the cache key."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import triton_jit_cpu
from generate import module
from kernels import add_kernel, attention_kernel, layer_norm_kernel, matmul_kernel, softmax_kernel
from runner import As, compile_kernel
from triton.backends.compiler import GPUTarget
from triton_jit_cpu import backend, toolchain
from triton_jit_cpu.lines import with_directives

F = np.zeros(4, np.float32)
KERNELS = {
    "add": (add_kernel, dict(x=F, y=F, out=F, n=4, BLOCK=256)),
    "softmax": (softmax_kernel, dict(x=F, y=F, n=4, stride=4, BLOCK=256)),
    "matmul": (
        matmul_kernel,
        dict(
            a=F,
            b=F,
            c=As("*bf16", F),
            M=1,
            N=1,
            K=1,
            stride_am=1,
            stride_ak=1,
            stride_bk=1,
            stride_bn=1,
            stride_cm=1,
            BM=32,
            BN=32,
            BK=32,
        ),
    ),
    "layer_norm": (
        layer_norm_kernel,
        dict(x=F.astype(np.float16), y=F, w=F, b=F, mean_out=F, rstd_out=F, stride=4, n=4, eps=1.0, BLOCK=256),
    ),
    "attention": (attention_kernel, dict(q=F, k=F, v=F, out=F, n=4, scale=1.0, D=32, BM=32, BN=32, CAUSAL=True)),
}


@pytest.fixture
def clean(monkeypatch):
    """No compiler named, and Triton's cache not consulted."""
    for name in ("TRITON_JIT_CC", "CC", "TRITON_JIT_CPU_KEEP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    return monkeypatch


def script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def compile_c(c="int f(void) { return 1; }\n"):
    return toolchain.compile_shared(c, toolchain.find_compiler(), "f")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitize", ["", "address,race,numeric"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_no_warnings(clean, tmp_path, compiler, name, sanitize):
    """The generated C is clean under both compilers with warnings on."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    kernel, args = KERNELS[name]
    program, _ = compile_kernel(kernel, args, sanitize=sanitize)
    source = tmp_path / "k.c"
    source.write_text(with_directives(program.c, "k.c", program.compiled.metadata.lines))
    flags = [f for f in toolchain.FLAGS if f not in ("-w", "-O3", "-shared", "-fno-strict-overflow")]
    done = subprocess.run(
        [compiler, *flags, "-O1", "-Wall", "-Wextra", "-Werror", "-c", str(source), "-o", os.devnull],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_readable(clean):
    program, _ = compile_kernel(*KERNELS["softmax"])
    assert "/* kernels.py:" in program.c and "tl.store(y + row * stride + offs" in program.c
    assert "const int32_t row = (int32_t)pg->pid[0];" in program.c


def test_order_of_choice(clean, tmp_path):
    mine = script(tmp_path / "my cc", 'exec gcc "$@"\n')
    clean.setenv("CC", "gcc")
    assert Path(toolchain.find_compiler().command[0]).name == "gcc"
    clean.setenv("TRITON_JIT_CC", mine)
    assert toolchain.find_compiler().command == (mine,)
    assert toolchain.find_compiler("gcc -pipe").command[1:] == ("-pipe",)
    assert compile_c()[:4] == b"\x7fELF"


def test_missing(clean, tmp_path):
    clean.setenv("PATH", str(tmp_path))
    with pytest.raises(triton_jit_cpu.CompilerMissing) as caught:
        toolchain.find_compiler()
    assert "cc, gcc, clang" in str(caught.value) and "install" in str(caught.value)
    assert caught.value.status == "E_NO_C_COMPILER"
    clean.setenv("TRITON_JIT_CC", "/nowhere/cc")
    with pytest.raises(triton_jit_cpu.CompilerMissing, match="TRITON_JIT_CC names the C compiler '/nowhere/cc'"):
        toolchain.find_compiler()


@pytest.mark.parametrize(
    "text,hint",
    [
        ("ID=debian\n", "apt-get"),
        ('ID="ubuntu"\nID_LIKE=debian\n', "apt-get"),
        ("ID=fedora\n", "dnf"),
        ("ID=alpine\n", "apk"),
        ('ID="opensuse-leap"\nID_LIKE="suse"\n', "zypper"),
        ("", "gcc or clang"),
    ],
)
def test_install_hint(tmp_path, text, hint):
    (tmp_path / "os-release").write_text(text)
    assert hint in toolchain.install_hint(str(tmp_path / "os-release"))
    assert "gcc or clang" in toolchain.install_hint(str(tmp_path / "absent"))


def test_failing(clean, tmp_path):
    with pytest.raises(triton_jit_cpu.CompilerFailed) as caught:
        compile_c("int f(void) { return x; }\n")
    message = str(caught.value)
    assert "undeclared" in message and "-O3" in message and "f.c" in message and caught.value.status == "E_C_COMPILER"
    clean.setenv(
        "TRITON_JIT_CC", script(tmp_path / "cc", 'case "$*" in *--version*|*-dM*) exec gcc "$@";; esac\nkill -9 $$\n')
    )
    with pytest.raises(triton_jit_cpu.CompilerFailed, match="killed by signal 9"):
        compile_c()
    clean.setenv("TRITON_JIT_CC", script(tmp_path / "no", "exit 3\n"))
    with pytest.raises(triton_jit_cpu.CompilerMissing, match="could not be run"):
        compile_c()


@pytest.mark.parametrize(
    "macros,name",
    [
        ("#define __GNUC__ 7\n#define __GNUC_MINOR__ 5\n", "GCC 7.5"),
        ("#define __GNUC__ 4\n#define __clang_major__ 6\n#define __clang_minor__ 0\n", "Clang 6.0"),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_too_old(clean, tmp_path, macros, name, native):
    """The version found, the one needed, and what to do; whether or not it takes -march=native."""
    (tmp_path / "macros").write_text(macros)
    refuse = "" if native else 'case "$*" in *-march=native*) exit 1;; esac\n'
    fake = script(tmp_path / "cc", f'{refuse}case "$*" in *-dM*) cat {tmp_path}/macros; exit 0;; esac\nexec gcc "$@"\n')
    clean.setenv("TRITON_JIT_CC", fake)
    with pytest.raises(triton_jit_cpu.CompilerMissing) as caught:
        toolchain.find_compiler()
    assert caught.value.status == "E_NO_C_COMPILER"
    message = str(caught.value)
    assert f"'{fake}' is {name}; the CPU backend needs GCC 8 or Clang 8 or newer: install" in message
    assert message.endswith("or set TRITON_JIT_CC to a newer one")
    (tmp_path / "macros").write_text("#define __GNUC__ 8\n#define __GNUC_MINOR__ 1\n")
    os.utime(fake, (1, 1))  # another compiler under the name
    assert toolchain.find_compiler().command == (fake,)


def test_without_march_native(clean, tmp_path):
    refuse = 'case "$*" in *-march=native*) exit 1;; esac\nexec gcc "$@"\n'
    clean.setenv("TRITON_JIT_CC", script(tmp_path / "cc", refuse))
    assert toolchain.find_compiler().isa == ""
    assert compile_c()[:4] == b"\x7fELF"


def test_temporary_folders(clean, tmp_path):
    odd = tmp_path / "with space 'and quote' \u00e9"
    odd.mkdir()
    clean.setenv("TMPDIR", str(odd))
    assert compile_c()[:4] == b"\x7fELF"
    assert list(odd.iterdir()) == []
    clean.setenv("TMPDIR", str(tmp_path / "absent"))
    assert compile_c()[:4] == b"\x7fELF"
    clean.setattr(toolchain, "_places", lambda: iter([str(tmp_path / "absent")]))
    with pytest.raises(triton_jit_cpu.ScratchFolder, match="set TMPDIR") as caught:
        compile_c()
    assert caught.value.status == "E_IO" and "absent" in str(caught.value)


def test_keep(clean, tmp_path):
    clean.setenv("TRITON_JIT_CPU_KEEP", str(tmp_path / "kept"))
    program, _ = compile_kernel(*KERNELS["add"])
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.name.startswith("add_kernel") and kept.read_text() == program.c


def test_only_two_symbols_and_no_start_up_code(clean, tmp_path):
    program, _ = compile_kernel(*KERNELS["matmul"])
    path = tmp_path / "k.so"
    path.write_bytes(program.compiled.asm["so"])
    names = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in names.splitlines()) == ["tj_cpu_info_1", "tj_cpu_run_1"]
    needed = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True).stdout
    libraries = [line.split()[-1] for line in needed.splitlines() if "NEEDED" in line]
    assert all(lib.startswith(("libm.", "libc.", "ld-")) for lib in libraries), libraries


def test_hash_carries_everything(clean, tmp_path):
    here = GPUTarget("cpu", "native", 1)
    first = backend.CpuBackend(here).hash()
    assert backend.CpuBackend(here).hash() == first
    assert backend.CpuBackend(GPUTarget("cpu", "other", 1)).hash() != first
    clean.setenv("TRITON_JIT_CC", script(tmp_path / "cc", 'exec gcc "$@"\n'))
    assert backend.CpuBackend(here).hash() != first
    clean.delenv("TRITON_JIT_CC")
    clean.setattr(toolchain, "FLAGS", (*toolchain.FLAGS, "-O1"))
    assert backend.CpuBackend(here).hash() != first
    clean.undo()
    clean.setattr(backend, "generator_version", lambda: "another")
    assert backend.CpuBackend(here).hash() != first


def test_options():
    made = backend.CpuBackend(GPUTarget("cpu", "native", 1))
    options = made.parse_options(
        {"num_warps": 8, "maxnreg": 64, "not_an_option": 1, "debug": True, "extern_libs": {"a": "b"}}
    )
    assert (options.num_warps, options.maxnreg, options.debug) == (8, 64, True)
    assert options.hash() != made.parse_options({}).hash()
    with pytest.raises(ValueError, match="num_warps must be a power of 2, got 3"):
        made.parse_options({"num_warps": 3})


def test_register_again_and_other_names():
    from triton.backends import backends

    triton_jit_cpu.register()
    assert backends["cpu"].compiler is backend.CpuBackend
    assert not backend.CpuBackend.supports_target(GPUTarget("musa", "22", 32))
    triton_jit_cpu.register(("musa",))
    assert backend.CpuBackend.supports_target(GPUTarget("musa", "22", 32))
    backend._names.discard("musa")


def test_quiet_and_without_xdsl(tmp_path):
    """Nothing on stdout or stderr; a missing xdsl is an error that names it."""
    folder = Path(triton_jit_cpu.__file__).resolve().parents[1]
    code = f"""
import sys
sys.path[:0] = [{str(folder)!r}, {str(Path(__file__).parent)!r}]
import test_toolchain as t
t.compile_kernel(*t.KERNELS["add"])
"""
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    code = f"""
import sys
sys.path.insert(0, {str(folder)!r})
sys.modules["xdsl"] = None
import triton_jit_cpu
try:
    triton_jit_cpu.register()
except ModuleNotFoundError as error:
    assert error.name == "xdsl" and error.status == "E_NO_XDSL" and "pip install xdsl" in str(error)
    print("told")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout == "told\n", done.stderr


def test_small_stack():
    """Big tiles live in scratch: a thread with a stack of 64 KiB runs them."""
    import threading

    text = """
@triton.jit
def kernel(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + i[None, :])
    b = tl.dot(a, a)
    tl.store(o + i[:, None] * N + i[None, :], tl.softmax(tl.trans(b)) + tl.cumsum(b, 0))
"""
    x = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float32)
    o = np.zeros_like(x)
    program, values = compile_kernel(module(text).kernel, {"x": x, "o": o, "N": 128})
    results = []
    old = threading.stack_size(256 * 1024)  # ctypes and Python itself need most of it
    try:
        thread = threading.Thread(target=lambda: results.append(program.run((1,), values)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert results == [0]
    frames = [line for line in program.c.splitlines() if "[" in line and "] = {" in line and "static" not in line]
    assert not frames
    b = x.astype(np.float64) @ x
    e = np.exp(b.T - b.T.max(0))
    want = e / e.sum(0)
    np.testing.assert_allclose(o - np.cumsum(b, 0), want, atol=2e-2)


def test_sanitizers_are_in_the_key_and_for_the_cpu_alone(monkeypatch):
    def options(target="cpu", **given):
        return backend.CpuBackend(GPUTarget(target, "native", 1)).parse_options(given)

    monkeypatch.delenv("TRITON_JIT_CPU_SANITIZE", raising=False)
    plain = options()
    assert plain.sanitize == "" and plain.hash() == options(sanitize="").hash()
    assert options(sanitize="race, address").sanitize == options(sanitize="address,race").sanitize == "address,race"
    assert len({plain.hash(), options(sanitize="race").hash(), options(sanitize="address,race").hash()}) == 3
    monkeypatch.setenv("TRITON_JIT_CPU_SANITIZE", "numeric")
    assert options().sanitize == "numeric" and options(sanitize="").sanitize == ""
    monkeypatch.setattr(backend, "_names", {"cpu", "other"})
    assert options("other").sanitize == ""
    with pytest.raises(ValueError, match="for the backend cpu, not for other"):
        options("other", sanitize="race")


def test_objects_change_with_what_is_kept(clean, tmp_path):
    def key():
        return backend.CpuBackend(GPUTarget("cpu", "native", 1)).hash()

    keys = {key()}
    for folder in ("one", "two"):
        clean.setenv("TRITON_JIT_CPU_KEEP", str(tmp_path / folder))
        keys.add(key())
    assert len(keys) == 3
