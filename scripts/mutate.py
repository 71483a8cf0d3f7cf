#!/usr/bin/env python3
"""Flips one condition at a time in the passes and asks whether a test fails.

    scripts/mutate.py                       link, partition and verify
    scripts/mutate.py --only src/link       one of them (or one file)
    scripts/mutate.py --sample 150          150 mutants drawn by --seed
    scripts/mutate.py --strict              one that survives without a reason
                                            fails the run
    scripts/mutate.py --report              the verdicts of the last run
    scripts/mutate.py --again               only mutants that survived it

A mutant is one condition (scripts/conditions.py) turned into its opposite, or
one comparison by order with the other boundary, < for <= and so on. All mutants
are in one build: a copy of HEAD in which each condition asks the environment
whether it is to be flipped. A first run of every test tells which tests reach
which condition; only those are run on a mutant, cheap and deadly ones first,
until one fails, crashes or takes too long.

Some mutants compute the same as the original. scripts/mutants_survivors.tsv
lists those with the reason; they don't count. The script fails when the tests
kill less than 95 % of the others, or, with --strict, not all of them. It ends
with "N killed, N survived (N explained), rate P %" and, for scripts/parts.sh,
with "N passed, N failed": failed are those that survived without a reason.
"""

import argparse
import csv
import fnmatch
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conditions import find_conditions

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED = ROOT / "scripts" / "mutants_survivors.tsv"
FOLDERS = ("src/link", "src/partition", "src/verify")
UNIT_TESTS = ("link", "partition", "verify", "export", "api", "runtime")
MIN_RATE = 95.0
MEMORY_BYTES = 8 << 30

SWITCH_FILE = "src/mutant_switch.h"
SWITCH_HEADER = r"""// Written by scripts/mutate.py.
#pragma once
#pragma GCC system_header
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>

namespace tenon_mutant {

struct State {
  int active = -1;
  // By condition: 1 once it was false, 2 once it was true. A mapped file, so
  // that what a process that crashes has reached is known, too.
  unsigned char* seen = nullptr;
  State() {
    if (const char* id = std::getenv("TENON_MUTANT")) active = std::atoi(id);
    if (const char* path = std::getenv("TENON_MUTANT_SEEN")) {
      const int file = open(path, O_RDWR);
      void* at = mmap(nullptr, kNumMutants, PROT_READ | PROT_WRITE, MAP_SHARED,
                      file, 0);
      if (at != MAP_FAILED) seen = static_cast<unsigned char*>(at);
    }
  }
  static constexpr int kNumMutants = @NUM_MUTANTS@;
};
inline State& TheState() {
  static State state;
  return state;
}
inline bool IsActive(int id) { return TheState().active == id; }
inline bool Note(int id, bool value) {
  if (TheState().seen != nullptr) TheState().seen[id] |= value ? 2 : 1;
  return value;
}
inline bool Flip(int id, bool value) {
  return Note(id, value) != IsActive(id);
}

// A comparison with the other boundary.
#define TENON_BOUNDARY(Name, op, other)              \
  template <typename A, typename B>                  \
  bool Name(int id, const A& a, const B& b) {        \
    if constexpr (requires { a other b; }) {         \
      if (IsActive(id)) return Note(id, a other b);  \
    }                                                \
    return Note(id, a op b);                         \
  }
TENON_BOUNDARY(Less, <, <=)
TENON_BOUNDARY(LessEqual, <=, <)
TENON_BOUNDARY(Greater, >, >=)
TENON_BOUNDARY(GreaterEqual, >=, >)
#undef TENON_BOUNDARY

}  // namespace tenon_mutant
"""
BOUNDARY = {"<": "Less", "<=": "LessEqual", ">": "Greater",
            ">=": "GreaterEqual"}


@dataclass
class Mutant:
    id: int
    file: str
    line: int
    function: str
    kind: str  # "flip" or "boundary"
    text: str
    repeat: int  # how many like it come before it in the function

    def key(self):
        return "\t".join((self.file, self.function, self.kind, self.text,
                          str(self.repeat)))

    def __str__(self):
        return f"{self.file}:{self.line}: {self.function}: {self.kind} " \
               f"{self.text}"


# --- the copy with switches ---

def instrument(text, file, next_id):
    """(text with switches, mutants)"""
    inserts, mutants, cuts, repeats = [], [], {}, {}

    def mutant(condition, kind):
        same = (condition.function, kind, condition.text)
        repeats[same] = repeats.get(same, -1) + 1
        mutants.append(Mutant(next_id + len(mutants), file, condition.line,
                              condition.function, kind, condition.text,
                              repeats[same]))
        return mutants[-1].id

    for c in find_conditions(text):
        # At one place: first what closes, inner before outer; then what opens,
        # outer before inner.
        opening = f"tenon_mutant::Flip({mutant(c, 'flip')}, static_cast<bool>("
        inserts.append((c.start, 1, -c.end, 0, opening))
        inserts.append((c.end, 0, -c.start, 1, "))"))
        if c.order:
            name = BOUNDARY[text[c.order[0]:c.order[1]]]
            opening = f"tenon_mutant::{name}({mutant(c, 'boundary')}, "
            inserts.append((c.start, 1, -c.end, 1, opening))
            inserts.append((c.end, 0, -c.start, 0, ")"))
            cuts[c.order[0]] = c.order[1]
    out, at = io.StringIO(), 0
    out.write('#include "mutant_switch.h"\n#line 1\n')
    events = [(e[0], e[1:4], e[4]) for e in inserts]
    events += [(start, (2, 0, 0), None) for start in cuts]
    for place, _, inserted in sorted(events, key=lambda e: (e[0], e[1])):
        out.write(text[at:place])
        at = place
        if inserted is None:
            out.write(",")
            at = cuts[place]
        else:
            out.write(inserted)
    out.write(text[at:])
    return out.getvalue(), mutants


def write_if_new(path, data):
    """Leaves the time of a file that is the same alone, so that builds are."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def make_tree(tree, commit, here):
    """Copies it to `tree` with a switch in each condition; the mutants."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True,
                             capture_output=True).stdout
    mutants, names = [], {SWITCH_FILE}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar.getmembers():
            if not member.isfile():
                continue
            data = tar.extractfile(member).read()
            folder, _, _ = member.name.rpartition("/")
            if folder in FOLDERS and member.name.endswith(".cc"):
                text, found = instrument(data.decode(), member.name,
                                         len(mutants))
                mutants += found
                data = text.encode()
            elif member.name in [f + "/CMakeLists.txt" for f in FOLDERS]:
                # Indices out of range must be seen, odd code tolerated; builds quickly.
                data += (f"\ntarget_compile_options(tenon_{folder[4:]} PRIVATE "
                         "-w -O1 -D_GLIBCXX_ASSERTIONS)\n").encode()
            names.add(member.name)
            path = tree / member.name
            write_if_new(path, data)
            path.chmod(member.mode)
    if here:
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", *here], cwd=ROOT,
            check=True, capture_output=True, text=True).stdout.splitlines()
        for name in listed:
            if (ROOT / name).is_file():
                write_if_new(tree / name, (ROOT / name).read_bytes())
                names.add(name)
    for part in ("src", "test", "tools"):
        for path in (tree / part).rglob("*"):
            if path.is_file() and str(path.relative_to(tree)) not in names \
                    and "__pycache__" not in path.parts:
                path.unlink()
    write_if_new(tree / SWITCH_FILE, SWITCH_HEADER.replace(
        "@NUM_MUTANTS@", str(max(1, len(mutants)))).encode())
    return mutants


def build(tree, jobs):
    # The same place below the checkout as the usual build: ccache knows most.
    out = tree / "build" / "release"
    log = tree.parent / "build.log"
    commands = [["cmake", "--preset", "release", "-DTENON_BUILD_BENCH=OFF"],
                ["ninja", "-C", str(out), f"-j{jobs}", "tenon", "conformance",
                 *(f"{t}_test" for t in UNIT_TESTS)]]
    with open(log, "w", encoding="utf-8") as f:
        for command in commands:
            if subprocess.run(command, cwd=tree, stdout=f,
                              stderr=subprocess.STDOUT).returncode != 0:
                sys.exit(f"{' '.join(command)} failed, see {log}")
    return out


# --- tests ---

class Check:
    """One test program or golden case."""

    def __init__(self, name):
        self.name = name
        self.time_s = 0.0
        self.seen = b""  # by mutant: what State::seen says
        self.num_tried = self.num_killed = 0

    def deadliness(self):
        """Kills that a second of it may be expected to make."""
        return (self.num_killed + 0.5) / (self.num_tried + 1) / \
            (self.time_s + 0.002)


class ProgramCheck(Check):
    def __init__(self, name, command, tree):
        super().__init__(name)
        self.command = command
        self.tree = tree

    def passes(self, environment):
        cpu_s = int(10 * self.time_s) + 5 if self.time_s else 600

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        with tempfile.TemporaryDirectory(prefix="tenon-mutant-") as scratch:
            try:
                done = subprocess.run(
                    self.command, cwd=self.tree, preexec_fn=limit,
                    env=environment | {"TMPDIR": scratch},
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, timeout=20 * cpu_s)
            except subprocess.TimeoutExpired:
                return False
        return done.returncode == 0


class CaseCheck(Check):
    def __init__(self, name, case, runner, failure):
        super().__init__(name)
        self.case = case
        self.runner = runner
        self.failure = failure

    def passes(self, environment):
        runner = self.runner(environment)
        try:
            runner.run(self.case)
        except (self.failure, OSError, UnicodeDecodeError):
            return False
        return True


def make_checks(tree, out, work):
    checks = [ProgramCheck(f"{t}_test", [
        str(out / "test" / f"{t}_test"), "--gtest_fail_fast",
        "--gtest_brief=1"], tree) for t in UNIT_TESTS]
    conformance = str(out / "conformance")
    checks.append(ProgramCheck("conformance hybrid", [
        conformance, "hybrid", "test/data/hybrid"], tree))
    checks.append(ProgramCheck("conformance pt2", [
        conformance, "pt2", "test/data/manifest.json"], tree))

    # The golden cases, in this process: a shell for each is dear enough.
    sys.path.insert(0, str(tree / "test"))
    import run_cases
    local = threading.local()
    # Bash reads it first: what it starts ends by itself.
    limits = work / "limits.sh"
    limits.write_text("ulimit -t 10\n")

    def runner(environment):
        if not hasattr(local, "runner"):
            folder = tempfile.mkdtemp(dir=work)
            local.runner = run_cases.Runner(out / "tenon", folder, False)
            local.environment = local.runner.environment | {
                "BASH_ENV": str(limits)}
        local.runner.environment = local.environment | {
            k: v for k, v in environment.items() if k.startswith("TENON_")}
        return local.runner

    checks += [CaseCheck(str(case.relative_to(run_cases.CASES_DIR)), case,
                         runner, run_cases.Failed)
               for case in run_cases.find_cases([])]
    return checks


def run_unchanged(checks, num_mutants, work, jobs):
    """Times each check and notes what it reaches; the checks that pass."""
    def run(check):
        with tempfile.NamedTemporaryFile(dir=work) as f:
            f.write(bytes(num_mutants))
            f.flush()
            environment = os.environ | {"TENON_MUTANT_SEEN": f.name}
            start = time.monotonic()
            passed = check.passes(environment)
            check.time_s = time.monotonic() - start
            check.seen = Path(f.name).read_bytes()
        return passed
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(run, checks))
    for check, ok in zip(checks, passed):
        if not ok:
            print(f"left out, fails on the unchanged program: {check.name}")
    return [c for c, ok in zip(checks, passed) if ok]


def find_killer(mutant, checks):
    """The name of a check that fails; "" when the mutant survives."""
    reaching = [c for c in checks if c.seen[mutant.id]]
    # Checks that see the condition come out another way than most do are
    # likelier to notice.
    share = {}
    for c in reaching:
        share[c.seen[mutant.id]] = share.get(c.seen[mutant.id], 0) + 1
    reaching.sort(key=lambda c: -c.deadliness() / share[c.seen[mutant.id]])
    environment = os.environ | {"TENON_MUTANT": str(mutant.id)}
    for check in reaching:
        check.num_tried += 1
        if not check.passes(environment):
            check.num_killed += 1
            return check.name
    return ""


# --- verdicts ---

def read_explained():
    """Rows of scripts/mutants_survivors.tsv."""
    if not EXPLAINED.exists():
        return []
    with open(EXPLAINED, encoding="utf-8") as f:
        lines = [line for line in f if not line.startswith("#")]
    rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        if len(row) != 5 or not all(row):
            sys.exit(f"{EXPLAINED}: five columns expected: {row}")
    return rows


def is_explained(mutant, rows):
    return any(row[:4] == [mutant.file, mutant.function, mutant.kind,
                           mutant.text] for row in rows)


def report(mutants, killers, rows, is_whole, min_rate):
    """Prints the verdicts; whether `min_rate` percent were killed."""
    asked = [m for m in mutants if m.key() in killers]
    survived = [m for m in asked if not killers[m.key()]]
    explained = [m for m in survived if is_explained(m, rows)]
    for m in survived:
        if m not in explained:
            print(f"survived: {m}")
    if is_whole:
        for row in rows:
            if not any(is_explained(m, [row]) for m in explained):
                print(f"explained, but no survivor: {' '.join(row[:4])}")
    folders = sorted({os.path.dirname(m.file) for m in asked})
    for folder in folders + [""]:
        of = [m for m in asked if m.file.startswith(folder)]
        num_survived = sum(m in survived for m in of)
        num_explained = sum(m in explained for m in of)
        counted = len(of) - num_explained
        rate = 100 * (len(of) - num_survived) / counted if counted else 100
        print(f"{folder + ': ' if folder else ''}{len(of) - num_survived} "
              f"killed, {num_survived} survived ({num_explained} explained), "
              f"rate {rate:.1f} %")
    unexplained = len(survived) - len(explained)
    print(f"{len(asked) - unexplained} passed, {unexplained} failed")
    return rate >= min_rate


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", metavar="PATH",
                        help="a folder, a file, or a pattern of files")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="that many mutants, drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true",
                        help="fail when one survives without a reason")
    parser.add_argument("--again", action="store_true",
                        help="ask only the survivors of earlier runs")
    parser.add_argument("--report", action="store_true",
                        help="run nothing, show what earlier runs found")
    parser.add_argument("--commit", default="HEAD", metavar="REVISION",
                        help="what to look at (default: HEAD)")
    parser.add_argument("--tests", action="append", default=[], metavar="PATH",
                        help="tests below PATH as they are here, uncommitted")
    parser.add_argument("--work", default=str(ROOT / "build" / "mutants"),
                        metavar="DIR", help="default: build/mutants")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    work = Path(options.work).resolve()
    verdicts = work / "verdicts.json"
    known = json.loads(verdicts.read_text()) if verdicts.exists() else {}
    mutants = make_tree(work / "tree", options.commit, options.tests)
    rows = read_explained()
    min_rate = 100.0 if options.strict else MIN_RATE
    pattern = options.only.rstrip("/")
    chosen = [m for m in mutants if m.file.startswith(pattern + "/") or
              fnmatch.fnmatch(m.file, pattern)]
    if not chosen:
        sys.exit(f"no condition in {options.only}")
    if options.report:
        return 0 if report(chosen, known, rows, True, min_rate) else 1
    if options.again:
        asked = [m for m in chosen if not known.get(m.key())]
    else:
        asked = chosen
    if options.sample is not None and options.sample < len(asked):
        asked = random.Random(options.seed).sample(asked, options.sample)

    drawn = "" if options.sample is None else f", seed {options.seed}"
    print(f"{len(mutants)} mutants, {len(asked)} to ask{drawn}", flush=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = build(work / "tree", options.jobs)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=work))
    lock = threading.Lock()
    killers = {}
    try:
        checks = make_checks(work / "tree", out, scratch)
        checks = run_unchanged(checks, max(1, len(mutants)), scratch,
                               options.jobs)

        def ask(mutant):
            killer = find_killer(mutant, checks)
            with lock:
                killers[mutant.key()] = killer
                if not killer and not is_explained(mutant, rows):
                    print(f"survived: {mutant}", flush=True)
                if len(killers) % 100 == 0:
                    print(f"{len(killers)} asked", flush=True)
                    verdicts.write_text(json.dumps(known | killers))
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(ask, asked))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    verdicts.write_text(json.dumps(known | killers))
    print("== verdicts")
    if options.again:
        killers = known | killers
    whole = options.sample is None and pattern == "*"
    return 0 if report(chosen, killers, rows, whole, min_rate) else 1


if __name__ == "__main__":
    sys.exit(main())
