# SPDX-License-Identifier: Apache-2.0
"""Finding and loading sources: paths, packages, neighbours, module names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import Compiler, check_python, integer, kernel, ptr, write

STORE_VALUE = "tl.store(out, VALUE)"


def value_of(compiler: Compiler, function: str, args: list | None = None) -> str:
    """The TTIR of a kernel, where the constants that it stores can be looked for."""
    return compiler.compile(function, args or [ptr("i32")]).ok().sections["ttir"].decode()


def test_missing_file(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(tmp_path / "absent.py", "k")
    assert reply.status == "E_SOURCE_NOT_FOUND"
    assert str(tmp_path / "absent.py") in reply["message"] and "No such file" in reply["message"]


def test_empty_source(compiler: Compiler) -> None:
    assert compiler.describe("", "k").status == "E_SOURCE_NOT_FOUND"
    assert compiler.describe("a\0b", "k").status == "E_SOURCE_NOT_FOUND"


def test_folder(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(tmp_path, "k")
    assert reply.status == "E_SOURCE_NOT_FOUND" and "folder" in reply["message"]


def test_missing_module(compiler: Compiler) -> None:
    reply = compiler.describe("no_such_package.kernels", "k")
    assert reply.status == "E_SOURCE_NOT_FOUND"
    assert "no_such_package.kernels" in reply["message"] and sys.path[-1] in reply["message"]


def test_not_a_name(compiler: Compiler) -> None:
    reply = compiler.describe("not a name", "k")
    assert reply.status == "E_SOURCE_NOT_FOUND"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_then_readable(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel())
    path.chmod(0)
    reply = compiler.describe(path, "k")
    assert reply.status == "E_SOURCE_NOT_FOUND" and "Permission denied" in reply["message"]
    path.chmod(0o644)
    compiler.describe(path, "k").ok()


def test_failure_is_not_remembered(compiler: Compiler, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    assert compiler.describe(path, "k").status == "E_SOURCE_NOT_FOUND"
    write(tmp_path, "k.py", "import triton\nboom()\n")
    assert compiler.describe(path, "k").status == "E_SOURCE_RAISED"
    write(tmp_path, "k.py", kernel())
    compiler.describe(path, "k").ok()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("k.pyc", b"\xa7\r\r\n\0\0\0\0"),
        ("k.so", b"\x7fELF\2\1\1"),
        ("elf.py", b"\x7fELF\2\1\1\0"),
        ("null.py", b"x = 1\0\n"),
        ("latin.py", b"x = '\xff'\n"),
        ("coding.py", b"# -*- coding: no-such-codec -*-\n"),
    ],
)
def test_not_python(compiler: Compiler, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    reply = compiler.describe(tmp_path / name, "k")
    assert reply.status == "E_SOURCE_NOT_PYTHON"
    assert name in reply["message"]


def test_module_without_source(compiler: Compiler) -> None:
    assert compiler.describe("math", "k").status == "E_SOURCE_NOT_PYTHON"


def test_declared_encoding_and_byte_order_mark(compiler: Compiler, tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\nNAME = '\xe4'\n" + kernel("tl.static_assert(NAME == 228)").replace(
        "@triton.jit", "CODE = ord(NAME)\nNAME = tl.constexpr(CODE)\n@triton.jit"
    )
    (tmp_path / "latin.py").write_bytes(text.encode("latin-1"))
    value_of(compiler, compiler.open(tmp_path / "latin.py", "k"))
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + kernel().encode())
    value_of(compiler, compiler.open(tmp_path / "bom.py", "k"))
    (tmp_path / "dos.py").write_bytes(kernel().replace("\n", "\r\n").encode())
    value_of(compiler, compiler.open(tmp_path / "dos.py", "k"))


def test_odd_paths(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path / "a b" / "\xfc\"x'$(y)\\", "my-kernel 1.py", kernel())
    reply = compiler.describe(path, "k").ok()
    assert reply["record"]["source"] == str(path)
    value_of(compiler, reply["record"]["id"])


def test_link_is_its_target(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "real/k.py", kernel())
    (tmp_path / "link.py").symlink_to(path)
    assert compiler.open(tmp_path / "link.py", "k") == compiler.open(path, "k")


def test_relative_path(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "k.py", kernel())
    monkeypatch.chdir(tmp_path)
    assert compiler.open("k.py", "k") == compiler.open("./k.py", "k") == compiler.open(path, "k")


def test_text_from_memory(compiler: Compiler) -> None:
    one = compiler.describe("generated/add", "k", memory=kernel("tl.store(out, 111)")).ok()
    two = compiler.describe("generated/add", "k", memory=kernel("tl.store(out, 222)")).ok()
    assert one["record"]["source"] == "generated/add" and one["record"]["files"] == []
    assert one["record"]["id"] != two["record"]["id"]
    assert "111" in value_of(compiler, one["record"]["id"])
    assert "222" in value_of(compiler, two["record"]["id"])
    assert compiler.describe("generated/add", "k", memory=kernel("tl.store(out, 111)")).ok() == one


def test_text_from_memory_that_is_wrong(compiler: Compiler) -> None:
    reply = compiler.describe("generated/bad", "k", memory="def k(:\n")
    assert reply.status == "E_SYNTAX"
    assert "generated/bad:1" in reply["message"] and "def k(:" in reply["message"]


def test_two_files_of_one_name(compiler: Compiler, tmp_path: Path) -> None:
    functions = []
    for number in (111, 222):
        folder = tmp_path / str(number)
        write(folder, "helper.py", f"import triton.language as tl\nVALUE = tl.constexpr({number})\n")
        functions.append(
            compiler.open(write(folder, "k.py", kernel(STORE_VALUE, head="from helper import VALUE")), "k")
        )
    for _ in range(2):
        assert "111" in value_of(compiler, functions[0])
        assert "222" in value_of(compiler, functions[1])


@pytest.mark.parametrize("name", ["json", "torch", "triton", "numpy"])
def test_file_named_like_a_real_module(compiler: Compiler, tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path, f"{name}.py", kernel(STORE_VALUE, head="import json\nVALUE = tl.constexpr(len(json.dumps([])))")
    )
    before = sys.modules.get(name)
    value_of(compiler, compiler.open(path, "k"))
    assert sys.modules.get(name) is before
    import json

    assert json.loads("[1]") == [1] and "site" not in json.__file__


def test_neighbour_does_not_shadow_the_standard_library(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "json.py", "raise RuntimeError('shadowed')\n")
    write(tmp_path, "helper.py", "import json\nNUMBER = len(json.dumps([]))\n")
    path = write(tmp_path, "k.py", kernel(head="import json, helper\nassert json.loads('3') == helper.NUMBER + 1"))
    compiler.describe(path, "k").ok()


def test_neighbours_like_a_script(compiler: Compiler, tmp_path: Path) -> None:
    write(
        tmp_path,
        "one.py",
        "import triton.language as tl\nfrom parts.inner import number\nVALUE = tl.constexpr(number)\n",
    )
    write(tmp_path, "parts/__init__.py", "from . import inner\n")
    write(tmp_path, "parts/inner.py", "from .deep.more import number\n")
    write(tmp_path, "parts/deep/more.py", "from ... import parts\nnumber = 4321\n")
    head = (
        "import one, parts.inner as inner\nimport parts.deep.more\nfrom one import *\n"
        "assert parts.inner is inner and parts.deep.more.number == inner.number\n"
    )
    before = set(sys.modules)
    reply = compiler.describe(write(tmp_path, "k.py", kernel(STORE_VALUE, head=head)), "k").ok()
    assert "4321" in value_of(compiler, reply["record"]["id"])
    files = {os.path.relpath(file["path"], tmp_path) for file in reply["record"]["files"]}
    assert files == {"k.py", "one.py", "parts/__init__.py", "parts/inner.py", "parts/deep/more.py"}
    new = {name for name in set(sys.modules) - before if not name.startswith("triton_jit_source_")}
    assert not new & {"one", "parts", "parts.inner", "k"}


def test_sys_path_is_left_as_found(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "lib/far.py", "import triton.language as tl\nVALUE = tl.constexpr(777)\n")
    head = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\nfrom far import VALUE"
    path, finders = list(sys.path), list(sys.meta_path)
    function = compiler.open(write(tmp_path, "k.py", kernel(STORE_VALUE, head=head)), "k")
    assert "777" in value_of(compiler, function)
    assert sys.path == path and sys.meta_path == finders
    with pytest.raises(ImportError):
        import far  # noqa: F401


def test_importlib_finds_neighbours(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "helper.py", "import triton.language as tl\nVALUE = tl.constexpr(888)\n")
    write(tmp_path, "pack/__init__.py", "import importlib\nsub = importlib.import_module('.sub', __package__)\n")
    write(tmp_path, "pack/sub.py", "NAME = __name__\n")
    head = (
        "import importlib, pack\nhelper = importlib.import_module('helper')\nimport helper as same\n"
        "assert same is helper\nVALUE = helper.VALUE"
    )
    reply = compiler.describe(write(tmp_path, "k.py", kernel(STORE_VALUE, head=head)), "k").ok()
    assert "888" in value_of(compiler, reply["record"]["id"])
    assert len(reply["record"]["files"]) == 4
    assert "helper" not in sys.modules and "pack" not in sys.modules


def test_missing_neighbour(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(write(tmp_path, "k.py", kernel(head="import absent_helper")), "k")
    assert reply.status == "E_IMPORT"
    assert "absent_helper" in reply["message"] and "k.py:3" in reply["message"]
    write(tmp_path, "pack/__init__.py", "")
    reply = compiler.describe(write(tmp_path, "k2.py", kernel(head="from pack import absent")), "k")
    assert reply.status == "E_IMPORT" and "absent" in reply["message"]
    reply = compiler.describe(write(tmp_path, "k3.py", kernel(head="import pack.absent")), "k")
    assert reply.status == "E_IMPORT" and "pack.absent" in reply["message"]
    reply = compiler.describe(write(tmp_path, "k4.py", kernel(head="from . import absent")), "k")
    assert reply.status == "E_IMPORT" and "no known parent package" in reply["message"]


def test_circular_imports(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "a.py", "import b\nNUMBER = 1\ndef total(): return b.NUMBER + NUMBER\n")
    write(tmp_path, "b.py", "import a\nimport k\nNUMBER = 2\ndef get(): return a.NUMBER + len(k.__name__) * 0\n")
    path = write(tmp_path, "k.py", kernel(head="import a, b\nassert a.total() == 3 and b.get() == 1"))
    compiler.describe(path, "k").ok()


def test_dataclasses_and_pickle_see_their_module(compiler: Compiler, tmp_path: Path) -> None:
    source = """
    from __future__ import annotations
    import dataclasses, pickle, sys
    import triton
    import triton.language as tl

    @dataclasses.dataclass
    class Settings:
        size: int = 3
        names: InitVar[str] = ""

    assert pickle.loads(pickle.dumps(Settings(5))) == Settings(5)
    assert sys.modules[__name__].Settings is Settings

    @triton.jit
    def k(out, B: tl.constexpr):
        tl.store(out, B)
    """
    params = compiler.describe(write(tmp_path, "k.py", source), "k").ok()["record"]["params"]
    assert params[1]["constexpr"]


def package(folder: Path, number: int, name: str = "mypack") -> Path:
    write(folder, f"{name}/__init__.py", "ROOT = True\n")
    write(folder, f"{name}/util.py", f"import triton.language as tl\nVALUE = tl.constexpr({number})\n")
    write(folder, f"{name}/sub/__init__.py", "")
    head = f"from ..util import VALUE\nfrom .. import ROOT\nimport {name}.util\nfrom {name} import util\n"
    return write(folder, f"{name}/sub/k.py", kernel(STORE_VALUE, head=head))


def test_file_in_a_package(compiler: Compiler, tmp_path: Path) -> None:
    path = package(tmp_path, 1234, "pack_one")
    record = compiler.describe(path, "k").ok()["record"]
    assert record["module"] == "pack_one.sub.k"
    assert len(record["files"]) == 4
    assert "1234" in value_of(compiler, record["id"])
    assert sys.modules["pack_one.sub.k"].__file__ == str(path)


def test_neighbours_of_a_package_keep_to_themselves(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "iniconfig.py", "import pack_next.util as util\nNUMBER = 31415\n")
    write(tmp_path, "pack_next/__init__.py", "")
    write(tmp_path, "pack_next/util.py", "from . import __name__ as NAME\n")
    head = "import iniconfig\nVALUE = tl.constexpr(iniconfig.NUMBER)\nassert iniconfig.util.NAME == 'pack_next'"
    path = write(tmp_path, "pack_next/k.py", kernel(STORE_VALUE, head=head))
    before = sys.modules.get("iniconfig")
    reply = compiler.describe(path, "k").ok()
    assert len(reply["record"]["files"]) == 4
    assert "31415" in value_of(compiler, reply["record"]["id"])
    assert sys.modules.get("iniconfig") is before


def test_two_packages_of_one_name(compiler: Compiler, tmp_path: Path) -> None:
    first, second = package(tmp_path / "a", 1, "pack_two"), package(tmp_path / "b", 2, "pack_two")
    function = compiler.open(first, "k")
    reply = compiler.describe(second, "k")
    assert reply.status == "E_MODULE_CONFLICT"
    assert str(second) in reply["message"] and str(tmp_path / "a" / "pack_two") in reply["message"]
    value_of(compiler, function)


def test_package_that_the_host_has_loaded(tmp_path: Path) -> None:
    path = package(tmp_path, 5, "hostpack")
    check_python(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import hostpack.sub, hostpack.util
        from conftest import Compiler, script
        before = dict(sys.modules)
        record = Compiler(script.handle).describe({str(path)!r}, "k").ok()["record"]
        assert record["module"] == "hostpack.sub.k"
        assert sys.modules["hostpack"] is before["hostpack"] and sys.modules["hostpack.util"] is before["hostpack.util"]
        """
    )


def test_package_that_hides_an_installed_one(tmp_path: Path) -> None:
    path = package(tmp_path, 77, "both_have")
    write(tmp_path, "site-packages/both_have/__init__.py", "INSTALLED = True\n")
    check_python(
        f"""
        import sys
        sys.path.append({str(tmp_path / "site-packages")!r})
        from conftest import Compiler, script, ptr
        compiler = Compiler(script.handle)
        function = compiler.open({str(path)!r}, "k")
        assert "77" in compiler.compile(function, [ptr("i32")]).ok().sections["ttir"].decode()
        import both_have
        assert both_have.INSTALLED
        """
    )


def test_package_with_the_name_of_a_loaded_module(compiler: Compiler, tmp_path: Path) -> None:
    path = package(tmp_path, 1, "triton")
    reply = compiler.describe(path, "k")
    assert reply.status == "E_MODULE_CONFLICT"


def test_folder_with_the_name_of_a_loaded_module(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "triton/util.py", "import triton.language as tl\nVALUE = tl.constexpr(55)\n")
    path = write(tmp_path, "triton/ops.py", kernel(STORE_VALUE, head="from util import VALUE"))
    first = compiler.open(path, "k")
    write(tmp_path, "triton/util.py", "import triton.language as tl\nVALUE = tl.constexpr(66)\n")
    second = compiler.open(path, "k")
    assert "55" in value_of(compiler, first) and "66" in value_of(compiler, second)


def test_dotted_name(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = package(tmp_path, 4, "pack_dotted")
    write(tmp_path, "loose_dotted.py", kernel())
    write(tmp_path, "spaces_dotted/inner/k.py", kernel(STORE_VALUE, head="from .value import VALUE"))
    write(tmp_path, "spaces_dotted/inner/value.py", "import triton.language as tl\nVALUE = tl.constexpr(99)\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert compiler.open("pack_dotted.sub.k", "k") == compiler.open(path, "k")
    assert compiler.open("loose_dotted", "k") == compiler.open(tmp_path / "loose_dotted.py", "k")
    assert "99" in value_of(compiler, compiler.open("spaces_dotted.inner.k", "k"))
    assert compiler.describe("pack_dotted", "k").status == "E_KERNEL_NOT_FOUND"
    assert compiler.describe("pack_dotted.absent", "k").status == "E_SOURCE_NOT_FOUND"


def test_installed_package(tmp_path: Path) -> None:
    """A module in site-packages is the one that everybody imports; its file is part of the record."""
    site = tmp_path / "site-packages"
    package(site, 31, "installed_pack")
    path = write(
        site, "installed_pack/ops.py", kernel(STORE_VALUE, head="from .util import VALUE\nfrom .helpers import f")
    )
    write(site, "installed_pack/helpers.py", kernel("return out", name="f"))
    user = write(
        tmp_path, "user.py", kernel("f(out)\n    tl.store(out, 1)", head="from installed_pack.helpers import f")
    )
    print(
        check_python(
            f"""
            import sys
            sys.path.append({str(site)!r})
            from conftest import Compiler, script, ptr
            compiler = Compiler(script.handle)
            for source in ("installed_pack.ops", {str(path)!r}):
                record = compiler.describe(source, "k").ok()["record"]
                assert [file["path"] for file in record["files"]] == [{str(path)!r}], record["files"]
                import installed_pack.ops
                assert record["module"] == "installed_pack.ops"
            assert "31" in compiler.compile(record["id"], [ptr("i32")]).ok().sections["ttir"].decode()
            paths = {{file["path"] for file in compiler.describe({str(user)!r}, "k").ok()["record"]["files"]}}
            assert paths == {{{str(user)!r}, {str(site / "installed_pack" / "helpers.py")!r}}}, paths

            before = compiler.describe("installed_pack.ops", "k").ok()
            open({str(path)!r}, "a").write("# changed\\n")
            after = compiler.describe("installed_pack.ops", "k").ok()
            assert before["record"]["id"] == after["record"]["id"]
            assert "until a restart" in compiler.logged()
            """
        )
    )


def test_late_imports_stay_in_the_space(compiler: Compiler, tmp_path: Path) -> None:
    """An import that runs during a compile finds what the loaded file would have found."""
    if not hasattr(__import__("triton"), "constexpr_function"):
        pytest.skip("this triton has no constexpr_function")
    write(tmp_path, "late.py", "NUMBER = 2468\n")
    head = "@triton.constexpr_function\ndef number():\n    import late\n    return late.NUMBER\n"
    function = compiler.open(write(tmp_path, "k.py", kernel("tl.store(out, number())", head=head)), "k")
    assert "2468" in value_of(compiler, function)


def test_factories_closures_and_helpers_by_name(compiler: Compiler, tmp_path: Path) -> None:
    source = """
    import triton
    import triton.language as tl

    @triton.jit
    def plus(x, y):
        return x + y

    @triton.jit
    def times(x, y):
        return x * y

    def make(op, number):
        @triton.jit
        def inner(out, NAME: tl.constexpr):
            for i in tl.static_range(2):
                tl.store(out + i, op(tl.load(out + i), number))
            if NAME == "plus":
                tl.store(out, plus(tl.load(out), 1001))
            else:
                tl.static_assert(NAME == "times", "unknown name")
                tl.store(out, times(tl.load(out), 1002))
        return inner

    added = make(plus, tl.constexpr(1003))
    multiplied = make(times, tl.constexpr(1004))
    """
    path = write(tmp_path, "k.py", source)
    added, multiplied = compiler.open(path, "added"), compiler.open(path, "multiplied")
    name = lambda value: {"str": value.encode().hex()}  # noqa: E731
    one = value_of(compiler, added, [ptr("i32"), name("plus")])
    two = value_of(compiler, multiplied, [ptr("i32"), name("times")])
    assert "1001" in one and "1003" in one and "1002" not in one
    assert "1002" in two and "1004" in two
    reply = compiler.compile(added, [ptr("i32"), name("other")])
    assert reply.status == "E_COMPILE" and "unknown name" in reply["message"]


def test_two_helpers_of_one_name(compiler: Compiler, tmp_path: Path) -> None:
    for folder, number in (("a", 11111), ("b", 22222)):
        write(tmp_path, f"{folder}/__init__.py", "")
        write(tmp_path, f"{folder}/util.py", kernel(f"return out + {number}", name="f"))
    head = "import a.util as one\nimport b.util as two"
    path = write(tmp_path, "k.py", kernel("tl.store(out, one.f(1) + two.f(n))", params="out, n", head=head))
    ttir = value_of(compiler, compiler.open(path, "k"), [ptr("i32"), integer(7)])
    assert str(11111 + 1 + 22222) in ttir
