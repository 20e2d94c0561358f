# SPDX-License-Identifier: Apache-2.0
"""A function is a snapshot: edits make new functions, old ones keep their code, any process can load it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import Compiler, check_python, integer, kernel, ptr, write

STORE_VALUE = "tl.store(out, VALUE)"


def ttir(compiler: Compiler, function: str, **how) -> str:
    return compiler.compile(function, [ptr("i32")], **how).ok().sections["ttir"].decode()


def same_stamp(path: Path, content: str) -> None:
    """Rewrite a file so that its size, time and inode stay as they are."""
    status = path.stat()
    assert len(content) == status.st_size
    with path.open("r+") as file:
        file.write(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    now = path.stat()
    assert (now.st_mtime_ns, now.st_size, now.st_ino) == (status.st_mtime_ns, status.st_size, status.st_ino)


def test_edit_of_the_file(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, 111)"))
    old = compiler.open(path, "k")
    same_stamp(path, kernel("tl.store(out, 222)"))
    new = compiler.open(path, "k")
    assert old != new
    assert "111" in ttir(compiler, old) and "222" in ttir(compiler, new)
    same_stamp(path, kernel("tl.store(out, 111)"))
    assert compiler.open(path, "k") == old
    assert "222" in ttir(compiler, new, num_warps=8) and "111" in ttir(compiler, old, num_warps=8)


def test_edit_within_a_second_with_bytecode_caches(compiler: Compiler, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write(tmp_path, "helper.py", "import triton.language as tl\nVALUE = tl.constexpr(111)\n")
    path = write(tmp_path, "k.py", kernel(STORE_VALUE, head="from helper import VALUE"))
    old = compiler.open(path, "k")
    same_stamp(tmp_path / "helper.py", "import triton.language as tl\nVALUE = tl.constexpr(222)\n")
    new = compiler.open(path, "k")
    assert old != new
    assert "222" in ttir(compiler, new) and "111" in ttir(compiler, old)
    assert not list(tmp_path.rglob("__pycache__"))


CONSTANT = "import triton.language as tl\nVALUE = tl.constexpr({})\n"
OUTSIDE_THE_KEY = {
    "attribute": ("tl.store(out, settings.VALUE)", "import settings", CONSTANT),
    "class": ("tl.store(out, settings.Now.VALUE)", "import settings", CONSTANT.replace("VALUE", "class Now: VALUE")),
    "look-up": (
        "tl.store(out, number('add'))",
        "import settings\n@triton.constexpr_function\ndef number(name):\n    return settings.TABLE[name]\n",
        "TABLE = {{'add': {}}}\n",
    ),
    "in a called function": (
        "tl.store(out, inner())",
        "import settings\n@triton.jit\ndef inner():\n    return settings.VALUE\n",
        CONSTANT,
    ),
}


@pytest.mark.parametrize("where", OUTSIDE_THE_KEY)
def test_edit_that_is_not_in_tritons_key(compiler: Compiler, tmp_path: Path, where: str) -> None:
    """Triton's disk cache would serve the old artifact: its key has the value in none of these."""
    body, head, settings = OUTSIDE_THE_KEY[where]
    path = write(tmp_path, "k.py", kernel(body, head=head))
    write(tmp_path, "settings.py", settings.format(1111))
    old = compiler.open(path, "k")
    first = compiler.compile(old, [ptr("i32")]).ok()
    write(tmp_path, "settings.py", settings.format(2222))
    new = compiler.open(path, "k")
    second = compiler.compile(new, [ptr("i32")]).ok()
    assert first["hash"] == second["hash"], "in the key by now: take another example"
    assert "1111" in first.sections["ttir"].decode() and "2222" in second.sections["ttir"].decode()
    assert first.sections["cubin"] != second.sections["cubin"]
    again = compiler.compile(old, [ptr("i32")]).ok()
    assert again.sections["cubin"] == first.sections["cubin"]


def test_renamed_symbol_is_not_in_tritons_key(compiler: Compiler, tmp_path: Path) -> None:
    for symbol in ("first_name", "other_name"):
        source = kernel("tl.store(out, 86420)").replace("@triton.jit", f"@triton.jit(repr=lambda _: '{symbol}')")
        function = compiler.open(write(tmp_path, "k.py", source), "k")
        assert compiler.compile(function, [ptr("i32")]).ok()["name"] == symbol


def test_artifacts_of_others_are_checked_once(compiler: Compiler, tmp_path: Path, monkeypatch) -> None:
    from triton.compiler import ASTSource

    calls = []
    make_ir = ASTSource.make_ir
    monkeypatch.setattr(ASTSource, "make_ir", lambda *args, **named: (calls.append(1), make_ir(*args, **named))[1])
    one, two = (write(tmp_path / name, "k.py", kernel("tl.store(out, 97531)")) for name in "ab")
    assert not compiler.compile(compiler.open(one, "k"), [ptr("i32")]).ok()["cached"]
    assert len(calls) == 1
    for expected in (2, 2):  # another file with the same text: same artifact, checked by the front end alone
        assert compiler.compile(compiler.open(two, "k"), [ptr("i32")]).ok()["cached"]
        assert len(calls) == expected
    assert compiler.compile(compiler.open(one, "k"), [ptr("i32")]).ok()["cached"]
    assert len(calls) == 2


def test_touching_changes_the_stamp_only(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel())
    before = compiler.describe(path, "k").ok()["record"]
    os.utime(path, ns=(1, 1_000_000_007))
    after = compiler.describe(path, "k").ok()["record"]
    assert after["id"] == before["id"]
    assert after["files"][0]["mtime_ns"] == "1000000007"
    path.unlink()
    write(tmp_path, "k.py", kernel())
    again = compiler.describe(path, "k").ok()["record"]
    assert again["id"] == before["id"] and again["files"][0]["inode"] == str(path.stat().st_ino)


def test_signature_changes_with_the_file(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel())
    old = compiler.describe(path, "k").ok()["record"]
    write(tmp_path, "k.py", kernel("tl.store(out, n)", params="out, n"))
    assert len(compiler.describe(path, "k").ok()["record"]["params"]) == 2
    ttir(compiler, old["id"])


def test_no_growth(compiler: Compiler, tmp_path: Path) -> None:
    import linecache

    write(tmp_path, "helper.py", "x = 1\n")
    path = write(tmp_path, "k.py", kernel(head="import helper"))
    broken = write(tmp_path, "broken.py", "import helper\n1 / 0\n")
    for source in (path, broken):
        compiler.describe(source, "k")
    modules, lines, entries = len(sys.modules), len(linecache.cache), len(sys.path)
    for _ in range(50):
        compiler.describe(path, "k").ok()
        assert compiler.describe(broken, "k").status == "E_SOURCE_RAISED"
        assert compiler.describe(path, "absent").status == "E_KERNEL_NOT_FOUND"
    assert (len(sys.modules), len(linecache.cache), len(sys.path)) == (modules, lines, entries)


def test_edits_of_a_broken_file_do_not_pile_up(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "helper.py", "x = 1\n")
    path = write(tmp_path, "k.py", "import helper\nraise ValueError(0)\n")
    compiler.describe(path, "k")
    modules = len(sys.modules)
    for number in range(1, 20):
        write(tmp_path, "k.py", f"import helper\nraise ValueError({number})\n")
        assert str(number) in compiler.describe(path, "k")["message"]
    assert len(sys.modules) == modules


def test_module_state_is_shared_by_the_kernels_of_a_file(compiler: Compiler, tmp_path: Path) -> None:
    head = "import builtins\nbuiltins.tj_loads = getattr(builtins, 'tj_loads', 0) + 1\n"
    source = kernel(head=head) + kernel(name="k2").split("\n\n", 1)[1]
    path = write(tmp_path, "k.py", source)
    compiler.open(path, "k")
    compiler.open(path, "k2")
    import builtins

    assert builtins.tj_loads == 1
    del builtins.tj_loads


def test_package_is_loaded_once_for_its_kernels(compiler: Compiler, tmp_path: Path) -> None:
    head = "import builtins\nbuiltins.tj_loads = getattr(builtins, 'tj_loads', 0) + 1\n"
    write(tmp_path, "pack_once/__init__.py", head)
    paths = [write(tmp_path, f"pack_once/k{number}.py", kernel(f"tl.store(out, {number})")) for number in (111, 222)]
    functions = [compiler.open(path, "k") for path in paths]
    import builtins

    assert builtins.tj_loads == 1
    write(tmp_path, "pack_once/k111.py", kernel("tl.store(out, 333)"))
    third = compiler.open(paths[0], "k")
    assert builtins.tj_loads == 2
    assert compiler.open(paths[1], "k") == functions[1]
    for function, number in zip([*functions, third], ("111", "222", "333")):
        assert number in ttir(compiler, function)
    del builtins.tj_loads


def test_unknown_id(compiler: Compiler) -> None:
    reply = compiler.compile("0" * 64, [])
    assert dict(reply) == {"v": 1, "status": "NEED_SNAPSHOT", "id": "0" * 64}


def recreate(snapshot: Path, function: str) -> str:
    """Compile from a snapshot in a process that has not seen the files."""
    return check_python(
        f"""
        from conftest import Compiler, script, ptr
        compiler = Compiler(script.handle)
        data = open({str(snapshot)!r}, "rb").read()
        reply = compiler.compile({function!r}, [ptr("i32")])
        assert reply.status == "NEED_SNAPSHOT" and reply["id"] == {function!r}
        reply = compiler.compile({function!r}, [ptr("i32")], snapshots={{{function!r}: data}}).ok()
        assert compiler.compile({function!r}, [ptr("i32")]).ok()["hash"] == reply["hash"]
        print(reply["hash"])
        """
    ).strip()


@pytest.mark.parametrize("disk", ["same", "changed", "gone"])
def test_recreate_a_loose_file(compiler: Compiler, tmp_path: Path, disk: str) -> None:
    sources = tmp_path / "sources"
    write(
        sources, "helper.py", "import triton.language as tl\nimport pack.sub\nVALUE = tl.constexpr(pack.sub.number)\n"
    )
    write(sources, "pack/sub.py", "number = 1357\n")
    path = write(sources, "k.py", kernel(STORE_VALUE, head="from helper import VALUE"))
    reply = compiler.describe(path, "k").ok()
    (tmp_path / "snapshot").write_bytes(reply.sections["snapshot"])
    function = reply["record"]["id"]
    expected = compiler.compile(function, [ptr("i32")]).ok()["hash"]
    if disk == "changed":
        for name in ("k.py", "helper.py", "pack/sub.py"):
            write(sources, name, "raise RuntimeError('the disk was read')\n")
    elif disk == "gone":
        shutil.rmtree(sources)
    assert recreate(tmp_path / "snapshot", function) == expected


@pytest.mark.parametrize("disk", ["same", "gone"])
def test_recreate_in_a_package(compiler: Compiler, tmp_path: Path, disk: str) -> None:
    sources = tmp_path / "sources"
    write(sources, f"pack_{disk}/__init__.py", "from .deep.util import VALUE\n")
    write(sources, f"pack_{disk}/deep/util.py", "import triton.language as tl\nVALUE = tl.constexpr(1357)\n")
    path = write(sources, f"pack_{disk}/k.py", kernel(STORE_VALUE, head="from . import VALUE"))
    reply = compiler.describe(path, "k").ok()
    (tmp_path / "snapshot").write_bytes(reply.sections["snapshot"])
    expected = compiler.compile(reply["record"]["id"], [ptr("i32")]).ok()["hash"]
    if disk == "gone":
        shutil.rmtree(sources)
    assert recreate(tmp_path / "snapshot", reply["record"]["id"]) == expected


def test_recreate_an_installed_function_after_an_upgrade(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write(site, "upgraded/__init__.py", "")
    path = write(site, "upgraded/k.py", kernel("tl.store(out, 1111)"))
    out = check_python(
        f"""
        import sys
        sys.path.append({str(site)!r})
        from conftest import Compiler, script, ptr
        compiler = Compiler(script.handle)
        reply = compiler.describe("upgraded.k", "k").ok()
        open({str(tmp_path / "snapshot")!r}, "wb").write(reply.sections["snapshot"])
        print(reply["record"]["id"], compiler.compile(reply["record"]["id"], [ptr("i32")]).ok()["hash"])
        """
    )
    function, expected = out.split()
    write(site, "upgraded/k.py", kernel("tl.store(out, 2222)"))
    assert path.read_text().count("2222")
    assert recreate(tmp_path / "snapshot", function) == expected


def test_recreate_text_from_memory(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe("made up", "k", memory=kernel("tl.store(out, 8642)")).ok()
    (tmp_path / "snapshot").write_bytes(reply.sections["snapshot"])
    expected = compiler.compile(reply["record"]["id"], [ptr("i32")]).ok()["hash"]
    assert recreate(tmp_path / "snapshot", reply["record"]["id"]) == expected


def test_recreated_functions_share_their_package(compiler: Compiler, tmp_path: Path) -> None:
    head = "import builtins\nbuiltins.tj_loads = getattr(builtins, 'tj_loads', 0) + 1\n"
    write(tmp_path, "pack_shared/__init__.py", head)
    paths = [write(tmp_path, f"pack_shared/k{n}.py", kernel(f"tl.store(out, {n})")) for n in range(3)]
    functions = {}
    for path in paths:
        reply = compiler.describe(path, "k").ok()
        functions[reply["record"]["id"]] = reply.sections["snapshot"].hex()
    check_python(
        f"""
        import builtins
        from conftest import Compiler, script, ptr
        compiler = Compiler(script.handle)
        for function, snapshot in {functions!r}.items():
            compiler.compile(function, [ptr("i32")], snapshots={{function: bytes.fromhex(snapshot)}}).ok()
        assert builtins.tj_loads == 1
        """
    )
    import builtins

    del builtins.tj_loads


def test_stamps_after_recreating(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel())
    reply = compiler.describe(path, "k").ok()
    function = reply["record"]["id"]
    check_python(
        f"""
        import os
        from conftest import Compiler, script, ptr
        compiler = Compiler(script.handle)
        snapshot = bytes.fromhex({reply.sections["snapshot"].hex()!r})
        compiler.compile({function!r}, [ptr("i32")], snapshots={{{function!r}: snapshot}}).ok()
        record = compiler.describe({str(path)!r}, "k").ok()["record"]
        assert record["id"] == {function!r}
        assert record["files"][0]["mtime_ns"] == str(os.stat({str(path)!r}).st_mtime_ns)
        """
    )


def test_wrong_and_damaged_snapshots(compiler: Compiler, tmp_path: Path) -> None:
    snapshot = compiler.describe(write(tmp_path, "k.py", kernel()), "k").ok().sections["snapshot"]
    for data in (snapshot, snapshot[:-1], b"", b"\0" * 100, snapshot.replace(b'"files"', b'"fives"')):
        reply = compiler.compile("1" * 64, [ptr()], snapshots={"1" * 64: data})
        assert reply.status == "E_INTERNAL" and "snapshot" in reply["message"]


def test_functions_as_arguments(compiler: Compiler, tmp_path: Path) -> None:
    source = kernel("tl.store(out, fn(n, 3))", params="out, fn: tl.constexpr, n")
    main = compiler.open(write(tmp_path, "main.py", source), "k")
    other = compiler.describe(write(tmp_path, "other.py", kernel("return a * b", name="f", params="a, b")), "f").ok()
    function = other["record"]["id"]
    reply = compiler.compile(main, [ptr("i32"), {"function": function}, integer(7)]).ok()
    assert "muli" in reply.sections["ttir"].decode()
    assert compiler.compile(main, [ptr("i32"), {"function": "2" * 64}, integer(7)])["id"] == "2" * 64
    check_python(
        f"""
        from conftest import Compiler, script, ptr, integer
        compiler = Compiler(script.handle)
        main = bytes.fromhex({compiler.describe(tmp_path / "main.py", "k").sections["snapshot"].hex()!r})
        other = bytes.fromhex({other.sections["snapshot"].hex()!r})
        args = [ptr("i32"), {{"function": {function!r}}}, integer(7)]
        assert compiler.compile({main!r}, args)["id"] == {main!r}
        assert compiler.compile({main!r}, args, snapshots={{{main!r}: main}})["id"] == {function!r}
        both = {{{main!r}: main, {function!r}: other}}
        assert compiler.compile({main!r}, args, snapshots=both).ok()["hash"] == {reply["hash"]!r}
        """
    )


def test_changed_global(compiler: Compiler, tmp_path: Path) -> None:
    """A global that changes after loading is refused, as Triton refuses to launch then."""
    head = "VALUE = tl.constexpr(5)\ndef change():\n    global VALUE\n    VALUE = tl.constexpr(6)\n"
    path = write(tmp_path, "k.py", kernel(STORE_VALUE, head=head))
    record = compiler.describe(path, "k").ok()["record"]
    ttir(compiler, record["id"])
    sys.modules[record["module"]].change()
    reply = compiler.compile(record["id"], [ptr("i32")])
    assert reply.status == "E_COMPILE" and "'VALUE' has changed" in reply["message"]
