# SPDX-License-Identifier: Apache-2.0
"""Puts the C file of a kernel together: helpers, functions, entry points."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import ctype
from . import ops as _ops  # noqa: F401  (fills the tables)
from .buffers import Buffer, place
from .errors import UnsupportedOp
from .func import FuncEmitter
from .ir import Func, Module, Op, Other, Scalar, Tile, Type, walk
from .library import library
from .lines import Line, commented, runs
from .location import user_frame
from .names import Names, c_string
from .sanitize.sites import Site
from .tidy import remove_unused

FOLDER = Path(__file__).resolve().parent


@dataclass
class Generated:
    """A finished C file and what the library must know about it."""

    c: str
    lines: dict[str, Any]  # lines.runs()
    name: str
    flags: int
    scratch_size: int
    params_size: int
    n_params: int


class ModuleEmitter:
    """Emits a module."""

    def __init__(self, module: Module, debug: bool, title: str, sanitize: tuple[str, ...] = ()) -> None:
        self.module = module
        self.debug = debug
        self.title = title
        self.sanitize = sanitize
        self.entry = module.entry
        self.by_name = {f.name: f for f in module.funcs}
        self.ordered = False
        self.may_wait = any(_may_wait(op) for func in module.funcs for op in walk(func.body))
        # Not where other programs may look at what this one stored while it still runs.
        self.may_stream = not self.may_wait and not sanitize
        self.streamed: set[Op] = set()  # stores that have a version which goes past the caches
        self.sites: dict[Site, int] = {}
        self.scratch_sizes: dict[str, int] = {}
        self.tables: dict[tuple[str, tuple[int, ...]], str] = {}
        self.table_lines: list[str] = []
        self.c_names: dict[str, str] = {}
        self.buffer_count = 0
        names = Names()
        for func in module.funcs:
            # Never a name of the C library: a static function 'memcpy' would take its calls.
            role = "program" if func is self.entry else "function"
            self.c_names[func.name] = names.fresh(f"{_short_name(func.name)}_{role}")
        # What a local variable must not be called: it would hide a function that is used.
        self.reserved = frozenset(library().owner) | frozenset(self.c_names.values())

    # Services for functions

    def next_buffer(self) -> int:
        """A number for a buffer."""
        self.buffer_count += 1
        return self.buffer_count

    def c_name(self, func: Func) -> str:
        """The C name of a function."""
        return self.c_names[func.name]

    def site(self, site: Site) -> int:
        """The number of an operation that a sanitizer may speak of."""
        return self.sites.setdefault(site, len(self.sites))

    def table(self, type_: Tile, bits: list[int]) -> str:
        """A static table for a constant tile that is not all one number."""
        kind = ctype.memory(type_)
        key = (kind, tuple(bits))
        if key not in self.tables:
            name = f"tj_table_{len(self.tables)}"
            self.tables[key] = name
            raw = [ctype.literal(type_, b, ctype.RAW) for b in bits]
            raw = ["1" if r == "true" else "0" if r == "false" else r for r in raw]
            self.table_lines.append(f"static const {kind} {name}[{len(bits)}] = {{{', '.join(raw)}}};")
        return self.tables[key]

    # Assembly

    def generate(self) -> Generated:
        """The C file."""
        lines: list[str] = []
        for func in _callees_first(self.module):
            lines += [*self._function(func), ""]
        entry, size, count = self._entry()
        lines.append(entry)
        body = "\n".join(lines)
        tables = "\n".join([*self._site_lines(), *self.table_lines])
        helpers = library().needed(body)
        abi = (FOLDER / "cpu_abi.h").read_text(encoding="utf-8")
        parts = [
            f"/* Generated from {self.title} by the CPU backend of libtriton_jit. */",
            "#include <stdbool.h>\n" + abi.rstrip(),
            helpers,
            tables,
        ]
        head = "\n\n".join(p for p in parts if p) + "\n"
        return Generated(
            c=f"{head}\n{body}\n",
            lines=runs([head, *lines]),
            name=self.entry.name,
            flags=sum(self._flags().values()),
            scratch_size=(self.scratch_sizes[self.entry.name] + 63) // 64 * 64,
            params_size=size,
            n_params=count,
        )

    def _function(self, func: Func) -> list[str]:
        emitter: FuncEmitter | None = None
        try:
            emitter = FuncEmitter(self, func)
            return self._function_lines(func, emitter)
        except UnsupportedOp as error:
            error.located(emitter.loc() if emitter else func.loc)
            for call in self._calls_to(func):
                error.called_from(call.loc)
            raise

    def _calls_to(self, func: Func) -> list[Op]:
        """One way from the kernel to a function: the calls, innermost first."""
        calls: list[Op] = []
        while func is not self.entry:
            func, call = next(
                (caller, op)
                for caller in self.module.funcs
                for op in walk(caller.body)
                if op.name == "tt.call" and op.attrs["callee"] == func.name
            )
            calls.append(call)
        return calls

    def _function_lines(self, func: Func, emitter: FuncEmitter) -> list[str]:
        params = ["const tj_program *pg", "char *scratch"]
        for arg in func.args:
            params.append(self._argument(emitter, arg))
        if func is not self.entry:
            for number, result in enumerate(func.results):
                name = emitter.fresh("result")
                if isinstance(result, Tile):
                    buffer = Buffer(name, result.shape, result, ctype.RAW, self.next_buffer(), 0, 0, True)
                    emitter.result_buffers[number] = buffer
                    params.append(f"{ctype.declare(_pointer_to(buffer.ctype), name)}")
                else:
                    params.append(f"{ctype.local(result)} *{name}")
                emitter.results.append(name)
        emitter.emit()
        lines = remove_unused(emitter.code, emitter.top)
        offsets, size = place(emitter.buffers, emitter.loop_spans)
        self.scratch_sizes[func.name] = size
        code = [_with_offsets("  " + line, offsets) for line in commented(lines)]
        text = "\n".join(line for line in code if not line.lstrip().startswith("/*"))  # comments use nothing
        head = Line(f"static int32_t {self.c_name(func)}({', '.join(params)}) {{", user_frame(func.loc))
        unused = [
            f"  (void){name};" for name in ("pg", "scratch", *emitter.results) if not re.search(rf"\b{name}\b", text)
        ]
        unused += [
            f"  (void){emitter.env[a].text if a in emitter.env else emitter.buffers_of[a].name};"
            for a in func.args
            if not re.search(rf"\b{(emitter.env[a].text if a in emitter.env else emitter.buffers_of[a].name)}\b", text)
        ]
        return [head, *unused, *code, "}"]

    def _argument(self, emitter: FuncEmitter, arg: object) -> str:
        type_: Type = arg.type  # type: ignore[attr-defined]
        name = emitter.fresh(arg.name or "arg")  # type: ignore[attr-defined]
        if isinstance(type_, Tile):
            buffer = Buffer(name, type_.shape, type_, ctype.RAW, self.next_buffer(), 0, 0, True)
            emitter.buffers_of[arg] = buffer  # type: ignore[index]
            return ctype.declare(_pointer_to(buffer.ctype), name)
        if isinstance(type_, Other):
            raise UnsupportedOp(str(type_), emitter.func.loc, f"the type of parameter '{name}' is not supported")
        if emitter.is_public():
            form = ctype.RAW if ctype.is_narrow(type_) else ctype.NUM
        else:
            form = ctype.NUM
        emitter.bind(arg, name, form)  # type: ignore[arg-type]
        return ctype.declare(ctype.local(type_, form), name)

    def streams(self, store: Op) -> None:
        """Notes that a store has a version that goes past the caches."""
        self.streamed.add(store)

    def _stored_bytes(self) -> int:
        """What the stores of that kind of one program store, if each is executed once."""
        return sum(op.operands[1].type.size * ctype.size(op.operands[1].type) for op in self.streamed)  # type: ignore[union-attr]

    def _flags(self) -> dict[str, int]:
        """The artifact's flags, by their names in cpu_abi.h."""
        known = {"TJ_CPU_ORDERED": 1, "TJ_CPU_ADDRESS": 2, "TJ_CPU_RACE": 4, "TJ_CPU_NUMERIC": 8}
        wanted = {f"TJ_CPU_{word.upper()}" for word in self.sanitize}
        if self.ordered:
            wanted.add("TJ_CPU_ORDERED")
        return {name: bit for name, bit in known.items() if name in wanted}

    def _site_lines(self) -> list[str]:
        """What sanitizers say of operations and parameters."""
        if not self.sanitize:
            return []
        names = ", ".join(c_string(arg.name or "?") for arg in self.entry.args) or "NULL"
        lines = [f"static const char *const tj_parameters[] = {{{names}}};"]
        if self.sites:
            sites = ",\n".join("  " + site.c() for site in self.sites)
            lines.append(f"static const tj_cpu_site tj_sites[{len(self.sites)}] = {{\n{sites}}};")
        return lines

    def _entry(self) -> tuple[str, int, int]:
        """The parameters' layout and the two exported symbols."""
        names = Names()
        fields, args, size = [], [], 0
        for arg in self.entry.args:
            width = ctype.size(arg.type)
            size = (size + width - 1) // width * width + width
            name = names.fresh(arg.name or "arg")
            kind = ctype.memory(arg.type)
            fields.append(f"  {ctype.declare(kind, name, False)};")
            args.append(f"p->{name} != 0" if ctype.elem(arg.type) == Scalar("i1") else f"p->{name}")
        count = len(self.entry.args)
        scratch = (self.scratch_sizes[self.entry.name] + 63) // 64 * 64
        flags = " | ".join(self._flags()) or "0"
        names_of = "tj_parameters" if self.sanitize else "NULL"
        struct = "\n".join(["typedef struct tj_params {", *fields, "} tj_params;"]) if fields else ""
        call = ", ".join(["&pg", "scratch", *args])
        streams = f"tj_streams(grid, {self._stored_bytes()})" if self.streamed else "false"
        end = "  if (pg.streams) tj_stream_end();\n" if self.streamed else ""
        run = f"""\
TJ_EXPORT const tj_cpu_info tj_cpu_info_1 = {{TJ_CPU_ABI, {flags}, {scratch}u, {size}u, {count}u,
    {names_of}}};

TJ_EXPORT int32_t tj_cpu_run_1(const void *params, const uint32_t grid[3], uint64_t first, uint64_t last,
                               void *scratch, const tj_cpu_host *host) {{
  {"const tj_params *const p = params;" if fields else "(void)params;"}
  tj_program pg = {{{{0, 0, 0}}, {{grid[0], grid[1], grid[2]}}, host, {streams}}};
  int32_t stopped = 0;
  for (uint64_t id = first; id < last && stopped == 0; id++) {{
    const uint64_t row = id / grid[0];
    pg.pid[0] = (uint32_t)(id % grid[0]);
    pg.pid[1] = (uint32_t)(row % grid[1]);
    pg.pid[2] = (uint32_t)(row / grid[1]);
    stopped = {self.c_name(self.entry)}({call});
  }}
{end}  return stopped;
}}"""
        return (struct + "\n\n" + run if struct else run), size, count


def _pointer_to(kind: str) -> str:
    return f"{kind}*" if kind.endswith("*") else f"{kind} *"


def _with_offsets(line: str, offsets: dict[int, int]) -> str:
    """A line with the places of buffers in it."""
    text = re.sub(r"@(\d+)@", lambda m: str(offsets.get(int(m.group(1)), 0)), line)
    return line.become(text) if isinstance(line, Line) else text


def _may_wait(op: Op) -> bool:
    """True for what a program can look at another one's progress with."""
    return op.name.startswith("tt.atomic_") or op.name == "tt.load" and bool(op.attrs.get("isVolatile"))


def _short_name(name: str) -> str:
    """A readable C name from Triton's mangled one."""
    return name.split("__", 1)[0].rsplit(".", 1)[-1] if "." in name else name


def _callees_first(module: Module) -> list[Func]:
    """All functions that the kernel reaches, each behind those it calls."""
    by_name = {f.name: f for f in module.funcs}
    done: list[Func] = []
    active: set[str] = set()

    def visit(func: Func, via: Op | None) -> None:
        if func in done:
            return
        if func.name in active:
            raise UnsupportedOp(
                "tt.call",
                via.loc if via else None,
                f"'{_short_name(func.name)}' calls itself; scratch memory for tiles is laid out when a kernel is"
                " compiled, so write the recursion as a loop",
            )
        active.add(func.name)
        for op in walk(func.body):
            if op.name == "tt.call" and op.attrs["callee"] in by_name:
                visit(by_name[op.attrs["callee"]], op)
        active.discard(func.name)
        done.append(func)

    visit(module.entry, None)
    return done
