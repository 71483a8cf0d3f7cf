"""What is wrong with a graph, by rule and node."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One violation. Rules: docs/rules.md, or `tenon rule ID`."""

    rule: str
    node: str  # "child/x", "" where it is no node's fault
    message: str
    place: str
    notes: list  # (node, message) pairs: the other side

    def __str__(self):
        at = self.node or self.place
        text = f"{at}: {self.message} [{self.rule}]" if at else f"{self.message} [{self.rule}]"
        for node, message in self.notes:
            text += f"\n  note: {node + ': ' if node else ''}{message}"
        return text


class TenonError(Exception):
    """A graph that can't be joined. Nothing was changed, and nothing written.

    `findings` has all violations that were found; `rule` and `node` are those of
    the first.
    """

    def __init__(self, findings):
        self.findings = findings
        super().__init__("\n".join(map(str, findings)))

    @property
    def rule(self):
        return self.findings[0].rule

    @property
    def node(self):
        return self.findings[0].node


def raise_findings(findings):
    """Called by the native side, the only place where errors become exceptions."""
    raise TenonError([Finding(*f) for f in findings])


def fail(rule, node, message):
    raise TenonError([Finding(rule, node, message, "", [])])
