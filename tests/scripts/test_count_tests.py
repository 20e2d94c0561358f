# SPDX-License-Identifier: Apache-2.0
"""scripts/test must not count a crash as a pass, nor a program full of tests as one."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = Path(__file__).resolve().parents[2] / "scripts" / "lib" / "count_tests.py"

CMOCKA_115 = """[==========] Running 3 test(s).
[ RUN      ] first
[       OK ] first
[ RUN      ] second
[  FAILED  ] second
[  SKIPPED ] third
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] third
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] second
"""
CMOCKA_117 = CMOCKA_115.replace("[  FAILED  ] 1", "[  FAILED  ] group: 1").replace(
    "[  SKIPPED ] 1", "[  SKIPPED ] group: 1"
)
CMOCKA_GOOD = "[==========] 2 test(s) run.\n[  PASSED  ] 2 test(s).\n"


def ctest(status: str, output: str = "", inside: str = "") -> str:
    return (
        f'<testsuite><testcase name="unit.x" classname="unit.x" status="{status}">{inside}'
        f"<system-out>{output}</system-out></testcase></testsuite>"
    )


def pytest_file(inside: str) -> str:
    return f'<testsuites><testsuite><testcase classname="m" name="t">{inside}</testcase></testsuite></testsuites>'


FAILURE = '<failure message=""/>'

CASES = {
    "plain program passed": (ctest("run"), 0, (1, 0, 0)),
    "plain program failed": (ctest("fail", inside=FAILURE), 8, (0, 1, 0)),
    "cmocka passed": (ctest("run", CMOCKA_GOOD), 0, (2, 0, 0)),
    "cmocka 1.1.5": (ctest("fail", CMOCKA_115, FAILURE), 8, (1, 1, 1)),
    "cmocka 1.1.7": (ctest("fail", CMOCKA_117, FAILURE), 8, (1, 1, 1)),
    "two cmocka groups": (ctest("run", CMOCKA_GOOD * 2), 0, (4, 0, 0)),
    "sanitizer spoke at exit": (ctest("fail", CMOCKA_GOOD, FAILURE), 8, (2, 1, 0)),
    "wished to skip": (ctest("notrun", inside='<skipped message="SKIP_RETURN_CODE=77"/>'), 0, (0, 0, 1)),
    "not built": (ctest("notrun", inside='<skipped message="Unable to find executable"/>'), 8, (0, 1, 0)),
    "disabled": (ctest("disabled"), 0, (0, 1, 0)),
    "pytest passed": (pytest_file(""), 0, (1, 0, 0)),
    "pytest failed": (pytest_file('<failure message="no"/>'), 1, (0, 1, 0)),
    "pytest error": (pytest_file('<error message="no"/>'), 1, (0, 1, 0)),
    "pytest skipped": (pytest_file('<skipped message="no GPU"/>'), 0, (0, 0, 1)),
    "runner crashed after its file": (pytest_file(""), 139, (1, 1, 0)),
    "nothing ran": ("<testsuites/>", 0, (0, 1, 0)),
    "damaged file": ("<testsuites><testcase", 0, (0, 1, 0)),
    "no file": (None, 134, (0, 1, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_counts(case: str, tmp_path: Path) -> None:
    text, status, expected = CASES[case]
    file = tmp_path / "result.xml"
    if text is not None:
        file.write_text(text)
    run = subprocess.run([sys.executable, COUNTER, file, str(status)], capture_output=True, text=True, check=True)
    first, *failures = run.stdout.splitlines()
    assert tuple(map(int, first.split())) == expected
    assert len(failures) == expected[1]
