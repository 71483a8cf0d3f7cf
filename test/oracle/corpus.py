#!/usr/bin/env python3
"""What real PyTorch says of the corpus's programs as Tenon writes them.

    corpus.py [--torch VERSION] [--rewritten] [--jobs N] TENON SHARED [FOLDER...]

Run by the Python of an oracle's environment. Writes every program of the
corpus's folders (default: all) again with TENON (`export --backend none`, for
the release VERSION if given), and asks PyTorch two things:

  results  does torch.export.load open it and compute what was recorded
  same     is it the program that it was, down to metadata, ranges and the bits
           of the weights (without --torch, as an older PyTorch can't open the
           newer originals, and without --rewritten, which folds constants and
           removes dead code first)

What isn't as it should be is a FAIL line, but for

  known    the original fails in PyTorch, too: known_failures.json of the corpus
  refused  TENON says that the release's schema or layout can't say it
           (V-FILE-11), with --torch only
  skipped  the program needs a Python library that isn't there
  purpose  expected_differences.tsv gives the reason; a line that no program
           shows fails, so that the list can't go stale

Ends with how many there were of each, and "N passed, N failed".
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 60  # programs for one Python process
# Runs a script where modules are imported: `-c RUN_WITH MODULES SCRIPT ARG...`
RUN_WITH = """
import importlib, runpy, sys
modules, *sys.argv = sys.argv[1:]
for module in modules.split(",") if modules else []:
    importlib.import_module(module)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Entry:
    """One program of the corpus."""

    def __init__(self, folder, record):
        self.folder = folder
        self.name = record["name"]
        self.file = record["file"]
        self.method = record.get("method")
        self.libraries = record.get("libraries", [])

    @property
    def key(self):
        return f"{self.folder.name}/{self.name}"

    def missing_library(self):
        for library in self.libraries:
            top = library.split(".")[0]
            if importlib.util.find_spec(top) is None:
                return top
        return None


def read_entries(folders):
    entries = []
    for folder in folders:
        manifest = json.loads((folder / "manifest.json").read_text())
        entries += [Entry(folder, record) for record in manifest["programs"]]
    return entries


class Expected:
    """A line of expected_differences.tsv."""

    def __init__(self, line):
        (self.release, self.check, self.pattern, self.text,
         self.reason) = line.split("\t")
        self.is_met = False

    def is_about(self, check, key):
        return check == self.check and fnmatch.fnmatch(key, self.pattern)


def read_expected(path, release):
    lines = [Expected(line) for line in path.read_text().splitlines()
             if line and not line.startswith("#")]
    return [expected for expected in lines if expected.release == release]


def is_known_failure(known, entry, reason):
    """Whether the original fails like this, in any release that says so."""
    texts = known.get(entry.folder.name, {}).get(entry.file, {}).values()
    # What PyTorch says of layout C whatever it is that it can't deserialize;
    # of layout A it says that itself.
    if "an error when deserializing the saved file" in reason:
        return any("deserializ" in text for text in texts)
    return any(text[:40] in reason for text in texts)


def write(tenon, entry, out, release, rewritten):
    """None, or what TENON said instead of writing the program."""
    command = [tenon, "export", entry.folder / entry.file, "-o",
               out / f"{entry.name}.pt2", "--backend", "none"]
    if entry.method:
        command += ["--method", entry.method]
    if release:
        command += ["--torch", release]
    if rewritten:
        command += ["--fold-weights", "--fold-growth", str(1 << 30),
                    "--remove-dead-code"]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()


def verdicts_of(command):
    """({name: reason, or None where it is fine}, the last line of stderr)"""
    done = subprocess.run([sys.executable, *command], capture_output=True,
                          text=True)
    verdicts = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"ok (.*\.pt2)$", line):
            verdicts[pathlib.Path(match[1]).stem] = None
        elif match := re.match(r"FAIL (.*?\.pt2): (.*)", line):
            verdicts[pathlib.Path(match[1]).stem] = match[2]
    return verdicts, (done.stderr.strip().splitlines() or ["no reason"])[-1]


def check_results(shared, manifest, files):
    verdicts, why = verdicts_of([shared / "oracle/check_pt2.py", "--against",
                                 manifest, *files])
    for file in files:
        verdicts.setdefault(file.stem, f"the checker ended early: {why}")
    return verdicts


def compare(shared, libraries, originals, files):
    """Goes on behind a program that the comparer itself can't stand."""
    run = ["-c", RUN_WITH, ",".join(libraries)]
    left = sorted(files)
    verdicts = {}
    while left:
        with tempfile.TemporaryDirectory() as folder:
            for file in left:
                (pathlib.Path(folder) / file.name).symlink_to(file)
            new, why = verdicts_of([*run, shared / "oracle/compare_pt2.py",
                                    "--pairs", originals, folder])
        verdicts.update(new)
        left = [file for file in left if file.stem not in verdicts]
        if left:
            verdicts[left.pop(0).stem] = f"the comparer failed: {why}"
    return verdicts


class Tally:
    def __init__(self, expected, known):
        self.expected = expected
        self.known = known
        self.counts = collections.Counter()

    def is_expected(self, check, entry, reason):
        for expected in self.expected:
            if (expected.is_about(check, entry.key)
                    and expected.text in reason):
                expected.is_met = True
                return True
        return False

    def add(self, check, entry, reason):
        if reason is None:
            self.counts["passed"] += 1
        elif self.is_expected(check, entry, reason):
            self.counts["purpose"] += 1
        elif is_known_failure(self.known, entry, reason):
            self.counts["known"] += 1
        else:
            self.counts["failed"] += 1
            print(f"FAIL {entry.key}: {check}: {reason}")

    def finish(self, checked):
        for expected in self.expected:
            if expected.is_met:
                print(f"on purpose: {expected.pattern}: {expected.check}: "
                      f"{expected.reason}")
            elif any(expected.is_about(expected.check, key)
                     for key in checked):
                self.counts["failed"] += 1
                print(f"FAIL {expected.pattern}: {expected.check}: expected "
                      f"to differ by '{expected.text}', but doesn't")
        for what in ("known", "refused", "skipped", "purpose"):
            if self.counts[what]:
                print(f"{what}: {self.counts[what]}")
        print(f"{self.counts['passed']} passed, {self.counts['failed']} failed")
        return self.counts["failed"] == 0


def write_all(args, entries, work, tally):
    """Writes what can be written; the entries that were."""
    for entry in entries:
        (work / "written" / entry.folder.name).mkdir(parents=True,
                                                     exist_ok=True)
        originals = work / "originals" / entry.folder.name
        originals.mkdir(parents=True, exist_ok=True)
        (originals / f"{entry.name}.pt2").symlink_to(entry.folder / entry.file)
    written = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        said = pool.map(
            lambda e: write(args.tenon, e, work / "written" / e.folder.name,
                            args.torch, args.rewritten), entries)
        for entry, reason in zip(entries, said):
            if reason is None:
                written.append(entry)
            elif args.torch and "V-FILE-11" in reason:
                tally.counts["refused"] += 1
                print(f"refused {entry.key}: {reason.splitlines()[0]}")
            else:
                tally.add("write", entry, reason)
    return written


def check_all(args, entries, work, tally):
    tasks = []
    groups = collections.defaultdict(list)
    for entry in entries:
        groups[entry.folder, tuple(entry.libraries)].append(entry)
    for (folder, libraries), members in groups.items():
        written = work / "written" / folder.name
        for i in range(0, len(members), CHUNK):
            chunk = members[i:i + CHUNK]
            files = [written / f"{e.name}.pt2" for e in chunk]
            tasks.append(("results", chunk, check_results,
                          folder / "manifest.json", files))
            if not args.torch and not args.rewritten:
                tasks.append(("same", chunk, compare, libraries,
                              work / "originals" / folder.name, files))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        answers = pool.map(lambda task: task[2](args.shared, *task[3:]), tasks)
        for (check, members, *_), verdicts in zip(tasks, answers):
            for entry in members:
                tally.add(check, entry, verdicts[entry.name])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tenon", type=pathlib.Path)
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--torch")
    parser.add_argument("--rewritten", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    corpus = args.shared.resolve() / "corpus/pt2"
    folders = ([corpus / name for name in args.folders] or
               sorted(m.parent for m in corpus.glob("*/manifest.json")
                      if m.parent.name != "broken"))
    expected = read_expected(HERE / "expected_differences.tsv",
                             args.torch or "newest")
    if args.rewritten:
        expected = [e for e in expected if e.check != "same"]
    tally = Tally(
        expected,
        json.loads((corpus / "known_failures.json").read_text()))
    entries = []
    for entry in read_entries(folders):
        if library := entry.missing_library():
            tally.counts["skipped"] += 1
            print(f"SKIP {entry.key}: it needs {library}")
        else:
            entries.append(entry)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        written = write_all(args, entries, work, tally)
        check_all(args, written, work, tally)
    return 0 if tally.finish({e.key for e in entries}) else 1


if __name__ == "__main__":
    sys.exit(main())
