# SPDX-License-Identifier: Apache-2.0
"""The compile request: arguments in, artifact out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from . import cache, descriptors, freshness, options
from .binding import Bound, bind, printable
from .errors import Failure, causes, os_error_text, text_of, user_traceback
from .inspection import reached_functions
from .output import warn
from .snapshot import Function
from .targets import answering_for, backend_of
from .triton_api import TritonApi
from .values import Decoder

_BACKEND_STATUSES = frozenset(("E_COMPILE", "E_NO_C_COMPILER", "E_C_COMPILER", "E_NO_XDSL", "E_IO", "E_NOT_SUPPORTED"))


class Artifact:
    """A compiled kernel as the reply carries it."""

    def __init__(self, body: dict[str, Any], sections: list[tuple[str, bytes]]) -> None:
        self.body = body
        self.sections = sections


def compile_function(
    api: TritonApi, function: Function, target: Any, values: Any, given: Any, decoder: Decoder, key_only: bool
) -> Artifact:
    """Compile ``function`` for ``target``; raises Failure.

    ``decoder`` resolves the functions among the arguments and so knows what the artifact is made from.
    """
    started = time.perf_counter()
    jit = function.jit
    with answering_for(api, target):
        backend = backend_of(api, target)
        parsed = options.parse(api, backend, jit, given, function.name)
        bound = bind(api, jit, backend, values, decoder)
        _check_globals(function)
        _check_stored_stages(api, backend, function)
        source = _make_source(api, function, bound)
        body = {
            "v": 1,
            "status": "OK",
            "types": bound.runtime_types(),
            "specialization": str(printable(api, bound.specialization)),
        }
        if key_only:
            return Artifact({**body, "hash": api.artifact_hash(source, backend, parsed)}, [])
        descriptors.check_compiles(function.name, target, bound.types())
        # The constants as well: to Triton's key on disk 1 and "1" are one.
        identity = ":".join([function.id, *decoder.functions, body["specialization"]])
        kernel = _compile(api, function, source, target, parsed, identity)
    body |= {
        "hash": kernel.hash,
        "ext": backend.binary_ext,
        "name": kernel.metadata.name,
        "metadata": _plain(kernel.metadata._asdict()),
        "cached": not source.was_compiled,
        "seconds": {"compile": time.perf_counter() - started, "triton": source.seconds},
    }
    return Artifact(body, [(ext, _bytes_of(content)) for ext, content in kernel.asm.items()])


def _bytes_of(content: Any) -> bytes:
    return bytes(content) if isinstance(content, (bytes, bytearray)) else str(content).encode("utf-8")


def _plain(metadata: dict[str, Any]) -> Any:
    """Metadata as JSON shows it (tuples become lists, targets objects)."""
    return json.loads(json.dumps(metadata, default=vars))


def _check_globals(function: Function) -> None:
    """A global that the kernel used when its key was made must still have that value."""
    missing = object()
    for (name, _), (value, scope) in function.jit.used_global_vals.items():
        now = scope.get(name, missing)
        if now is not value and now != value:
            shown = "no value" if now is missing else repr(now)
            raise Failure(
                "E_COMPILE",
                f"kernel '{function.name}': the global variable '{name}' has changed since the kernel was loaded, "
                f"from {value!r} to {shown}; pass what varies as a tl.constexpr parameter",
            )


def _check_stored_stages(api: TritonApi, backend: Any, function: Function) -> None:
    """Triton that keeps only the binaries it knows drops those of other backends before it loads them."""
    if api.knobs is not None:
        binary_only = api.knobs.compilation.store_binary_only
    else:
        binary_only = os.environ.get("TRITON_STORE_BINARY_ONLY", "0").lower() in ("1", "true", "on")
    if binary_only and backend.binary_ext not in ("cubin", "hsaco"):
        raise Failure(
            "E_NOT_SUPPORTED",
            f"kernel '{function.name}': TRITON_STORE_BINARY_ONLY is set, with which Triton keeps no "
            f"'{backend.binary_ext}' artifact, the kind that the backend '{backend.target.backend}' makes. Unset it.",
        )


def _make_source(api: TritonApi, function: Function, bound: Bound) -> Any:
    base = api.compiler.ASTSource

    class Source(base):  # type: ignore[misc, valid-type]
        """An ASTSource that notices whether Triton compiled it or had it on disk."""

        was_compiled = False
        only_ir = False  # stop after the front end
        seconds = 0.0  # that triton.compile took

        def make_ir(self, *arguments: Any, **named: Any) -> Any:
            self.was_compiled = True
            module = super().make_ir(*arguments, **named)
            if self.only_ir:
                raise freshness.IrText(str(module))
            return module

    try:
        return Source(function.jit, bound.signature, bound.constexprs, bound.attributes)
    except Exception as error:  # noqa: BLE001
        raise compile_failure(api, function, error) from error


def _compile(api: TritonApi, function: Function, source: Any, target: Any, parsed: Any, identity: str) -> Any:
    """``triton.compile``, with a cache folder of its own where the usual one does not work."""

    def compile_once() -> Any:
        source.was_compiled = False
        begin = time.perf_counter()
        kernel = api.compiler.compile(source, target=target, options=vars(parsed))
        source.seconds = time.perf_counter() - begin
        return kernel

    def run() -> Any:
        kernel = compile_once()
        if not source.was_compiled and not freshness.is_current(api, kernel, identity, source, target, parsed):
            cache.discard(api, kernel.hash, function.jit.__name__)
            kernel = compile_once()
            if not source.was_compiled:  # a cache of another kind, which cannot be told to forget
                with cache.private_cache(api):
                    return compile_once()
        freshness.mark(kernel, identity)
        return kernel

    reason = cache.why_unusable(api)
    if not reason:
        try:
            return run()
        except OSError as error:
            reason = cache.why_unusable(api) or os_error_text(error)
            if not _may_be_cache(error):
                raise compile_failure(api, function, error) from error
        except BaseException as error:  # noqa: BLE001 - code of the kernel file runs in here
            if source.was_compiled or isinstance(error, (MemoryError, KeyboardInterrupt)):
                raise compile_failure(api, function, error) from error
            reason = f"a damaged entry ({type(error).__name__}: {error})"
    warn(f"Triton's cache cannot be used for kernel '{function.name}' ({reason}); compiling without it")
    try:
        with cache.private_cache(api):
            return run()
    except BaseException as error:  # noqa: BLE001
        raise compile_failure(api, function, error) from error


def _may_be_cache(error: OSError) -> bool:
    """False for what a second attempt cannot change, such as a tool that is not there."""
    return getattr(error, "status", None) is None


def compile_failure(api: TritonApi, function: Function, error: BaseException) -> Failure:
    """What compiling raised, as a failure with Triton's text and the place in the user's file."""
    if isinstance(error, Failure):
        return error
    chain = list(causes(error))
    text = user_traceback(error)
    for cause in chain:
        status = getattr(cause, "status", None)
        if isinstance(status, str) and status in _BACKEND_STATUSES:
            # A traceback through the code generator would only repeat a message that says it all.
            shown = "" if getattr(cause, "explains", False) else text
            return Failure(status, f"kernel '{function.name}' ({function.location.path}): {text_of(cause)}", shown)
    if any(isinstance(cause, MemoryError) for cause in chain):  # Triton wraps what its visitors raise
        return Failure("E_OUT_OF_MEMORY", f"out of memory while compiling kernel '{function.name}'", text)
    if isinstance(error, KeyboardInterrupt):  # says nothing about the kernel: another try may compile
        return Failure("E_INTERNAL", f"compiling kernel '{function.name}' was interrupted", text)
    if isinstance(error, OSError):
        return Failure("E_IO", f"kernel '{function.name}': {error}", text)
    if isinstance(error, RuntimeError) and str(error).startswith("Cannot find "):  # a tool such as ptxas
        return Failure("E_IO", f"kernel '{function.name}': {error}", text)
    places = "\n".join(_places(api, function, chain))
    return Failure("E_COMPILE", f"kernel '{function.name}' does not compile\n{places}", text)


def _places(api: TritonApi, function: Function, chain: list[BaseException]) -> Iterator[str]:
    """What a chain of errors says, each compilation error with the file and line it points at."""
    from triton.compiler.errors import CompilationError

    by_source = {}
    for reached in reached_functions(api, function.jit):
        by_source.setdefault(getattr(reached, "src", None), reached)
    said = ""
    for error in chain:
        detail = text_of(error)
        if isinstance(error, CompilationError):
            reached, line = by_source.get(error.src), getattr(error.node, "lineno", None)
        elif said and (not detail or detail in said):
            continue  # Triton's text quotes what it was raised from
        else:
            reached, line = (None if said else function.jit), 1
        place = ""
        if reached is not None and line is not None:
            place = f"{reached.fn.__code__.co_filename}:{_def_line(reached) + line - 1}: "
        said += detail
        yield f"{place}{type(error).__name__}: {detail}"


def _def_line(jit: Any) -> int:
    """The line of ``def`` in the file: Triton counts from there."""
    for number, line in enumerate(getattr(jit, "raw_src", ())):
        if line.strip().startswith("def "):
            return jit.starting_line_number + number
    return jit.fn.__code__.co_firstlineno
