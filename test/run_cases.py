#!/usr/bin/env python3
"""Runs the text cases below test/cases and compares with what they expect.

    test/run_cases.py                         all cases
    test/run_cases.py verify text/bad-        those whose path contains a word
    test/run_cases.py --tenon build/x/tenon   another build of the tool
    test/run_cases.py --update                rewrite `;>` expectations

How cases are written is described in test/cases/README.md. The last line is
"N passed, N failed"; the exit code is 0 when none failed.
"""

import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TEST_DIR = Path(__file__).resolve().parent
CASES_DIR = TEST_DIR / "cases"
DEFAULT_TOOL = TEST_DIR.parent / "build" / "release" / "tenon"
TIMEOUT_S = 120

RUN = re.compile(r"^\s*;\s*RUN:\s*(.*)$")
ERROR = re.compile(r";\s*error(?:@([+-]\d+))?:\s*([A-Z]+(?:-[A-Z0-9]+)+)")
OUTPUT = re.compile(r"^\s*;\s*OUTPUT:\s*$")
# "error: PLACE: message [RULE]"
REPORT = re.compile(r"^error: (.*) \[([A-Z]+(?:-[A-Z0-9]+)+)\]$")


class Failed(Exception):
    """A case that doesn't do what it expects; the text says why."""


def run_lines(lines):
    """The commands of a case; a backslash at the end continues a command."""
    commands, open_command = [], None
    for line in lines:
        match = RUN.match(line)
        if not match:
            continue
        text = match.group(1).rstrip()
        if open_command is not None:
            text = open_command + " " + text
        open_command = text[:-1].rstrip() if text.endswith("\\") else None
        if open_command is None:
            commands.append(text)
    if open_command is not None:
        raise Failed("the last RUN line ends with a backslash")
    return commands


def expected_errors(lines):
    """(line number, rule id) for each `; error:` comment."""
    found = []
    for number, line in enumerate(lines, 1):
        if re.match(r"^\s*;\s*[A-Z]+[-A-Z]*:", line):
            continue  # a CHECK or RUN line that quotes the comment
        for match in ERROR.finditer(line):
            found.append((number + int(match.group(1) or 0), match.group(2)))
    return found


def reported_errors(text):
    """(place and message, rule id) for each error that the tool printed."""
    matches = map(REPORT.match, text.splitlines())
    return [(m.group(1), m.group(2)) for m in matches if m]


def subject(line):
    """What a line of text defines, as a place of a diagnostic names it."""
    line = line.split(";")[0].strip()
    if line.startswith("return"):
        return "output"
    match = re.match(r"^[^(=]*?[%@]([\w.$#]+)", line)
    if match is None:
        match = re.match(r"^[^(=]*?[%@]?\"([^\"]*)\"", line)
    if match is None:
        match = re.match(r"^\w+\s+\(?([\w.$]+)", line)
    return match.group(1) if match else line


def is_at(report, name, number, line):
    """Whether a report's place or message means that line of the case."""
    place = re.search(re.escape(name) + r":(\d+):\d+", report)
    if place:
        return int(place.group(1)) == number
    word = re.escape(subject(line))
    return re.search(r"(?<![\w.$])" + word + r"(?![\w.$])", report) is not None


def check_errors(case, lines, expected, output):
    reports = reported_errors(output)
    rest = list(reports)
    for number, rule in expected:
        if not 1 <= number <= len(lines):
            raise Failed(f"'; error: {rule}' points at line {number}, which "
                         "doesn't exist")
        line = lines[number - 1]
        hit = next((r for r in rest
                    if r[1] == rule and is_at(r[0], case.name, number, line)),
                   None)
        if hit is None:
            raise Failed(f"line {number}: expected an error of {rule} here:\n"
                         f"  {line.strip()}\nthe tool said:\n{output}")
        rest.remove(hit)
    if rest:
        raise Failed("errors that no '; error:' comment expects:\n"
                     + "\n".join(f"  {text} [{rule}]" for text, rule in rest))


class Runner:
    def __init__(self, tool, work_dir, update):
        self.tool = tool
        self.work_dir = Path(work_dir)
        self.update = update
        self.environment = dict(os.environ)
        self.bin_dir = self.work_dir / "bin"
        self.make_bin()

    def make_bin(self):
        """A folder with `tenon`, `FileCheck` and `not`, first in PATH."""
        self.bin_dir.mkdir()
        (self.bin_dir / "tenon").symlink_to(self.tool)
        filecheck = find_filecheck()
        if filecheck:
            (self.bin_dir / "FileCheck").symlink_to(filecheck)
        # Succeeds when the command fails in an orderly way.
        script = self.bin_dir / "not"
        script.write_text('#!/bin/sh\n"$@"\nrc=$?\n'
                          "[ $rc -ne 0 ] && [ $rc -lt 124 ]\n")
        script.chmod(0o755)
        self.environment["PATH"] = (
            f"{self.bin_dir}{os.pathsep}{self.environment.get('PATH', '')}")

    def shell(self, case, command):
        """Exit codes of the pipeline's parts, stdout, stderr."""
        scratch = self.work_dir / ("-".join(case.relative_to(
            CASES_DIR).parts) if case.is_relative_to(CASES_DIR)
            else case.name)
        values = {"tenon": self.tool, "s": case, "S": case.parent,
                  "t": str(scratch) + ".tmp"}
        command = re.sub(r"%(tenon|[sSt])\b",
                         lambda m: shlex.quote(str(values[m.group(1)])),
                         command)
        codes = str(scratch) + ".codes"
        script = f"{command}\necho \"${{PIPESTATUS[@]}}\" > {shlex.quote(codes)}"
        try:
            done = subprocess.run(["bash", "-c", script],
                                  env=self.environment, cwd=self.work_dir,
                                  stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"took more than {TIMEOUT_S} s:\n  {command}"
                         ) from error
        text = Path(codes).read_text() if Path(codes).exists() else ""
        exit_codes = [int(c) for c in text.split()] or [done.returncode]
        return (command, exit_codes, done.stdout.decode(errors="replace"),
                done.stderr.decode(errors="replace"))

    def run(self, case):
        """Raises Failed when the case doesn't hold."""
        lines = case.read_text().splitlines()
        commands = run_lines(lines)
        errors = expected_errors(lines)
        is_bad = case.name.startswith("bad-")
        if errors and not is_bad:
            raise Failed("a case with '; error:' comments needs a name that "
                         "starts with 'bad-'")
        if not commands and not is_bad:
            raise Failed("no RUN line")
        output = ""
        for command in commands:
            output += self.check_command(case, command, is_bad)
        if errors or not commands:
            said = self.check_command(case, "%tenon verify %s 2>&1", is_bad)
            if errors:
                check_errors(case, lines, errors, said)
        self.check_output(case, lines, output)

    def check_command(self, case, command, is_bad):
        shown, codes, out, err = self.shell(case, command)
        crashed = any(c >= 124 for c in codes)
        # The first command of a bad case's pipeline fails, the others, which
        # look at what it printed, don't.
        expected = codes[0] != 0 if is_bad else codes[0] == 0
        if crashed or not expected or any(codes[1:]):
            wanted = "an orderly failure" if is_bad else "success"
            raise Failed(f"exit codes {codes}, expected {wanted}:\n"
                         f"  {shown}\n{out}{err}")
        return out

    def check_output(self, case, lines, output):
        """Compares with the `;>` lines below `; OUTPUT:`, if there are any."""
        at = next((i for i, l in enumerate(lines) if OUTPUT.match(l)), None)
        if at is None:
            return
        end = at + 1
        while end < len(lines) and lines[end].startswith(";>"):
            end += 1
        expected = [l[2:].removeprefix(" ") for l in lines[at + 1:end]]
        # Paths of this machine don't belong into an expectation.
        output = output.replace(str(case), case.name)
        found = output.splitlines()
        if expected == found:
            return
        if self.update:
            block = [f";> {l}".rstrip() for l in found]
            lines = lines[:at + 1] + block + lines[end:]
            case.write_text("\n".join(lines) + "\n")
            return
        diff = difflib.unified_diff(expected, found, "expected", "found",
                                    lineterm="")
        raise Failed("the output differs:\n" + "\n".join(diff))


def find_filecheck():
    found = shutil.which("FileCheck")
    if found:
        return found
    candidates = sorted(glob.glob("/usr/lib/llvm-*/bin/FileCheck"))
    return candidates[-1] if candidates else None


def find_cases(words):
    cases = sorted(CASES_DIR.glob("*/**/*.tenon"))
    if not words:
        return cases
    named = [Path(w).resolve() for w in words if Path(w).is_file()]
    words = [w for w in words if not Path(w).is_file()]
    return named + [c for c in cases
                    if c not in named and any(w in str(c.relative_to(CASES_DIR))
                                              for w in words)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("words", nargs="*",
                        help="files, or parts of paths below test/cases")
    parser.add_argument("--tenon", default=str(DEFAULT_TOOL), metavar="PATH",
                        help="the tool (default: build/release/tenon)")
    parser.add_argument("--update", action="store_true",
                        help="rewrite the ;> lines of cases")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="name the cases that pass, too")
    options = parser.parse_args()

    tool = shutil.which(options.tenon) or options.tenon
    if not os.path.isfile(tool):
        sys.exit(f"no tool at {tool}: build it, or say --tenon PATH")
    if not find_filecheck():
        sys.exit("FileCheck isn't installed (Debian: llvm-14-tools)")
    cases = find_cases(options.words)
    if not cases:
        sys.exit("no case matches")

    num_failed = 0
    with tempfile.TemporaryDirectory(prefix="tenon-cases-") as work_dir:
        runner = Runner(Path(tool).resolve(), work_dir, options.update)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [(case, pool.submit(runner.run, case)) for case in cases]
            for case, job in jobs:
                name = os.path.relpath(case, CASES_DIR)
                try:
                    job.result()
                    if options.verbose:
                        print(f"passed: {name}")
                except (Failed, OSError, UnicodeDecodeError) as error:
                    num_failed += 1
                    print(f"FAILED: {name}\n{error}\n")
    print(f"{len(cases) - num_failed} passed, {num_failed} failed")
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
