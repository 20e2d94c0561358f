# SPDX-License-Identifier: Apache-2.0
"""Where kernels come from: files, packages, modules, memory; edits while the process lives."""

from __future__ import annotations

import os
import py_compile
import sys
import time

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError

HEAD = "import triton\nimport triton.language as tl\n"


def storing(value: str, name: str = "kernel", imports: str = "", parameters: str = "out") -> str:
    """A file whose kernel stores ``value``."""
    return f"{HEAD}{imports}\n\n@triton.jit\ndef {name}({parameters}):\n    tl.store(out, {value})\n"


def result(function, *args):
    out = np.full(1, -1, np.int64)
    function((1,), out, *args)
    return int(out[0])


# ---- from memory, from modules --------------------------------------------------------------------


def test_source_text_from_memory(tj):
    text = storing("n + 7", parameters="out, n")
    function = tj.function("memory: größe.py", "kernel", text=text)
    assert result(function, 5) == 12
    assert tj.function("memory: größe.py", "kernel", text=text) == function
    other = tj.function("memory: größe.py", "kernel", text=text.replace("7", "8"))
    assert other != function
    assert (result(other, 5), result(function, 6)) == (13, 13)
    with pytest.raises(TritonJitError) as error:
        tj.function("broken.py", "kernel", text=HEAD + "def kernel(:\n")
    assert error.value.name == "E_SYNTAX"
    assert "broken.py" in error.value.message and "def kernel(:" in error.value.message


def test_an_empty_text_is_not_the_file_of_that_name(tj, write):
    path = write("of_a_file.py", storing("n + 9", parameters="out, n"))
    time.sleep(0.1)  # until the file's stamp counts
    assert result(tj.function(path, "kernel"), 1) == 10
    with pytest.raises(TritonJitError) as error:
        tj.function(path, "kernel", text="")
    assert error.value.name == "E_KERNEL_NOT_FOUND"


def test_dotted_modules(child, write):
    write("in_path/my_kernels/__init__.py", "")
    write("in_path/my_kernels/deep/__init__.py", "VALUE = 20\n")
    write("in_path/my_kernels/deep/add.py", storing("n + V", imports="from . import VALUE\nV = tl.constexpr(VALUE)",
                                                    parameters="out, n"))  # fmt: skip
    path = str(write("in_path/x", "").parent)
    printed = child(
        """
        f = tj.function("my_kernels.deep.add", "kernel")
        out = np.zeros(1, np.int64)
        f((1,), out, 3)
        print(out[0], f.info["source"])
        try:
            tj.function("my_kernels.deep.sub", "kernel")
        except TritonJitError as error:
            print(error.name, "my_kernels.deep.sub" in error.message)
        """,
        PYTHONPATH=path,
    )
    assert printed.splitlines() == [f"23 {path}/my_kernels/deep/add.py", "E_SOURCE_NOT_FOUND True"]


def test_a_package_with_relative_imports(tj, write):
    write("package/__init__.py", "from .constants import BASE\n")
    write("package/constants.py", HEAD + "BASE = tl.constexpr(1000)\n")
    write("package/ops/__init__.py", "")
    write("package/ops/helper.py", HEAD + "@triton.jit\ndef twice(x):\n    return 2 * x\n")
    imports = (
        "from .. import BASE\nfrom ..constants import BASE as AGAIN\nfrom .helper import twice\nfrom . import helper"
    )
    path = write("package/ops/kernel.py", storing("twice(n) + helper.twice(n) + BASE + AGAIN", imports=imports,
                                                  parameters="out, n"))  # fmt: skip
    assert result(tj.function(path, "kernel"), 5) == 2020


# ---- names that meet ------------------------------------------------------------------------------


def test_R039_one_helper_name_in_two_modules(tj, write):
    write("a_util.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 1\n")
    write(
        "b_util.py", HEAD + "@triton.jit\ndef f(x):\n    return x * 100\n\n@triton.jit\ndef max(a, b):\n    return 7\n"
    )
    path = write("both.py", storing("a_util.f(n) + b_util.f(n) + b_util.max(n, n) + tl.maximum(n, 2)",
                                    imports="import a_util\nimport b_util", parameters="out, n"))  # fmt: skip
    assert result(tj.function(path, "kernel"), 5) == 6 + 500 + 7 + 5


def test_R040_one_kernel_name_in_two_files(tj, write):
    files = [write(f"{folder}/k.py", storing(value, imports="import util", parameters="out, n"))
             for folder, value in (("d1", "util.f(n) + 1"), ("d2", "util.f(n) + 2"))]  # fmt: skip
    for folder, factor in (("d1", 10), ("d2", 20)):
        write(f"{folder}/util.py", HEAD + f"@triton.jit\ndef f(x):\n    return x * {factor}\n")
    first, second = (tj.function(path, "kernel") for path in files)
    assert first != second
    for n in range(2, 102):
        assert (result(first, n), result(second, n)) == (10 * n + 1, 20 * n + 2)
    assert first.stats.compiles == second.stats.compiles == 2


def test_R040_two_kernels_of_one_file(tj, write):
    path = write("two.py", storing("1", "one") + storing("2", "two").replace(HEAD, ""))
    one, two = tj.function(path, "one"), tj.function(path, "two")
    assert (result(one), result(two)) == (1, 2)


@pytest.mark.parametrize("name", ["json.py", "torch.py", "numpy.py", "triton.py", "types.py", "xdsl.py"])
def test_R041_a_file_named_like_a_module(tj, write, name):
    imports = "" if name == "triton.py" else "import json\nimport types\njson.dumps({})\ntypes.SimpleNamespace()"
    path = write(name, storing("len(NAME)", imports=imports + "\nNAME = tl.constexpr('abc')"))
    before = list(sys.path)
    assert result(tj.function(path, "kernel")) == 3
    assert sys.path == before
    import json
    import types

    assert json.loads("[1]") == [1] and types.SimpleNamespace(a=1).a == 1
    assert "torch" not in sys.modules or not hasattr(sys.modules["torch"], "kernel")


def test_R041_nothing_grows_with_the_number_of_functions(tj, write):
    names = [f"k{i}" for i in range(40)]
    path = write(
        "many.py", HEAD + "".join(f"\n@triton.jit\ndef {name}(out):\n    tl.store(out, 1)\n" for name in names)
    )
    functions = [tj.function(path, name) for name in names]
    before = len(sys.path), len(sys.modules), len(sys.meta_path)
    for name in names * 3:
        tj.function(path, name)
    assert (len(sys.path), len(sys.modules), len(sys.meta_path)) == before
    assert len(set(functions)) == 40


def test_R038_a_folder_called_triton(tj, write):
    write("triton/util.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 1\n")
    path = write("triton/ops.py", storing("util.f(n)", imports="import util", parameters="out, n"))
    assert result(tj.function(path, "kernel"), 5) == 6
    write("triton/util.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 2\n")
    assert result(tj.function(path, "kernel"), 5) == 7


# ---- edits ----------------------------------------------------------------------------------------


def test_R043_an_edit_makes_a_new_function(tj, write):
    path = write("edited.py", storing("n + 1", parameters="out, n"))
    old = tj.function(path, "kernel")
    assert result(old, 3) == 4
    assert not old.stale
    write("edited.py", storing("n + m", parameters="out, n, m"))
    assert old.stale
    assert result(old, 16) == 17  # a new variant of the old code
    new = tj.function(path, "kernel")
    assert new != old and not new.stale
    assert result(new, 16, 100) == 116
    assert result(old, 1) == 2
    assert [p["name"] for p in old.params] == ["out", "n"]
    assert [p["name"] for p in new.params] == ["out", "n", "m"]


def test_R043_same_size_same_second(tj, write):
    path = write("quick.py", storing("100", imports="import part"))
    write("part.py", HEAD)
    stamp = path.stat()
    seen = []
    for value in range(100, 112):
        write("quick.py", storing(str(value), imports="import part"))
        function = tj.function(path, "kernel")
        seen.append((value, function))
        assert result(function) == value
    assert path.stat().st_size == stamp.st_size
    assert len({function for _, function in seen}) == 12
    for value, function in seen:
        assert result(function) == value


def test_R043_the_file_of_before_comes_back(tj, write):
    path = write("back.py", storing("1"))
    first = tj.function(path, "kernel")
    assert result(first) == 1
    write("back.py", storing("2"))
    assert result(tj.function(path, "kernel")) == 2
    write("back.py", storing("1"))
    again = tj.function(path, "kernel")
    assert result(again) == 1
    assert again == first  # the same snapshot is the same function


def test_unchanged_files_are_not_read_again(tj, write):
    path = write("steady.py", storing("1"))
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" and args[0] == str(path) else None)
    function = tj.function(path, "kernel")
    assert opened  # a file this young may change within its time stamp
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))
    assert tj.function(path, "kernel") == function
    opened.clear()
    assert tj.function(path, "kernel") == function
    assert opened == []


def test_an_edited_helper(tj, write):
    write("helper_module.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 1\n")
    path = write("uses_helper.py", storing("helper_module.f(n)", imports="import helper_module", parameters="out, n"))
    old = tj.function(path, "kernel")
    assert result(old, 5) == 6
    write("helper_module.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 9\n")
    assert old.stale
    new = tj.function(path, "kernel")
    assert (result(new, 5), result(old, 5), result(old, 32)) == (14, 6, 33)


def test_R036_a_helper_chosen_by_a_string(tj, write):
    text = HEAD + "@triton.jit\ndef add(a, b):\n    return a {} b\n\n@triton.jit\ndef sub(a, b):\n    return a - b\n"
    write("chosen.py", text.format("*"))
    path = write(
        "chooser.py",
        HEAD + "import chosen\n\n@triton.jit\ndef kernel(out, n, OP: tl.constexpr):\n    if OP == 'add':\n"
        "        tl.store(out, chosen.add(n, 3))\n    else:\n        tl.store(out, chosen.sub(n, 3))\n",
    )
    assert result(tj.function(path, "kernel"), 5, "add") == 15
    write("chosen.py", text.format("+"))
    assert result(tj.function(path, "kernel"), 5, "add") == 8
    assert result(tj.function(path, "kernel"), 5, "sub") == 2


def test_R037_an_edited_constexpr_function(tj, write):
    text = HEAD + "@triton.constexpr_function\ndef size(n):\n    return n * {}\n"
    write("host_side.py", text.format(2))
    path = write("uses_host_side.py", storing("host_side.size(N)", imports="import host_side",
                                              parameters="out, N: tl.constexpr"))  # fmt: skip
    assert result(tj.function(path, "kernel"), 5) == 10
    write("host_side.py", text.format(3))
    assert result(tj.function(path, "kernel"), 5) == 15


def test_R043_edited_across_processes(child, write):
    """The disk cache does not serve what an edited helper made."""
    write("lib_part.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 1\n")
    path = write("main_part.py", storing("lib_part.f(n)", imports="import lib_part", parameters="out, n"))
    code = f"""
        f = tj.function({str(path)!r}, "kernel")
        out = np.zeros(1, np.int64)
        f((1,), out, 5)
        print(out[0])
        """
    assert child(code) == "6\n"
    write("lib_part.py", HEAD + "@triton.jit\ndef f(x):\n    return x + 2\n")
    assert child(code) == "7\n"


# ---- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["with space.py", "qu'o\"te.py", "größe_λ_内核.py", "back\\slash.py", "per%cent$HOME.py", "new\nline.py",
     "-dash.py", "dots.in.name.py", "#hash.py", "__init__x.py", "semi;colon&.py"],
)  # fmt: skip
def test_paths_of_any_letters(tj, write, name):
    # Triton's cache does not know the path: other code for every one of them
    path = write(f"folder of {name}/{name}", storing(f"n + {sum(name.encode())}", parameters="out, n"))
    function = tj.function(path, "kernel")
    assert result(function, 4) == 4 + sum(name.encode())
    assert function.info["source"] == str(path.resolve())
    with pytest.raises(TritonJitError) as error:
        function((1,), np.zeros(1, np.complex64).view(np.float32), (1, 2))
    assert error.value.name == "E_COMPILE" and name in error.value.message


def test_relative_paths_and_links_are_one_function(tj, write, monkeypatch):
    path = write("real/linked.py", storing("3"))
    link = path.parent.parent / "link.py"
    link.symlink_to(path)
    monkeypatch.chdir(path.parent.parent)
    functions = {tj.function(name, "kernel") for name in (path, link, "real/linked.py", "./real/../link.py")}
    assert len(functions) == 1
    assert result(functions.pop()) == 3


@pytest.mark.parametrize("length", [150, 240])
def test_R048_very_long_names(child, write, length):
    name = "k" * length
    path = write("long_names.py", storing("n + 1", name, parameters="out, n"))
    code = f"""
        f = tj.function({str(path)!r}, {name!r})
        out = np.zeros(1, np.int64)
        f((1,), out, 5)
        print(out[0], f.info["name"] == {name!r})
        """
    assert child(code) == "6 True\n"
    assert child(code) == "6 True\n"  # now from the disk cache


def test_R049_errors_name_the_file_that_was_asked_for(tj, write):
    """Two copies of one file share what Triton caches; messages still name the right one."""
    text = storing("n + 1", parameters="out, n, N: tl.constexpr") + '    tl.static_assert(N > 0, "N is negative")\n'
    first, second = write("copy1/same.py", text), write("copy2/same.py", text)
    for path, other in ((first, second), (second, first)):
        function = tj.function(path, "kernel")
        assert result(function, 3, 1) == 4
        with pytest.raises(TritonJitError) as error:
            result(function, 3, -1)
        assert str(path) in error.value.message and str(other) not in error.value.message
        assert f"{path}:8" in error.value.message


# ---- sources that cannot be used ------------------------------------------------------------------


def test_R044_unreadable_for_a_while(tj, write):
    path = write("later.py", storing("4"))
    hidden = path.with_suffix(".hidden")
    path.rename(hidden)
    with pytest.raises(TritonJitError) as error:
        tj.function(path, "kernel")
    assert error.value.name == "E_SOURCE_NOT_FOUND"
    assert str(path) in error.value.message and "No such file" in error.value.message
    hidden.rename(path)
    assert result(tj.function(path, "kernel")) == 4


def test_R044_a_loop_of_links(tj, write):
    path = write("in_a_loop.py", storing("4"))
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(TritonJitError) as error:
        tj.function(path, "kernel")
    assert error.value.name == "E_SOURCE_NOT_FOUND" and "symbolic links" in error.value.message
    path.unlink()
    write("in_a_loop.py", storing("4"))
    assert result(tj.function(path, "kernel")) == 4


def test_R044_vanished_after_it_was_opened(tj, write):
    path = write("vanishing.py", storing("n + 1", parameters="out, n"))
    function = tj.function(path, "kernel")
    path.unlink()
    assert result(function, 3) == 4 and result(function, 16) == 17
    assert function.stale


def test_R045_no_source_text(tj, write, tmp_path):
    path = write("compiled.py", storing("1"))
    for bytecode in (tmp_path / "only.pyc", tmp_path / "renamed.py"):
        py_compile.compile(str(path), cfile=str(bytecode))
        with pytest.raises(TritonJitError) as error:
            tj.function(bytecode, "kernel")
        assert error.value.name == "E_SOURCE_NOT_PYTHON"
        assert str(bytecode) in error.value.message
    with pytest.raises(TritonJitError) as error:
        tj.function(sys.executable, "kernel")
    assert error.value.name == "E_SOURCE_NOT_PYTHON"


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("import no_such_module_anywhere\n", "E_IMPORT", "no_such_module_anywhere"),
        ("raise ValueError('on purpose')\n", "E_SOURCE_RAISED", "on purpose"),
        ("import sys\nsys.exit(3)\n", "E_SOURCE_RAISED", "SystemExit"),
        ("def kernel(:\n", "E_SYNTAX", "def kernel(:"),
        ("x = 1\n", "E_KERNEL_NOT_FOUND", "kernel"),
    ],
)
def test_files_that_do_not_load(tj, write, text, status, told):
    path = write("does_not_load.py", text)
    for _ in range(2):
        with pytest.raises(TritonJitError) as error:
            tj.function(path, "kernel")
        assert error.value.name == status
        assert told in error.value.message and str(path) in error.value.message
    write("does_not_load.py", storing("6"))
    assert result(tj.function(path, "kernel")) == 6


def test_R042_what_a_file_prints_goes_to_the_log(tj, write, log, capfd):
    path = write("chatty.py", storing("1", imports="import sys, warnings\nprint('hello from the file')\n"
                                      "print('and an error', file=sys.stderr)\nwarnings.warn('careful')"))  # fmt: skip
    assert result(tj.function(path, "kernel")) == 1
    lines = "\n".join(text for _, text in log)
    assert "hello from the file" in lines and "and an error" in lines and "careful" in lines
    assert capfd.readouterr() == ("", "")
