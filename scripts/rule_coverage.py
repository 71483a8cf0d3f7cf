#!/usr/bin/env python3
"""Lists rules without tests, or without a line of code that cites them.

A principle (J, D, L, S, R, M, P, T; docs/rules.md) needs a reason, an example,
code that cites its id, and a test or text case that is named by it; see
scripts/rule_index.py for how.

A rule of the verifier (V-... and W-..., except those of file formats) needs

  - a check: its id in a comment in src/verify, at the line that checks it;
  - a failing case that reports this rule and no other: a text case all of whose
    `; error: ID` name it, `[ID]` after CHECK for a lint, or an edit of
    test/unit/verify with Rule::kName;
  - a passing case: its id after `; Holds:` in test/cases, or after `// Holds:`
    in test/unit/verify.

A rule about a file format (V-FILE-..., V-PTE-..., W-PTE-...) or of the scan (X-...)
needs code that reports it, and a test or case named by it: TEST(Pt2Reader, V_FILE_06_...),
V-FILE-04-missing-member.tenon.

Ids that are cited but not stated are told, too. Exits with 1 when something is
missing.
"""
import re
import sys

import rule_index

ID = r"[VW]-[A-Z]+-\d+"
FORMAT_ID = r"(?:V-FILE|V-PTE|W-PTE)-\d+"
ROOT = rule_index.ROOT


def texts(folder, pattern):
    return [p.read_text() for p in sorted((ROOT / folder).rglob(pattern))]


def principle_gaps():
    principles = rule_index.principles()
    code = rule_index.code_by_rule()
    tests = rule_index.tests_by_principle()
    stated = [p.id for p in principles]
    wanted = [f"{letter}-{i}" for letter, n in rule_index.NUM_PRINCIPLES.items()
              for i in range(1, n + 1)]
    for p in principles:
        for what, there in (("statement", p.holds), ("reason", p.why),
                            ("example", p.example),
                            ("code that cites it", code.get(p.id)),
                            ("test or case named by it", tests.get(p.id))):
            if not there:
                yield f"{p.id}: no {what}"
    if stated != wanted:
        odd = sorted(set(stated) ^ set(wanted)) or ["their order"]
        yield "docs/rules.md: wrong about " + ", ".join(odd)
    for rule_id in sorted((set(code) | set(tests)) - set(stated)):
        if re.fullmatch(rule_index.PRINCIPLE_ID, rule_id):
            yield f"{rule_id}: cited, but not in docs/rules.md"


def reported_alone(rules):
    """Ids that some case reports without any other."""
    found = set()
    for text in texts("test/cases", "*.tenon"):
        errors = set(re.findall(rf"; error(?:@[+-]\d+)?: ({ID})", text))
        if len(errors) == 1:
            found |= errors
        found |= set(re.findall(rf"; CHECK.*\[(W-[A-Z]+-\d+)\]", text))
    edits = "\n".join(texts("test/unit/verify", "*.cc"))
    return found | {r.id for r in rules if re.search(rf"Rule::{r.name}\b",
                                                     edits)}


def said_to_hold():
    found = set()
    for text in texts("test/cases", "*.tenon") + texts("test/unit/verify",
                                                       "*.cc"):
        for line in re.findall(r"(?:;|//) Holds:(.*)", text):
            found |= set(re.findall(ID, line))
    return found


def verifier_gaps():
    rules = [r for r in rule_index.diagnostic_rules()
             if re.fullmatch(ID, r.id) and not re.fullmatch(FORMAT_ID, r.id)]
    cited = set(re.findall(ID, "\n".join(texts("src/verify", "*.cc"))))
    for what, known in (("code that cites it", cited),
                        ("failing case of its own", reported_alone(rules)),
                        ("passing case", said_to_hold())):
        for rule in rules:
            if rule.id not in known:
                yield f"{rule.id}: no {what}"
    for rule_id in sorted(cited - {r.id for r in rules}):
        yield f"{rule_id}: cited in src/verify, but not in rules.def"


def format_gaps():
    code = rule_index.code_by_rule()
    named = set()
    for text in texts("test/unit", "*_test.cc"):
        for test in re.findall(r"^TEST\w*\(\w+, (\w+)\)", text, re.M):
            named |= {w.replace("_", "-")
                      for w in re.findall(r"(?:V_FILE|V_PTE|W_PTE|X_[A-Z]+)_\d+", test)}
    for path in (ROOT / "test/cases").rglob("*.tenon"):
        named |= set(re.findall(rf"^(?:bad-)?({FORMAT_ID})-", path.name))
    for rule in rule_index.diagnostic_rules():
        if not re.fullmatch(FORMAT_ID, rule.id):
            continue
        if rule.id not in code:
            yield f"{rule.id}: no code that reports it"
        if rule.id not in named:
            yield f"{rule.id}: no test or case named by it"


def main():
    gaps = [*principle_gaps(), *verifier_gaps(), *format_gaps()]
    for gap in gaps:
        print(gap)
    num_rules = (len(rule_index.principles())
                 + len(rule_index.diagnostic_rules()))
    print(f"{num_rules} rules, {len(gaps)} gaps")
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
