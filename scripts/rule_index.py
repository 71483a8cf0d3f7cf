"""Finds the rules, and the code and the tests that name them.

Two kinds of rules have ids. The principles (J, D, L, S, R, M, P, T) are stated
by hand in the tables of docs/rules.md. What a diagnostic can cite (V-, W-, and
a few others) stands in src/diag/rules.def.

A test names a principle by its id without dashes, or with underscores:
TEST(Join, J4NegativeIndex), TEST(Pt2Writer, D_6_StoresOnePayloadOnce). A text
case has it in its file name: J-4-negative-index.tenon, bad-J-4-index.tenon.
Code cites an id as it is, in a comment: J-4, or L-1 to L-8.
"""
import re
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs/rules.md"

Principle = namedtuple("Principle", "id holds why example")
Rule = namedtuple("Rule", "name id holds why example")

# How many rules each letter has; a row that is lost is noticed.
NUM_PRINCIPLES = {"J": 13, "D": 7, "L": 9, "S": 7, "R": 4, "M": 5, "P": 8,
                  "T": 4}
PRINCIPLE_ID = r"[JDLSRMPT]-\d+"

_ROW = re.compile(rf"^\| ({PRINCIPLE_ID}) \|(.*)\|\s*$", re.M)
_STRING = r'"((?:[^"\\]|\\.)*)"'
_ENTRY = re.compile(r"TENON_RULE\((\w+),\s*"
                    + r",\s*".join([_STRING] * 4) + r"\)")
_CHAPTER = re.compile(r"^// --- (.*?) -+$", re.M)
_SPAN = re.compile(r"\b([JDLSRMPT])-(\d+) to \1-(\d+)\b")
_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)
_PYTHON_TEST = re.compile(r"^\s*def (test_\w+)", re.M)
_ID_IN_TEST = re.compile(r"(?<![A-Za-z])([JDLSRMPT])_?(\d+)(?=[A-Z_]|$)")


def principles():
    """All principles, in the order of the page."""
    rows = []
    page = DOC.read_text()
    part = page[page.index("## Principles"):page.index("## Where the")]
    for match in _ROW.finditer(part):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", match.group(2))]
        cells += [""] * (3 - len(cells))
        rows.append(Principle(match.group(1), *cells[:3]))
    return rows


def chapters():
    """(title, rules) of src/diag/rules.def, in file order."""
    text = (ROOT / "src/diag/rules.def").read_text()
    starts = list(_CHAPTER.finditer(text))
    ends = [m.start() for m in starts[1:]] + [len(text)]
    return [(start.group(1),
             [Rule(m.group(1), *map(_unescape, m.groups()[1:]))
              for m in _ENTRY.finditer(text[start.end():end])])
            for start, end in zip(starts, ends)]


def diagnostic_rules():
    return [rule for _, rules in chapters() for rule in rules]


def code_by_rule():
    """id -> source files that cite it, as Rule::kName or in a comment."""
    ids = {rule.name: rule.id for rule in diagnostic_rules()}
    found = {}
    for path in _files("src", (".cc", ".h")):
        text = path.read_text()
        cited = {ids[w] for w in re.findall(r"Rule::(k\w+)", text) if w in ids}
        cited |= set(re.findall(rf"\b{PRINCIPLE_ID}\b", text))
        for letter, first, last in _SPAN.findall(text):
            cited |= {f"{letter}-{i}"
                      for i in range(int(first), int(last) + 1)}
        for rule_id in cited:
            found.setdefault(rule_id, []).append(_name(path, "src"))
    return found


def tests_by_principle():
    """id -> names of tests, and text cases as paths below test/cases."""
    found = {}

    def add(letter, number, name):
        found.setdefault(f"{letter}-{int(number)}", []).append(name)

    for folder in ("test", "python"):
        for path in _files(folder, ("_test.cc",)):
            for suite, test in _TEST.findall(path.read_text()):
                for letter, number in _ID_IN_TEST.findall(test):
                    add(letter, number, f"{suite}.{test}")
        for path in _files(folder, (".py",)):
            for test in _PYTHON_TEST.findall(path.read_text()):
                for letter, number in _ID_IN_TEST.findall(test):
                    add(letter, number, test)
    for path in _files("test/cases", (".tenon",)):
        match = re.match(r"(?:bad-)?([JDLSRMPT])-(\d+)-", path.name)
        if match:
            add(*match.groups(), _name(path, "test/cases"))
    return found


def _files(folder, ends):
    return [p for p in sorted((ROOT / folder).rglob("*"))
            if p.name.endswith(ends)]


def _name(path, folder):
    return str(path.relative_to(ROOT / folder))


def _unescape(text):
    return text.replace('\\"', '"').replace("\\\\", "\\")
