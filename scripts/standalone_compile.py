# SPDX-License-Identifier: Apache-2.0
"""Compile Triton kernels for libtriton_jit.

Two ways in, one set of request and reply bytes (see triton_jit_compile/protocol.py):

* embedded: a host process loads this file and calls ``handle(request, log)``;
* worker: ``python standalone_compile.py --serve`` answers framed requests from stdin.

The packages beside this file are loaded by path, so that ``sys.path`` stays as the host has it.
"""

from __future__ import annotations

import importlib.util
import os
import sys

PACKAGE = "triton_jit_compile"
FOLDER = os.path.dirname(os.path.abspath(__file__))


def _load_package() -> object:
    """Import the package beside this file without touching ``sys.path``."""
    loaded = sys.modules.get(PACKAGE)
    if loaded is not None:
        return loaded
    folder = os.path.join(FOLDER, PACKAGE)
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(PACKAGE, None)
        raise
    return module


if not hasattr(sys, "argv"):  # an embedding host need not have set it, and libraries read it
    sys.argv = [""]

handle = _load_package().handle


def main(arguments: list[str]) -> int:
    """Run the command line; returns the exit status."""
    if sys.path and os.path.abspath(sys.path[0] or ".") == FOLDER:
        del sys.path[0]  # kernel files find the same modules as in an embedded Python
    if arguments == ["--serve"]:
        from triton_jit_compile.serve import serve

        return serve()
    sys.stderr.write(f"usage: {os.path.basename(__file__)} --serve\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
