# SPDX-License-Identifier: Apache-2.0
"""Every operation that TTIR of Triton 3.6 to 3.9 can hold, and what becomes of it.

The kinds of the lowered ones are those of registry.py, plus

* *loop*: a loop nest of its own (nest/roots.py);
* *part*: belongs to another operation, which reads it;
* *pass*: one of Triton's passes, which make_ttir runs, replaces it before the C is written;
* *refused*: no kernel leads to it, or none that a CPU can run; the note is what a message says.

``python3 -m triton_jit_cpu.optable`` prints the table with the lowering functions.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What becomes of one operation."""

    kind: str
    note: str = ""


_LOWERED = {
    ("elementwise", "arith"): """
        addf addi addui_extended andi ceildivsi ceildivui cmpf cmpi divf divsi divui extf extsi extui floordivsi
        flush_denormals fptosi fptoui index_cast index_castui maximumf maxnumf maxsi maxui minimumf minnumf minsi
        minui mulf muli mulsi_extended mului_extended negf ori remf remsi remui select shli shrsi shrui sitofp subf
        subi subui_extended trunci uitofp xori""",
    ("elementwise", "math"): """
        absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh ctlz ctpop cttz erf erfc
        exp exp2 expm1 floor fma fpowi ipowi isfinite isinf isnan isnormal log log10 log1p log2 powf round roundeven
        rsqrt sin sincos sinh sqrt tan tanh trunc""",
    ("elementwise", "tt"): """
        addptr approx_divf clampf int_to_ptr mulhiui precise_divf precise_sqrt ptr_to_int""",
    ("indexing", "arith"): "bitcast constant convertf truncf",
    ("indexing", "tt"): """
        bitcast broadcast cat expand_dims extern_elementwise fp_to_fp gather get_num_programs get_program_id join
        load make_range reshape splat split trans unsplat map_elementwise""",
    ("indexing", "ub"): "poison",
    ("statement", "cf"): "assert br cond_br switch",
    ("statement", "scf"): "condition execute_region for if index_switch while yield",
    ("statement", "tt"): """
        assert atomic_cas atomic_load atomic_poll atomic_rmw atomic_store call dot dot_scaled elementwise_inline_asm
        grid_dependency_launch_dependents grid_dependency_wait histogram print return scan""",
    ("statement", "ub"): "unreachable",
    # What the front end takes from other dialects: tl.debug_barrier and tl.assume.
    ("statement", "gpu"): "barrier",
    ("statement", "ttg"): "barrier",
    ("statement", "llvm"): "intr.assume",
    ("loop", "tt"): "reduce store",
    ("part", "tt"): "func map_elementwise.return reduce.return scan.return",
}

_POINTERS = "triton-rewrite-tensor-pointer makes plain pointers and masks of it"
_DESCRIPTORS = "triton-rewrite-tensor-descriptor-to-pointer makes pointers, masks and atomics of it"
_PARALLEL = "neither Triton's language nor its passes make it; write the loop with tl.range"
_SCALING = "neither Triton's language nor its passes make it; scale with tl.dot_scaled, or multiply"

_OTHERS = {
    "tt.make_tensor_ptr": Row("pass", _POINTERS),
    "tt.advance": Row("pass", _POINTERS),
    **{
        f"tt.{name}": Row("pass", _DESCRIPTORS)
        for name in (
            "make_tensor_descriptor", "descriptor_load", "descriptor_store", "descriptor_gather",
            "descriptor_scatter", "descriptor_reduce",
        )
    },
    **{
        f"scf.{name}": Row("refused", _PARALLEL)
        for name in ("parallel", "forall", "forall.in_parallel", "reduce", "reduce.return")
    },
    "arith.scaling_extf": Row("refused", _SCALING),
    "arith.scaling_truncf": Row("refused", _SCALING),
}  # fmt: skip

TABLE: dict[str, Row] = {
    **{f"{dialect}.{name}": Row(kind) for (kind, dialect), names in _LOWERED.items() for name in names.split()},
    **_OTHERS,
}


def refusal(name: str) -> str:
    """Why an operation has no lowering, and what to do."""
    row = TABLE.get(name)
    if row is None:
        return "it is not known here; use a Triton release from 3.6 to 3.9, or write the kernel without it"
    if row.kind == "pass":
        return f"{row.note}, but did not here; write the access with plain pointers"
    return row.note or "it cannot stand here"


def lowering(name: str) -> str:
    """The function that lowers an operation, as ``module.function``; "" for kinds without one."""
    from . import registry

    function = {
        "elementwise": lambda: registry.ELEMENTWISE[name].lower,
        "indexing": lambda: registry.INDEXING[name],
        "statement": lambda: registry.STATEMENT[name],
    }.get(TABLE[name].kind)
    if function is None:
        return ""
    found = function()
    return f"{found.__module__.removeprefix(__package__ + '.')}.{found.__qualname__.split('.')[0]}"


def _print() -> None:
    from . import ops

    assert ops
    for name, row in sorted(TABLE.items()):
        print(f"{name:40} {row.kind:12} {lowering(name) or row.note}".rstrip())


if __name__ == "__main__":
    _print()
