#!/usr/bin/env python3
"""Weighs an oracle's verdicts against the differences that are on purpose.

    check_pt2.py ... | judge.py results expected_differences.tsv

Reads "ok FILE" and "FAIL FILE: why" lines. A failure that the list explains
passes and is printed with its reason; a listed difference that didn't show up
fails, so that the list can't go stale. Ends with "N passed, N failed".
"""
import pathlib
import re
import sys


def read_expected(check, path):
    """{program: (text that the failure holds, reason)} for one check."""
    expected = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        line_check, program, text, reason = line.split("\t")
        if line_check == check:
            expected[program] = (text, reason)
    return expected


def main():
    check, path = sys.argv[1:]
    expected = read_expected(check, path)
    met = set()
    passed = failed = 0
    counted = None
    for line in sys.stdin:
        line = line.rstrip("\n")
        if count := re.fullmatch(r"(\d+) passed, (\d+) failed", line):
            counted = int(count[1]) + int(count[2])
        elif line.startswith("ok "):
            passed += 1
        elif verdict := re.match(r"FAIL (.*?\.pt2): (.*)", line):
            program = pathlib.Path(verdict[1]).stem
            text, reason = expected.get(program, (None, None))
            if text is not None and text in verdict[2]:
                met.add(program)
                passed += 1
                print(f"on purpose {program}: {reason}")
            else:
                failed += 1
                print(f"FAIL {program}: {check}: {verdict[2]}")
        else:
            print(line)
    for program in sorted(expected.keys() - met):
        failed += 1
        print(f"FAIL {program}: {check}: listed in {path} but doesn't differ")
    if counted is None or counted != passed + failed - len(expected) + len(met):
        failed += 1
        print(f"FAIL {check}: the oracle ended early")
    print(f"{check}: {passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
