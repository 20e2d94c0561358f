# SPDX-License-Identifier: Apache-2.0
"""The Triton backend: TTIR to C to a shared object.

Registered in the running process; nothing is installed into Triton.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget

from . import toolchain
from .errors import BadOption, XdslMissing
from .lines import with_directives
from .sanitize.checks import VARIABLE, instrument, parse_words

ABI = 2
FP8 = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")

_names: set[str] = {"cpu"}
_lock = threading.Lock()


@dataclass(frozen=True)
class CpuOptions:
    """Compile options: those of Triton's GPU backends, so that any kernel's options are
    accepted. Of them only ``debug``, ``sanitize_overflow`` and the dot options mean
    something here."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 1
    cluster_dims: tuple = (1, 1, 1)
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = False
    sched4reg: bool = False
    enable_reflect_ftz: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    clc: bool = False
    supported_fp8_dtypes: tuple = FP8
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple | None = None
    debug: bool = False
    backend_name: str = "cpu"
    sanitize_overflow: bool = True
    arch: str = "native"
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    min_shared_mem: int | None = None
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    schedule_hint: str = "none"
    sanitize: str = ""  # address, race, numeric: any of them, with commas

    def __post_init__(self) -> None:
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps must be a power of 2, got {self.num_warps}")

    def hash(self) -> str:
        """The options' part of Triton's cache key."""
        text = "_".join(f"{name}-{value}" for name, value in sorted(self.__dict__.items()))
        return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=1)
def generator_version() -> str:
    """Identifies this package by its own files."""
    folder = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".h") and path.is_file():
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class CpuBackend(BaseBackend):
    """See the module's description."""

    binary_ext = "so"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """True for the names given to register()."""
        return target.backend in _names

    def __init__(self, target: GPUTarget) -> None:
        super().__init__(target)
        self.binary_ext = "so"

    def hash(self) -> str:
        """Everything outside kernel and options that changes the object's bytes."""
        compiler = toolchain.find_compiler()
        parts = (
            f"triton_jit_cpu-{ABI}", generator_version(), str(self.target), " ".join(compiler.command),
            compiler.identity, compiler.isa, " ".join((*toolchain.FLAGS, *toolchain.debug_flags())),
            toolchain.keep_folder(),  # a folder that is new gets its copy
        )  # fmt: skip
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def parse_options(self, opts: dict[str, Any]) -> CpuOptions:
        """Takes what it knows and ignores the rest, as Triton's backends do."""
        known = {f.name for f in fields(CpuOptions)}
        args = {k: v for k, v in opts.items() if k in known and v is not None}
        args.setdefault("arch", str(self.target.arch))
        args.setdefault("warp_size", self.target.warp_size)
        if isinstance(args.get("extern_libs"), dict):
            args["extern_libs"] = tuple(sorted(args["extern_libs"].items()))
        args["sanitize"] = ",".join(self._sanitizers(opts.get("sanitize")))
        return CpuOptions(**args)

    def _sanitizers(self, asked: str | None) -> tuple[str, ...]:
        """The option's, or else the environment's; kernels for other vendors' drivers have none."""
        ours = self.target.backend == "cpu"
        if asked is None:
            return parse_words(os.environ.get(VARIABLE, ""), VARIABLE) if ours else ()
        words = parse_words(asked, "the option sanitize")
        if words and not ours:
            raise BadOption(f"the option sanitize is for the backend cpu, not for {self.target.backend}")
        return words

    def pack_metadata(self, metadata: Any) -> tuple:
        """What Triton's own launcher would get; not used by the library."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: CpuOptions) -> dict[str, Any]:
        """Front-end choices: any dot shape is fine."""
        from .convert_custom import convert_custom_float8

        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1), "convert_custom_types": convert_custom_float8}

    def get_module_map(self) -> dict[str, ModuleType]:
        """libdevice functions keep the names of the CUDA ones and are lowered to libm."""
        from triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, ctx: Any) -> None:
        """TTIR's own dialects suffice."""

    def add_stages(self, stages: dict[str, Any], options: CpuOptions, language: Any = None) -> None:
        """ttir -> c -> so."""
        stages["ttir"] = lambda module, metadata: self.make_ttir(module, metadata, options)
        stages["c"] = lambda module, metadata: self.make_c(module, metadata, options)
        stages["so"] = lambda c, metadata: self.make_so(c, metadata, options)

    @staticmethod
    def make_ttir(module: Any, metadata: dict[str, Any], options: CpuOptions) -> Any:
        """Triton's target-independent passes."""
        pm = ir.pass_manager(module.context)
        passes.common.add_inliner(pm)
        if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):
            passes.ttir.add_rewrite_tensor_pointer(pm)
        passes.ttir.add_rewrite_tensor_descriptor_to_pointer(pm)
        passes.common.add_canonicalizer(pm)
        passes.ttir.add_combine(pm)
        passes.ttir.add_reorder_broadcast(pm)
        passes.common.add_cse(pm)
        passes.ttir.add_triton_licm(pm)
        passes.common.add_symbol_dce(pm)
        passes.ttir.add_loop_unroll(pm)
        pm.run(module, "make_ttir")
        return module

    @staticmethod
    def make_c(module: Any, metadata: dict[str, Any], options: CpuOptions) -> str:
        """Lowers TTIR to C."""
        from .module import ModuleEmitter
        from .ttir import generic_text, parse

        text = generic_text(module, ir.builder(module.context))
        parsed = parse(text)
        frames = parsed.entry.loc.frames
        title = f"{frames[0][0].rsplit('/', 1)[-1]}:{frames[0][1]}" if frames else "TTIR"
        words = tuple(word for word in options.sanitize.split(",") if word)
        instrument(parsed, words)
        made = ModuleEmitter(parsed, options.debug, title.replace("*/", ""), words).generate()
        metadata["name"] = made.name
        metadata["shared"] = 0
        metadata["lines"] = made.lines
        metadata["cpu"] = {
            "abi": ABI,
            "flags": made.flags,
            "scratch_size": made.scratch_size,
            "params_size": made.params_size,
        }
        return made.c

    @staticmethod
    def make_so(c: str, metadata: dict[str, Any], options: CpuOptions) -> bytes:
        """Compiles the C."""
        name = metadata.get("name", "kernel")
        toolchain.keep(c, name)
        located = with_directives(c, f"{name}.c", metadata.get("lines"))
        return toolchain.compile_shared(located, toolchain.find_compiler(), name, options.debug)


def register(names: Iterable[str] = ("cpu",)) -> None:
    """Makes Triton compile for the CPU in this process, under the given target names.

    Idempotent and thread-safe. Raises ModuleNotFoundError naming xdsl where that is missing.
    A vendor's name ("cuda", "musa") makes kernels for devices of that vendor run on the CPU, for
    fakes of them; Triton wants one backend for a name, so one of Triton's own that has it is
    put aside in this process.
    """
    try:
        import xdsl  # noqa: F401
    except ModuleNotFoundError as error:
        raise XdslMissing(str(error)) from error
    from triton.backends import Backend, backends

    from .driver import CpuDriver

    with _lock:
        _names.update(names)
        for name, other in list(backends.items()):
            if other.compiler is not CpuBackend and any(_takes(other.compiler, n) for n in _names):
                del backends[name]
        if "cpu" not in backends:
            backends["cpu"] = Backend(compiler=CpuBackend, driver=CpuDriver)


def _takes(compiler: type[BaseBackend], name: str) -> bool:
    """True if a backend compiles for targets of a name, whatever the device."""
    return any(compiler.supports_target(GPUTarget(name, arch, 32)) for arch in (90, "gfx942", "native"))
