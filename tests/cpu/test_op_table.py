# SPDX-License-Identifier: Apache-2.0
"""The table of operations is complete, and says the truth."""

from __future__ import annotations

import numpy as np
import pytest
from dialects import compile_text, dialect_operations, registered
from triton_jit_cpu import ops, optable, registry
from triton_jit_cpu.errors import UnsupportedOp
from triton_jit_cpu.optable import TABLE

assert ops  # fills the registry

DIALECTS = ("tt", "arith", "math", "scf", "cf", "ub")


def test_every_operation_of_the_dialects_is_in_the_table():
    installed = dialect_operations(DIALECTS)
    assert len(installed) > 160, "the names were not found in libtriton.so"
    assert {"tt.dot", "arith.addi", "math.exp2", "scf.for", "cf.cond_br", "ub.poison"} <= installed
    assert sorted(installed - set(TABLE)) == []


def test_trying_a_name_tells_operations_from_others():
    assert registered(["tt.load", "tt.no_such_operation", "scf.if", "nowhere.at_all"]) == {"tt.load", "scf.if"}


def test_the_table_agrees_with_the_registry():
    kinds = {"elementwise": registry.ELEMENTWISE, "indexing": registry.INDEXING, "statement": registry.STATEMENT}
    # Two faces of one operation: a lazy tile or a statement for volatile loads, a loop or one scalar.
    also = {"tt.load": "statement", "tt.store": "statement"}
    for kind, functions in kinds.items():
        rows = {name for name, row in TABLE.items() if row.kind == kind or also.get(name) == kind}
        # Ours are not Triton's: the sanitizers put them in (sanitize.py).
        assert rows == {name for name in functions if not name.startswith("tj.")}, kind
    for name, row in TABLE.items():
        assert row.kind in (*kinds, "loop", "part", "pass", "refused")
        assert bool(row.note) == (row.kind in ("pass", "refused")), name
        assert bool(optable.lowering(name)) == (row.kind in kinds), name


def test_refused_operations_say_what_to_do(tmp_path):
    text = """module { tt.func public @kernel(%x: !tt.ptr<f32>) {
  %z = arith.constant 0 : index
  %o = arith.constant 1 : index
  scf.parallel (%i) = (%z) to (%o) step (%o) { scf.reduce }
  tt.return
} }"""
    with pytest.raises(UnsupportedOp) as error:
        compile_text(text, ["*fp32"], tmp_path)
    assert str(error.value).splitlines() == [
        f"{tmp_path}/kernel.ttir:4: the CPU backend has no lowering for 'scf.parallel': neither Triton's language nor"
        " its passes make it; write the loop with tl.range",
        "    scf.parallel (%i) = (%z) to (%o) step (%o) { scf.reduce }",
    ]


def test_switches(tmp_path):
    """cf.switch and scf.index_switch: no kernel of today leads to them."""
    program = compile_text(
        """module {
  tt.func public @kernel(%o: !tt.ptr<i32>, %n: i32) {
    %c10 = arith.constant 10 : i32
    %c20 = arith.constant 20 : i32
    %c30 = arith.constant 30 : i32
    %at = arith.index_cast %n : i32 to index
    %v, %w = scf.index_switch %at -> i32, i32
    case 2 { scf.yield %c10, %c20 : i32, i32 }
    case 5 { scf.yield %c20, %c30 : i32, i32 }
    default { scf.yield %c30, %n : i32, i32 }
    tt.store %o, %v : !tt.ptr<i32>
    %c1 = arith.constant 1 : i32
    %o1 = tt.addptr %o, %c1 : !tt.ptr<i32>, i32
    tt.store %o1, %w : !tt.ptr<i32>
    cf.switch %n : i32, [
      default: ^other(%n, %c10 : i32, i32),
      2: ^two(%c20 : i32),
      -1: ^other(%c30, %c20 : i32, i32)
    ]
  ^two(%a: i32):
    cf.br ^end(%a : i32)
  ^other(%b: i32, %c: i32):
    %s = arith.addi %b, %c : i32
    cf.br ^end(%s : i32)
  ^end(%r: i32):
    %c2 = arith.constant 2 : i32
    %o2 = tt.addptr %o, %c2 : !tt.ptr<i32>, i32
    tt.store %o2, %r : !tt.ptr<i32>
    tt.return
  }
}""",
        ["*i32", "i32"],
        tmp_path,
    )
    for n, want in ((2, [10, 20, 20]), (5, [20, 30, 15]), (7, [30, 7, 17]), (-1, [30, -1, 50])):
        out = np.zeros(3, np.int32)
        assert program.run((1,), [out, n]) == 0
        assert out.tolist() == want, n


def test_integer_operations_that_the_language_does_not_make(tmp_path):
    """Two results, rounding divisions, index casts; the reference is Python's own integers."""
    two = ["mulsi_extended", "mului_extended", "addui_extended"] + (
        ["subui_extended"] if "arith.subui_extended" in dialect_operations(["arith"]) else []
    )
    one = ["ceildivsi", "ceildivui", "floordivsi"]
    lines, n = [], 0

    def store(value: str, kind: str) -> None:
        nonlocal n
        if kind == "i1":
            lines.append(f"%w{n} = arith.extui {value} : tensor<64xi1> to tensor<64xi32>")
            value = f"%w{n}"
        lines.append(f"%k{n} = arith.constant {n * 64} : i32")
        lines.append(f"%q{n} = tt.addptr %o, %k{n} : !tt.ptr<i32>, i32")
        lines.append(f"%s{n} = tt.splat %q{n} : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>")
        lines.append(f"%p{n} = tt.addptr %s{n}, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32>")
        lines.append(f"tt.store %p{n}, {value} : tensor<64x!tt.ptr<i32>>")
        n += 1

    for name in two:
        second = "i1" if name.startswith(("add", "sub")) else "i32"
        types = "tensor<64xi32>, tensor<64xi1>" if second == "i1" else "tensor<64xi32>"
        lines.append(f"%{name}:2 = arith.{name} %a, %b : {types}")
        store(f"%{name}#0", "i32")
        store(f"%{name}#1", second)
    for name in one:
        lines.append(f"%{name} = arith.{name} %a, %b : tensor<64xi32>")
        store(f"%{name}", "i32")
    for name in ("index_cast", "index_castui"):
        lines.append(f"%{name}_wide = arith.{name} %a : tensor<64xi32> to tensor<64xindex>")
        lines.append(f"%{name}_high = arith.shrui %{name}_wide, %c32 : tensor<64xindex>")
        lines.append(f"%{name} = arith.{name} %{name}_high : tensor<64xindex> to tensor<64xi32>")
        store(f"%{name}", "i32")
    body = "\n".join(lines)
    text = f"""module {{ tt.func public @kernel(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %o: !tt.ptr<i32>) {{
  %c32 = arith.constant dense<32> : tensor<64xindex>
  %r = tt.make_range {{start = 0 : i32, end = 64 : i32}} : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %xp = tt.addptr %xs, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %a = tt.load %xp : tensor<64x!tt.ptr<i32>>
  %ys = tt.splat %y : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %yp = tt.addptr %ys, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %b = tt.load %yp : tensor<64x!tt.ptr<i32>>
  {body}
  tt.return
}} }}"""
    rng = np.random.default_rng(1)
    x = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    y = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    y[::2] = rng.integers(1, 9, 32)
    x[:4], y[:4] = [0, -1, -(2**31), 2**31 - 1], [3, 2, 7, 7]
    out = np.zeros((n, 64), np.int32)
    program = compile_text(text, ["*i32"] * 3, tmp_path)
    assert program.run((1,), [x, y, out]) == 0

    def low(v: int) -> int:
        return (v + 2**31) % 2**32 - 2**31

    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
        ua, ub = a % 2**32, b % 2**32
        want = [low(a * b), low(a * b >> 32), low(ua * ub), low(ua * ub >> 32), low(a + b), int(ua + ub >= 2**32)]
        if len(two) == 4:
            want += [low(a - b), int(ua < ub)]
        want += [low(-(-a // b)), low(-(-ua // ub)), a // b, low((a % 2**64) >> 32), 0]
        assert out[:, i].tolist() == want, (a, b)
