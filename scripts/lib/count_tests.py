# SPDX-License-Identifier: Apache-2.0
"""Counts the tests in a JUnit file of ctest or pytest, for scripts/test.

    count_tests.py <file> <exit status of the runner>

prints "<passed> <failed> <skipped>" and then one line for each failure. A CMocka program is one entry in
ctest's file but many tests: its own summary, which ctest captured, is counted instead. A runner that failed
without a failed test (it crashed, or a sanitizer spoke at exit) counts as one failure, and so does a file that
is missing or damaged.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

# CMocka's summary; from 1.1.6 on some lines name the group: "[  FAILED  ] group: 1 test(s), listed below:".
CMOCKA_PASSED = re.compile(r"^\[  PASSED  \] (?:.*: )?(\d+) test\(s\)", re.MULTILINE)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] (?:.*: )?(\d+) test\(s\)", re.MULTILINE)
CMOCKA_SKIPPED = re.compile(r"^\[  SKIPPED \] (?:.*: )?(\d+) test\(s\)", re.MULTILINE)
CMOCKA_FAILURE = re.compile(r"^\[  FAILED  \] (\w+)$", re.MULTILINE)


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def fail(self, name: str) -> None:
        self.failed += 1
        self.failures.append(name)


def total(pattern: re.Pattern[str], text: str) -> int:
    return sum(int(number) for number in pattern.findall(text))


def count_case(case: ElementTree.Element, counts: Counts) -> None:
    """Adds one <testcase>."""
    name = case.get("name", "?")
    if case.get("classname") and "status" not in case.keys():
        name = f"{case.get('classname')}::{name}"  # pytest
    output = case.findtext("system-out") or ""
    skipped = case.find("skipped")
    status = case.get("status", "run")
    if skipped is not None or status in ("notrun", "disabled"):
        # ctest also says "skipped" of a program that it cannot start; only a test's own wish is a skip.
        message = "" if skipped is None else skipped.get("message", "")
        if status == "disabled" or (status == "notrun" and not message.startswith("SKIP_")):
            counts.fail(f"{name} ({message or status})")
        else:
            counts.skipped += 1
        return
    failed = case.find("failure") is not None or case.find("error") is not None or status == "fail"
    passed_inside, failed_inside = total(CMOCKA_PASSED, output), total(CMOCKA_FAILED, output)
    skipped_inside = total(CMOCKA_SKIPPED, output)
    if passed_inside + failed_inside + skipped_inside == 0:
        if failed:
            counts.fail(name)
        else:
            counts.passed += 1
        return
    counts.passed += passed_inside
    counts.skipped += skipped_inside
    counts.failed += failed_inside
    if failed_inside:
        inner = sorted(set(CMOCKA_FAILURE.findall(output)))
        counts.failures.append(f"{name}: {', '.join(inner)}")
    elif failed:
        counts.fail(f"{name} (its tests passed, the program did not)")


def main(path: str, status: int) -> None:
    counts = Counts()
    try:
        for case in ElementTree.parse(path).iter("testcase"):
            count_case(case, counts)
    except (OSError, ElementTree.ParseError) as error:
        counts.fail(f"no result file: {error}")
    if status != 0 and counts.failed == 0:
        counts.fail(f"the runner ended with status {status}")
    if counts.passed + counts.failed + counts.skipped == 0:
        counts.fail("no test ran")
    print(counts.passed, counts.failed, counts.skipped)
    for failure in counts.failures:
        print(failure)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
