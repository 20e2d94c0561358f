# SPDX-License-Identifier: Apache-2.0
"""The artifact is the one that ``kernel[grid](...)`` gets: same hash, same disk entry."""

from __future__ import annotations

from conftest import KERNELS, check_python

PARITY = f"""
import importlib.util, sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from conftest import *

class Driver:  # a Python program's active driver, as far as warmup asks it
    def __init__(self, target): self.target = target
    def get_current_target(self): return self.target
    def get_current_device(self): return 0
    def get_current_stream(self, device): return 0
    def get_benchmarker(self): return lambda *a, **k: None

driver = Driver(GPUTarget("cuda", 90, 32))
triton.runtime.driver.set_active(driver)

class Tensor:
    def __init__(self, dtype, address): self.dtype, self.address = dtype, address
    def data_ptr(self): return self.address

spec = importlib.util.spec_from_file_location("plain_basic", {str(KERNELS / "basic.py")!r})
basic = importlib.util.module_from_spec(spec)
sys.modules["plain_basic"] = basic
spec.loader.exec_module(basic)

compiler = Compiler(script.handle)
A = Tensor("fp32", 32)
U = Tensor("fp32", 36)
def F(value): return {{"float": value.hex()}}
def T(*values): return {{"tuple": list(values)}}
def B(value): return {{"bool": value}}
"""

CASES = """
CASES = [
    ("add_kernel", (A, A, A, 32, 64), [ptr(), ptr(), ptr(), integer(32), integer(64)], {}),
    ("add_kernel", (A, U, A, 7), [ptr(), ptr(aligned=False), ptr(), integer(7), DEFAULT], {"num_warps": 8}),
    ("add_kernel", (A, A, U, 1, 32), [ptr(), ptr(), ptr(aligned=False), integer(1), integer(32)], {"num_stages": 5}),
    ("add_kernel", (A, A, A, 2**40, 64), [ptr(), ptr(), ptr(), integer(2**40), integer(64)], {"maxnreg": 64}),
    ("add_kernel", (A, A, A, 2**63 + 1, 64), [ptr(), ptr(), ptr(), integer(2**63 + 1), integer(64)], {"debug": True}),
    ("annotated_kernel", (A, 1, 1, 1.0, A), [ptr(), integer(1), integer(1), F(1.0), ptr(), *[DEFAULT] * 3], {}),
    ("annotated_kernel", (U, 16, 32, 1.0, U, False, 2.5, "x"),
     [ptr(aligned=False), integer(16), integer(32), F(1.0), ptr(aligned=False), B(False), F(2.5), text("x")], {}),
    ("annotated_kernel", (A, 2**33, 3, 0.5, A, True, 3, ""),
     [ptr(), integer(2**33), integer(3), F(0.5), ptr(), B(True), integer(3), text("")],
     {"enable_fp_fusion": False, "launch_pdl": True}),
    ("many_kernel", (A, 1, 32, (5, 1, None), True, 1, 1.0, None, 64, "Dx"),
     [ptr(), integer(1), integer(32), T(integer(5), integer(1), NONE), B(True), integer(1), F(1.0), NONE, integer(64),
      text("Dx")], {}),
    ("many_kernel", (A, 3, 48, (16, (1, A)), False, 16, 1.0, None, 64, "none"),
     [ptr(), integer(3), integer(48), T(integer(16), T(integer(1), ptr())), B(False), integer(16), F(1.0), NONE,
      integer(64), text("none")], {"num_warps": 1, "num_ctas": 1}),
    ("many_kernel", (A, True, 1, (2.5,), 1, 0, 1.0, A, None, "D"),
     [ptr(), B(True), integer(1), T(F(2.5)), integer(1), integer(0), F(1.0), ptr(), NONE, text("D")], {}),
    ("many_kernel", (A, 1, 2, (1,), 3, 4, 5.0, None, 1.0, True),
     [ptr(), integer(1), integer(2), T(integer(1)), integer(3), integer(4), F(5.0), NONE, F(1.0), B(True)], {}),
    ("apply_kernel", (A, basic.scale, 3), [ptr(), {"function": compiler.open(BASIC, "scale")}, integer(3)], {}),
    ("typed_kernel", (A, 1.5, tl.float16), [ptr(), F(1.5), {"dtype": "fp16"}, DEFAULT], {}),
    ("typed_kernel", (A, 7, tl.int64, (2, (3,))),
     [ptr(), integer(7), {"dtype": "i64"}, T(integer(2), T(integer(3)))], {}),
    ("typed_kernel", (A, 7, tl.float8e5, (2, 2)), [ptr(), F(7.0), {"dtype": "fp8e5"}, T(integer(2), integer(2))], {}),
    ("nothing_kernel", (), [], {"num_warps": 2}),
]
CASES[-2] = ("typed_kernel", (A, 7.0, tl.float8e5, (2, 2)), *CASES[-2][2:])
"""


def test_hash_equals_that_of_warmup() -> None:
    out = check_python(
        PARITY
        + CASES
        + """
hashes = []
for name, arguments, values, options in CASES:
    function = compiler.open(BASIC, name)
    key = compiler.compile(function, values, key_only=True, **options).ok()
    try:
        kernel = getattr(basic, name).warmup(*arguments, grid=(1,), **options)
    except Exception as error:  # where Triton cannot compile it, nor can we
        reply = compiler.compile(function, values, **options)
        assert reply.status == "E_COMPILE", (name, arguments, error, reply)
        continue
    assert kernel.hash == key["hash"], (name, arguments, options)
    reply = compiler.compile(function, values, **options).ok()
    assert reply["cached"], name
    assert reply["hash"] == kernel.hash and reply.sections["cubin"] == kernel.asm["cubin"]
    hashes.append(kernel.hash)
print(len(hashes), len(set(hashes)))
"""
    )
    compiled, distinct = map(int, out.split())
    assert compiled == distinct and compiled >= 14


def test_specialization_equals_that_of_the_binder() -> None:
    check_python(
        PARITY
        + CASES
        + """
from triton.runtime.jit import compute_cache_key
for name, arguments, values, options in CASES:
    kernel = getattr(basic, name)
    _, specialization, _ = kernel.device_caches[0][-1](*arguments)
    ours = compiler.compile(compiler.open(BASIC, name), values, key_only=True, **options).ok()["specialization"]
    assert ours + "{}" == compute_cache_key({}, specialization, {}), (name, arguments)
"""
    )


def test_forced_types_equal_annotations(tmp_path) -> None:
    """A scalar of forced width is the same variant as one whose parameter is annotated."""
    source = "import triton\nimport triton.language as tl\n"
    for type_name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64", "u1"):
        source += f"\n@triton.jit\ndef typed_{type_name}(out, x: '{type_name}'):\n    tl.store(out, x)\n"
    (tmp_path / "typed.py").write_text(source)
    (tmp_path / "plain.py").write_text(source.replace(": '", "=0 #").replace("'):", "\n):"))
    check_python(
        PARITY
        + f"""
for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64", "u1"):
    annotated = compiler.open({str(tmp_path / "typed.py")!r}, "typed_" + name)
    plain = compiler.open({str(tmp_path / "plain.py")!r}, "typed_" + name)
    for number_class in ("D", "", "1") if name[0] in "iu" and name != "u1" else (None,):
        value = {{"scalar": name}} if number_class is None else {{"scalar": name, "class": number_class}}
        pointer = ptr("i8" if name == "u1" else name)
        replies = [compiler.compile(f, [pointer, value]).ok() for f in (annotated, plain)]
        assert replies[0]["specialization"] == replies[1]["specialization"]
        assert replies[0]["types"] == replies[1]["types"] == ["*" + pointer["ptr"], name]
        representative = 1.0 if name[0] in "fb" else {{"D": 16, "": 3, "1": 1, None: True}}[number_class]
        given = {{"float": "0x1p+0"}} if name[0] in "fb" else {{"int": str(int(representative))}}
        direct = compiler.compile(annotated, [pointer, given]).ok()
        assert direct["hash"] == replies[0]["hash"], (name, number_class)
"""
    )
