# SPDX-License-Identifier: Apache-2.0
"""The public headers of libtriton_jit for Python tests: a thin ctypes layer.

    tj = Library("build/release/lib/libtriton_jit.so")
    add = tj.function("kernels/add.py", "add_kernel")
    add((4,), x, y, out, n, 1024)                     # NumPy arrays are pointers
    add.prepare(spec_ptr("fp32", aligned=False), ...) # kernels

A failed call raises TritonJitError with the status's name and the message. Python values become
arguments by the rules of ``arg``; the makers below have the names of include/triton_jit/arg.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from ctypes import c_uint8 as u8
from ctypes import c_uint16 as u16
from ctypes import c_uint32 as u32
from ctypes import c_uint64 as u64
from typing import Any

import numpy as np

DTYPES = {
    name: number
    for number, name in enumerate(
        "u1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b8 fp8e5b16 fp8e4b15 void".split(), 1
    )
}
KINDS = {
    name: number
    for number, name in enumerate(
        "default none bool int uint float scalar pointer buffer tensor string dtype tuple function tensor_desc spec "
        "keyword".split()
    )
}
SPEC_POINTER, SPEC_ALIGNED, SPEC_DESC = 1, 2, 4
PADDING_ZERO, PADDING_NAN = 0, 1
DESC_ROUND_TF32 = 1
FUNCTION_TEXT = 1
LAUNCH_UNCHECKED = 1
LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG = 1, 2, 3, 4
PARAM_CONSTEXPR, PARAM_CONST, PARAM_DEFAULT, PARAM_TUNED, PARAM_NO_SPECIALIZE, PARAM_NO_ALIGNMENT = 1, 2, 4, 8, 16, 32
COMPILER_EMBEDDED, COMPILER_WORKER = 1, 2

_NUMPY = {
    "bool": "u1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "fp16", "float32": "fp32", "float64": "fp64",
}  # fmt: skip


class TritonJitError(Exception):
    """A failed call: ``name`` without "TJ_" ("E_SYNTAX"), ``message``, ``status``."""

    def __init__(self, status: int, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.status, self.name, self.message = status, name, message


# ---- structs --------------------------------------------------------------------------------------


class _Value(ctypes.Union):
    _fields_ = [("i", c_int64), ("u", u64), ("f", c_double), ("ptr", c_void_p)]


class Arg(Structure):
    """tj_arg; ``keep`` holds what it points to."""

    _fields_ = [("kind", u8), ("flags", u8), ("dtype", u16), ("aux", u32), ("v", _Value)]
    keep: Any = None


class Buffer(Structure):
    """tj_buffer."""

    _fields_ = [
        ("struct_size", u32), ("dtype", u16), ("reserved", u16), ("ptr", c_void_p), ("size", u64), ("device", c_int32),
        ("reserved2", c_int32),
    ]  # fmt: skip


class TensorDesc(Structure):
    """tj_tensor_desc."""

    _fields_ = [
        ("struct_size", u32), ("dtype", u16), ("rank", u8), ("padding", u8), ("base", c_void_p), ("shape", c_int64 * 5),
        ("strides", c_int64 * 5), ("block", u32 * 5), ("flags", u32),
    ]  # fmt: skip


class Option(Structure):
    """tj_option."""

    _fields_ = [("name", c_char_p), ("value", Arg)]


class Error(Structure):
    """tj_error."""

    _fields_ = [
        ("struct_size", u32), ("status", c_int32), ("text", c_void_p), ("capacity", c_size_t), ("length", c_size_t),
    ]  # fmt: skip


class FunctionDesc(Structure):
    """tj_function_desc."""

    _fields_ = [
        ("struct_size", u32), ("flags", u32), ("source", c_char_p), ("name", c_char_p), ("backend", c_char_p),
        ("text", c_char_p), ("text_size", c_size_t), ("options", u32), ("reserved", u32), ("error", POINTER(Error)),
    ]  # fmt: skip


class ParamInfo(Structure):
    """tj_param_info."""

    _fields_ = [("struct_size", u32), ("flags", u32), ("name", c_char_p), ("type", c_char_p)]


class FunctionInfo(Structure):
    """tj_function_info."""

    _fields_ = [
        ("struct_size", u32), ("n_params", u32), ("name", c_char_p), ("source", c_char_p), ("backend", c_char_p),
        ("cache_key", c_char_p), ("triton", c_char_p),
    ]  # fmt: skip


class Target(Structure):
    """tj_target."""

    _fields_ = [("struct_size", u32), ("warp_size", u32), ("backend", c_char_p), ("arch", c_char_p)]


GRID_FN = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(u32), c_void_p)


class Launch(Structure):
    """tj_launch."""

    _fields_ = [
        ("struct_size", u32), ("flags", u32), ("device", c_int32), ("num_warps", u32), ("stream", c_void_p),
        ("grid", u32 * 3), ("num_stages", u32), ("grid_fn", GRID_FN), ("grid_user", c_void_p), ("num_ctas", u32),
        ("options", u32), ("target", POINTER(Target)), ("tuned", c_void_p), ("error", POINTER(Error)),
    ]  # fmt: skip


class KernelInfo(Structure):
    """tj_kernel_info."""

    _fields_ = [
        ("struct_size", u32), ("num_warps", u32), ("warp_size", u32), ("num_stages", u32), ("num_ctas", u32),
        ("shared", u32), ("n_params", u32), ("params_size", u32), ("name", c_char_p), ("hash", c_char_p),
        ("backend", c_char_p), ("arch", c_char_p), ("types", c_char_p), ("variant", c_char_p), ("metadata", c_char_p),
        ("function", c_void_p),
    ]  # fmt: skip


class KernelParam(Structure):
    """tj_kernel_param."""

    _fields_ = [("struct_size", u32), ("dtype", u16), ("pointer", u8), ("size", u8), ("offset", u32)]


class CompilerOptions(Structure):
    """tj_compiler_options."""

    _fields_ = [("struct_size", u32), ("mode", u32), ("python", c_char_p), ("scripts", c_char_p)]


class BackendInfo(Structure):
    """tj_backend_info."""

    _fields_ = [
        ("struct_size", u32), ("available", c_int32), ("devices", c_int32), ("reserved", u32), ("name", c_char_p),
        ("reason", c_char_p),
    ]  # fmt: skip


class Event(Structure):
    """tj_event."""

    _fields_ = [
        ("struct_size", u32), ("status", c_int32), ("function", c_void_p), ("kernel", c_void_p), ("name", c_char_p),
        ("variant", c_char_p), ("stream", c_void_p), ("device", c_int32), ("grid", u32 * 3), ("nanoseconds", u64),
    ]  # fmt: skip


LOG_FN = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
HOOK_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Event))
PREPARED_FN = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_void_p, c_char_p)


class Hooks(Structure):
    """tj_hooks."""

    _fields_ = [
        ("struct_size", u32), ("reserved", u32), ("user", c_void_p), ("enter", HOOK_FN), ("exit", HOOK_FN),
        ("compile", HOOK_FN), ("load", HOOK_FN), ("unload", HOOK_FN),
    ]  # fmt: skip


class Stats(Structure):
    """tj_stats."""

    _fields_ = [("struct_size", u32), ("reserved", u32)] + [
        (name, u64)
        for name in "hits misses launches compiles loads failures variants compile_ns load_ns wait_ns".split()
    ]


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", u8),
        ("bits", u8), ("lanes", u16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", u64),
    ]  # fmt: skip


def _sized(kind: Any, **fields: Any) -> Any:
    return kind(struct_size=ctypes.sizeof(kind), **fields)


def _text(value: bytes | None) -> str:
    return (value or b"").decode()


def record(struct: Structure) -> dict[str, Any]:
    """A filled-in info struct as a dictionary, texts decoded."""
    values = {}
    for name, kind in struct._fields_:
        if name not in ("struct_size", "reserved"):
            value = getattr(struct, name)
            if isinstance(value, ctypes.Array):
                value = list(value)
            values[name] = _text(value) if kind is c_char_p else value
    return values


# ---- makers ---------------------------------------------------------------------------------------


def _make(kind: str, *, flags: int = 0, dtype: str = "", aux: int = 0, keep: Any = None) -> Arg:
    made = Arg(KINDS[kind], flags, DTYPES[dtype] if dtype else 0, aux)
    made.keep = keep
    return made


def default() -> Arg:
    """The parameter's own default."""
    return _make("default")


def scalar(dtype: str, value: int | float) -> Arg:
    """A scalar of a forced type; fp8 types take their byte."""
    made = _make("scalar", dtype=dtype)
    if dtype.startswith("u") or dtype.startswith("fp8"):
        made.v.u = value
    elif dtype.startswith("i"):
        made.v.i = value
    else:
        made.v.f = value
    return made


def ptr(where: Any, dtype: str = "", offset: int = 0) -> Arg:
    """A pointer to an array, or to an address (0 is null), ``offset`` bytes further on."""
    if isinstance(where, np.ndarray):
        dtype, address = dtype or _NUMPY[where.dtype.name], where.ctypes.data
    else:
        address = where
    made = _make("pointer", dtype=dtype, keep=where)
    made.v.ptr = address + offset
    return made


def buf(array: np.ndarray, dtype: str = "", size: int | None = None) -> Arg:
    """A pointer with its extent in bytes."""
    dtype = dtype or _NUMPY[array.dtype.name]
    size = array.nbytes if size is None else size
    view = _sized(Buffer, dtype=DTYPES[dtype], ptr=array.ctypes.data, size=size, device=-1)
    made = _make("buffer", keep=(view, array))
    made.v.ptr = ctypes.addressof(view)
    return made


def tensor(array: Any, byte_offset: int | None = None) -> Arg:
    """The DLTensor of ``array.__dlpack__()``; ``byte_offset`` moves its start within the same data."""
    capsule = array.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    address = get_pointer(capsule, b"dltensor")
    if byte_offset is not None:
        _DLTensor.from_address(address).byte_offset = byte_offset
    made = _make("tensor", keep=(capsule, array))
    made.v.ptr = address
    return made


def tensor_desc(array: np.ndarray, block: Sequence[int], dtype: str = "", **fields: Any) -> TensorDesc:
    """A descriptor of the whole array; ``fields`` replace what follows from it."""
    fields.setdefault("shape", array.shape)
    fields.setdefault("strides", [stride // array.itemsize for stride in array.strides])
    made = _sized(TensorDesc, dtype=DTYPES[dtype or _NUMPY[array.dtype.name]], rank=len(block), base=array.ctypes.data)
    for name, value in {**fields, "block": block}.items():
        if isinstance(value, (tuple, list)):
            getattr(made, name)[: len(value)] = value
        else:
            setattr(made, name, value)
    return made


def desc(array: np.ndarray, block: Sequence[int], dtype: str = "", **fields: Any) -> Arg:
    """A tensor descriptor as an argument."""
    view = tensor_desc(array, block, dtype, **fields)
    made = _make("tensor_desc", keep=(view, array))
    made.v.ptr = ctypes.addressof(view)
    return made


def spec_desc(dtype: str, block: Sequence[int]) -> Arg:
    """A tensor descriptor's class, for prepare."""
    view = _sized(TensorDesc, dtype=DTYPES[dtype], rank=len(block), block=(u32 * 5)(*block))
    made = _make("spec", flags=SPEC_DESC, keep=view)
    made.v.ptr = ctypes.addressof(view)
    return made


def string(value: str | bytes) -> Arg:
    """A string constant."""
    data = value.encode() if isinstance(value, str) else value
    kept = ctypes.create_string_buffer(data, len(data) or 1)
    made = _make("string", aux=len(data), keep=kept)
    made.v.ptr = ctypes.addressof(kept)
    return made


def dtype(name: str) -> Arg:
    """A dtype as a value."""
    return _make("dtype", dtype=name)


def spec_ptr(dtype: str, aligned: bool) -> Arg:
    """A pointer's type and class, for prepare."""
    return _make("spec", dtype=dtype, flags=SPEC_POINTER | (SPEC_ALIGNED if aligned else 0))


def spec(dtype: str, multiple_of_16: bool) -> Arg:
    """A scalar's type and class, for prepare."""
    return _make("spec", dtype=dtype, flags=SPEC_ALIGNED if multiple_of_16 else 0)


def arg(value: Any) -> Arg:
    """A Python value as an argument: as the same value given to ``kernel[grid](...)``."""
    if isinstance(value, Arg):
        return value
    if value is None:
        return _make("none")
    if isinstance(value, (bool, np.bool_)):
        made = _make("bool")
        made.v.i = int(value)
    elif isinstance(value, (int, np.integer)):
        made = _make("uint" if value >= 2**63 else "int")
        if value >= 2**63:
            made.v.u = int(value)
        else:
            made.v.i = int(value)
    elif isinstance(value, (float, np.floating)):
        made = _make("float")
        made.v.f = float(value)
    elif isinstance(value, str):
        made = string(value)
    elif isinstance(value, np.ndarray):
        made = ptr(value)
    elif isinstance(value, tuple):
        items = args_array(value)
        made = _make("tuple", aux=len(value), keep=items)
        made.v.ptr = ctypes.addressof(items)
    elif isinstance(value, Function):
        made = _make("function", keep=value)
        made.v.ptr = value.handle
    else:
        raise TypeError(f"{value!r} is no argument")
    return made


def args_array(values: Iterable[Any]) -> Any:
    """An array of tj_arg that keeps alive what it points to."""
    made = [arg(value) for value in values]
    array = (Arg * max(1, len(made)))(*made)
    array.keep = made
    return array


# ---- the library ----------------------------------------------------------------------------------


class Kernel:
    """tj_kernel: a compiled variant."""

    def __init__(self, library: Library, handle: int) -> None:
        self.library, self.handle = library, handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    @property
    def info(self) -> dict[str, Any]:
        """tj_kernel_get_info."""
        info = _sized(KernelInfo)
        self.library.check(self.library.c.tj_kernel_get_info(self.handle, byref(info)))
        return record(info)

    def param(self, index: int) -> dict[str, Any]:
        """tj_kernel_get_param."""
        info = _sized(KernelParam)
        self.library.check(self.library.c.tj_kernel_get_param(self.handle, index, byref(info)))
        return record(info)

    def asm(self, stage: str) -> bytes:
        """tj_kernel_get_asm."""
        data, size = c_void_p(), c_size_t()
        self.library.check(self.library.c.tj_kernel_get_asm(self.handle, stage.encode(), byref(data), byref(size)))
        return ctypes.string_at(data, size.value)

    def launch(self, grid: Sequence[int], *args: Any, **fields: Any) -> None:
        """tj_kernel_launch."""
        launch = self.library.launch(grid, **fields)
        self.library.check(self.library.c.tj_kernel_launch(self.handle, byref(launch), args_array(args), len(args)))


class Function:
    """tj_function."""

    def __init__(self, library: Library, handle: int) -> None:
        self.library, self.handle = library, handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __call__(self, grid: Any, *args: Any, keywords: dict[str, Any] | None = None, **fields: Any) -> None:
        """tj_function_call. ``fields`` are tj_launch's, and ``error``, a tj_error."""
        launch, array, n = self._call(grid, args, keywords, fields)
        self.library.check(self.library.c.tj_function_call(self.handle, byref(launch), array, n))

    def prepare(self, *args: Any, keywords: dict[str, Any] | None = None, **fields: Any) -> Kernel:
        """tj_function_prepare."""
        launch, array, n = self._call((1,), args, keywords, fields)
        kernel = c_void_p()
        self.library.check(self.library.c.tj_function_prepare(self.handle, byref(launch), array, n, byref(kernel)))
        return Kernel(self.library, kernel.value)

    def prepare_async(self, done: Callable[[str, Kernel | None, str], None], *args: Any, **fields: Any) -> Any:
        """tj_function_prepare_async; keep what it returns until ``done`` was called."""

        def told(_: int, status: int, kernel: int, message: bytes) -> None:
            done(self.library.status_name(status), Kernel(self.library, kernel) if kernel else None, _text(message))

        launch, array, n = self._call((1,), args, None, fields)
        callback = PREPARED_FN(told)
        self.library.check(
            self.library.c.tj_function_prepare_async(self.handle, byref(launch), array, n, callback, None)
        )
        return callback

    def is_prepared(self, *args: Any, **fields: Any) -> bool:
        """tj_function_is_prepared."""
        launch, array, n = self._call((1,), args, None, fields)
        answer = c_int()
        self.library.check(self.library.c.tj_function_is_prepared(self.handle, byref(launch), array, n, byref(answer)))
        return bool(answer.value)

    def _call(self, grid: Any, args: Sequence[Any], keywords: dict[str, Any] | None, fields: dict[str, Any]) -> Any:
        values = list(args)
        for name, value in (keywords or {}).items():
            inner = arg(value)
            outer = _make("keyword", aux=self.param_index(name), keep=inner)
            outer.v.ptr = ctypes.addressof(inner)
            values.append(outer)
        return self.library.launch(grid, **fields), args_array(values), len(values)

    def on(self, backend: str) -> Function:
        """tj_function_on."""
        out = c_void_p()
        self.library.check(self.library.c.tj_function_on(self.handle, backend.encode(), byref(out)))
        return Function(self.library, out.value)

    def param_index(self, name: str) -> int:
        """tj_function_param_index."""
        out = u32()
        self.library.check(self.library.c.tj_function_param_index(self.handle, name.encode(), byref(out)))
        return out.value

    @property
    def stale(self) -> bool:
        """tj_function_stale."""
        out = c_int()
        self.library.check(self.library.c.tj_function_stale(self.handle, byref(out)))
        return bool(out.value)

    @property
    def info(self) -> dict[str, Any]:
        """tj_function_get_info."""
        info = _sized(FunctionInfo)
        self.library.check(self.library.c.tj_function_get_info(self.handle, byref(info)))
        return record(info)

    @property
    def params(self) -> list[dict[str, Any]]:
        """tj_function_get_param of every parameter."""
        all_params = []
        for index in range(self.info["n_params"]):
            info = _sized(ParamInfo)
            self.library.check(self.library.c.tj_function_get_param(self.handle, index, byref(info)))
            all_params.append(record(info))
        return all_params

    @property
    def stats(self) -> Stats:
        """tj_function_get_stats."""
        stats = _sized(Stats)
        self.library.check(self.library.c.tj_function_get_stats(self.handle, byref(stats)))
        return stats


_P, _N = c_void_p, c_size_t
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "status_name": (c_char_p, c_int32),
    "status_text": (c_char_p, c_int32),
    "last_error": (c_char_p,),
    "last_status": (c_int32,),
    "dtype_name": (c_char_p, u16),
    "dtype_from_name": (u16, c_char_p),
    "dtype_size": (u32, u16),
    "options_intern": (c_int32, _P, _N, _P),
    "function_get": (c_int32, c_char_p, c_char_p, _P),
    "function_get_ex": (c_int32, _P, _P),
    "function_on": (c_int32, _P, c_char_p, _P),
    "function_param_index": (c_int32, _P, c_char_p, _P),
    "function_stale": (c_int32, _P, _P),
    "function_get_info": (c_int32, _P, _P),
    "function_get_param": (c_int32, _P, u32, _P),
    "function_call": (c_int32, _P, _P, _P, _N),
    "function_prepare": (c_int32, _P, _P, _P, _N, _P),
    "function_prepare_async": (c_int32, _P, _P, _P, _N, PREPARED_FN, _P),
    "function_is_prepared": (c_int32, _P, _P, _P, _N, _P),
    "kernel_launch": (c_int32, _P, _P, _P, _N),
    "kernel_get_info": (c_int32, _P, _P),
    "kernel_get_param": (c_int32, _P, u32, _P),
    "kernel_get_asm": (c_int32, _P, c_char_p, _P, _P),
    "bound_count": (u32, _P),
    "bound_arg": (POINTER(Arg), _P, u32),
    "bound_int": (c_int32, _P, u32, _P),
    "bound_launch": (POINTER(Launch), _P),
    "set_compiler": (c_int32, _P),
    "backend_count": (u32,),
    "backend_get_info": (c_int32, u32, _P),
    "set_log": (None, LOG_FN, _P, c_int),
    "set_hooks": (c_int32, _P),
    "stats_get": (c_int32, _P),
    "function_get_stats": (c_int32, _P, _P),
    "trim": (c_int32,),
    "freeze": (c_int32, c_int),
}


class Library:
    """The shared library at ``path``."""

    def __init__(self, path: str) -> None:
        self.c = ctypes.CDLL(path)
        self._kept: list[Any] = []  # callbacks: another thread may still be inside a replaced one
        for name, (result, *kinds) in _SIGNATURES.items():
            call = getattr(self.c, f"tj_{name}")
            call.restype = result
            call.argtypes = kinds

    def check(self, status: int) -> None:
        """Raises the thread's error record unless the status is TJ_OK."""
        if status != 0:
            raise TritonJitError(status, self.status_name(status), _text(self.c.tj_last_error()))

    def status_name(self, status: int) -> str:
        """tj_status_name, without its "TJ_"."""
        return _text(self.c.tj_status_name(status)).removeprefix("TJ_")

    def function(
        self,
        source: Any,
        name: str,
        *,
        backend: str | None = "cpu",
        text: str | bytes | None = None,
        options: dict[str, Any] | None = None,
    ) -> Function:
        """tj_function_get_ex; ``text`` is the source from memory."""
        data = text.encode() if isinstance(text, str) else text
        desc = _sized(
            FunctionDesc,
            flags=0 if data is None else FUNCTION_TEXT,
            source=str(source).encode(),
            name=name.encode(),
            backend=None if backend is None else backend.encode(),
            text=data,
            text_size=len(data or b""),
            options=self.options(options) if options else 0,
        )
        out = c_void_p()
        self.check(self.c.tj_function_get_ex(byref(desc), byref(out)))
        return Function(self, out.value)

    def get(self, source: Any, name: str) -> Function:
        """tj_function_get."""
        out = c_void_p()
        self.check(self.c.tj_function_get(str(source).encode(), name.encode(), byref(out)))
        return Function(self, out.value)

    def options(self, options: dict[str, Any]) -> int:
        """tj_options_intern."""
        made = {name: arg(value) for name, value in options.items()}
        array = (Option * max(1, len(made)))(*[Option(name.encode(), value) for name, value in made.items()])
        out = u32()
        self.check(self.c.tj_options_intern(array, len(made), byref(out)))
        return out.value

    def launch(self, grid: Any = (1,), **fields: Any) -> Launch:
        """A tj_launch. ``grid`` may be a callable of the bound arguments; options may be a dictionary."""
        if isinstance(fields.get("options"), dict):
            fields["options"] = self.options(fields["options"])
        launch = _sized(Launch, device=-1, **fields) if "device" not in fields else _sized(Launch, **fields)
        if callable(grid):
            launch.grid_fn = self._grid_fn(grid)
        else:
            launch.grid[:] = (tuple(grid) + (1, 1, 1))[:3]
        return launch

    def _grid_fn(self, grid: Callable[[Bound], Sequence[int]]) -> Any:
        def call(bound: int, out: Any, _: int) -> int:
            answer = grid(Bound(self, bound))
            if isinstance(answer, int):
                return answer
            for axis, size in enumerate((tuple(answer) + (1, 1, 1))[:3]):
                out[axis] = size
            return 0

        return GRID_FN(call)

    def stats(self) -> Stats:
        """tj_stats_get."""
        stats = _sized(Stats)
        self.check(self.c.tj_stats_get(byref(stats)))
        return stats

    def backends(self) -> list[dict[str, Any]]:
        """tj_backend_get_info of all."""
        all_backends = []
        for index in range(self.c.tj_backend_count()):
            info = _sized(BackendInfo)
            self.check(self.c.tj_backend_get_info(index, byref(info)))
            all_backends.append(record(info))
        return all_backends

    @contextmanager
    def logging(self, level: int = LOG_DEBUG) -> Iterator[list[tuple[int, str]]]:
        """Collects what the library logs, as (level, text)."""
        lines: list[tuple[int, str]] = []
        callback = LOG_FN(lambda _, severity, text: lines.append((severity, _text(text))))
        self._kept.append(callback)
        self.c.tj_set_log(callback, None, level)
        try:
            yield lines
        finally:
            self.c.tj_set_log(LOG_FN(), None, 0)

    @contextmanager
    def events(self) -> Iterator[list[dict[str, Any]]]:
        """Collects the hooks' events as dictionaries, with their "hook"."""
        seen: list[dict[str, Any]] = []
        hooks = _sized(Hooks)
        for name in ("enter", "exit", "compile", "load", "unload"):
            hook = HOOK_FN(lambda _, event, name=name: seen.append({"hook": name, **record(event.contents)}))
            setattr(hooks, name, hook)
        self._kept.append(hooks)
        self.check(self.c.tj_set_hooks(byref(hooks)))
        try:
            yield seen
        finally:
            self.check(self.c.tj_set_hooks(None))


class Bound:
    """tj_bound, within a grid callback."""

    def __init__(self, library: Library, handle: int) -> None:
        self.library, self.handle = library, handle

    def __len__(self) -> int:
        return self.library.c.tj_bound_count(self.handle)

    def int(self, index: int) -> int:
        """tj_bound_int."""
        out = c_int64()
        self.library.check(self.library.c.tj_bound_int(self.handle, index, byref(out)))
        return out.value

    def arg(self, index: int) -> Arg | None:
        """tj_bound_arg."""
        found = self.library.c.tj_bound_arg(self.handle, index)
        return found.contents if found else None
