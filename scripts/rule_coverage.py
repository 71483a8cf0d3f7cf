#!/usr/bin/env python3
"""Lists verifier rules without tests, or without a line of code that cites them.

A rule (V-... except V-FILE, and W-...) needs

  - a check: its id in a comment in src/verify, at the line that checks it;
  - a failing case: `; error: ID` in test/cases, `[ID]` there for a lint, or
    Rule::kName in test/unit/verify;
  - a passing case: its id after `; Holds:` in test/cases, or after `// Holds:`
    in test/unit/verify.

Exits with 1 when something is missing.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULE = re.compile(r'TENON_RULE\((\w+),\s*"([^"]+)"')
ID = r"[VW]-[A-Z]+-\d+"


def read_all(folder, pattern):
    return "\n".join(p.read_text() for p in sorted((ROOT / folder).rglob(pattern)))


def main():
    rules = [(name, rule_id)
             for name, rule_id in RULE.findall(
                 (ROOT / "src/diag/rules.def").read_text())
             if re.fullmatch(ID, rule_id) and not rule_id.startswith("V-FILE")]
    source = read_all("src/verify", "*.cc")
    cases = read_all("test/cases", "*.tenon")
    units = read_all("test/unit/verify", "*.cc")

    failing = set(re.findall(rf"; error(?:@[+-]\d+)?: ({ID})", cases))
    failing |= set(re.findall(rf"; CHECK.*\[({ID})\]", cases))
    failing |= {rule_id for name, rule_id in rules
                if re.search(rf"Rule::{name}\b", units)}
    passing = set()
    for line in re.findall(r"(?:;|//) Holds:(.*)", cases + "\n" + units):
        passing |= set(re.findall(ID, line))

    missing = 0
    for what, known in (("code that cites it",
                         set(re.findall(ID, source))),
                        ("failing case", failing),
                        ("passing case", passing)):
        for _, rule_id in rules:
            if rule_id not in known:
                print(f"{rule_id}: no {what}")
                missing += 1
    names = {rule_id for _, rule_id in rules}
    for rule_id in sorted(set(re.findall(ID, source)) - names):
        print(f"{rule_id}: cited in src/verify, but not in rules.def")
        missing += 1
    print(f"{len(rules)} rules, {missing} gaps")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
