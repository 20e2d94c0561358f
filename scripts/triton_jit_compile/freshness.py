# SPDX-License-Identifier: Apache-2.0
"""Was an artifact of Triton's disk cache made from the sources of this snapshot?

Triton's key covers the text of the functions that a kernel names and the constexpr globals among
them. It does not cover what they reach in other ways: ``config.BLOCK`` of an imported module, the
attribute of a class, what a constexpr_function looks up; after an edit of those Triton finds the
old artifact. Nor does it tell constants of different types apart whose text is the same. So an
artifact that this package has not made or checked before is checked: the front end runs again (no
passes, no code generation), and its output has to be what the artifact's was.

An empty file beside the artifact remembers the check, bound to snapshot, constants and binary.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

from .cache import private_cache
from .triton_api import TritonApi

_CALLED = re.compile(r'^ *tt\.func +private +(@(?:"(?:[^"\\]|\\.)*"|[\w$.]+))', re.MULTILINE)


class IrText(Exception):
    """Ends a compile after the front end; carries what it produced."""


def _marker(kernel: Any, identity: str) -> str:
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass") + b"\0" + hashlib.sha256(kernel.kernel).digest())
    folder = os.path.dirname(next(iter(kernel.metadata_group.values())))
    return os.path.join(folder, f"tj-{digest.hexdigest()[:32]}")


def mark(kernel: Any, identity: str) -> None:
    """Remember that the artifact belongs to the snapshot (best effort)."""
    try:
        os.close(os.open(_marker(kernel, identity), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    except (OSError, AttributeError, StopIteration):
        pass


def is_current(api: TritonApi, kernel: Any, identity: str, source: Any, target: Any, options: Any) -> bool:
    """True if the artifact's code is what the snapshot gives; raises what its front end raises."""
    try:
        if os.path.exists(_marker(kernel, identity)):
            return True
    except (AttributeError, StopIteration):
        pass
    cached = kernel.asm.get("source")
    if cached is None:  # before Triton 3.4
        return False
    source.only_ir = True
    try:
        with private_cache(api):
            api.compiler.compile(source, target=target, options=vars(options))
    except IrText as text:
        return _code(str(cached)) == _code(str(text))
    finally:
        source.only_ir = source.was_compiled = False
    return False


def _code(ir: str) -> list[str]:
    """The text without what depends on the place of the file.

    Those are the definitions of source locations, and the names of called functions, which begin
    with their module's.
    """
    names = {name: f"@{number}" for number, name in enumerate(_CALLED.findall(ir))}
    if names:
        longest_first = sorted(names, key=len, reverse=True)
        pattern = "|".join(re.escape(name) + (r"(?![\w$.])" if name[1] != '"' else "") for name in longest_first)
        ir = re.sub(pattern, lambda match: names[match[0]], ir)
    return [line for line in ir.splitlines() if not line.startswith("#loc")]
