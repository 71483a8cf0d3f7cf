"""Finds the conditions of a C++ file laid out by clang-format.

    find_conditions(text) -> [Condition], in order of their start

A condition is what decides something:

  - what stands in the parentheses of `if` and `while`, in the middle of a
    `for`, in front of a `?`;
  - each operand of && and ||;
  - each comparison.

Left out: what is evaluated by the compiler (`if constexpr`, static_assert,
constexpr tables), asserts, conditions that choose the wording of a diagnostic
(all that follows a << after Error, Warning, Note), and functions that only
make text (named ...Text). A declaration in a condition, `if (auto x = ...)`,
isn't one.

No parser of C++, but tokens in nested brackets. Which `<`, `>` and `&&` are
operators is told from the layout: only operators have spaces on both sides.
"""

import bisect
import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<string>(?:u8|u|U|L)?R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"
        |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      |(?P<name>[A-Za-z_]\w*)
      |(?P<number>\.?\d(?:'?[\w.]|(?<=[eE])[+-])*)
      |(?P<mark>\.\.\.|<=>|<<=|::|->|\+\+|--|\|\||&&|==|!=|<=|>=|<<
        |[-+*/%&|^]=|[^\w\s])""", re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="}
# What stands before or behind an expression without being a part of it.
SEPARATORS = ASSIGNMENTS | {",", ";", ":", "?", "return", "else", "do", "case",
                            "throw"}
OR, AND, BITS = {"||"}, {"&&"}, {"|", "^", "&"}
EQUALITY, ORDER = {"==", "!="}, {"<", "<=", ">", ">="}
HEADS = {"if", "while", "for", "switch", "catch"}
SKIPPED_CALLS = {"TENON_ASSERT", "TENON_UNREACHABLE", "static_assert",
                 "sizeof", "decltype", "noexcept", "alignas", "requires"}
REPORT = re.compile(r"(?:Error|Warning|Warn|Note|error)$")


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    is_spaced: bool = False  # space on both sides


@dataclass
class Group:
    """Brackets and what they hold."""
    text: str  # the opening bracket
    start: int
    end: int = 0
    items: list = field(default_factory=list)
    kind: str = "group"
    is_spaced: bool = False


@dataclass
class Condition:
    start: int
    end: int
    line: int
    function: str
    # Of a comparison by order: where its operator stands; else None.
    order: tuple | None
    text: str  # with each run of white space as one space


def tokens_of(text):
    directives = [m.span() for m in DIRECTIVE.finditer(text)]
    tokens, at, next_directive = [], 0, 0
    while at < len(text):
        if next_directive < len(directives) and \
                at >= directives[next_directive][0]:
            at = max(at, directives[next_directive][1])
            next_directive += 1
            continue
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no token at {text[at:at + 20]!r}")
        at = match.end()
        if match.lastgroup == "space" or match.group("space"):
            continue
        kind = next(k for k in ("string", "name", "number", "mark")
                    if match.group(k) is not None)
        start = match.start()
        spaced = text[start - 1:start].isspace() and text[at:at + 1].isspace()
        tokens.append(Token(kind, match.group(), start, at, spaced))
    return tokens


def end_of_template(tokens, at):
    """Index of the > that closes the < at `at`, or None."""
    depth = 0
    for i in range(at, len(tokens)):
        text = tokens[i].text
        if text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if depth == 0:
                return i
        elif text in (";", "{", "}") or tokens[i].is_spaced and text in (
                "&&", "||"):
            return None
    return None


def tree_of(tokens):
    root = Group("", 0)
    stack, angles = [root], set()
    for i, token in enumerate(tokens):
        if token.text == "<" and not token.is_spaced and i > 0 and \
                tokens[i - 1].kind == "name":
            end = end_of_template(tokens, i)
            if end is not None:
                angles |= {i, end}
        opens = token.text in ("(", "[", "{") or token.text == "<" and \
            i in angles
        closes = token.text in (")", "]", "}") or token.text == ">" and \
            i in angles
        if token.kind == "string":
            opens = closes = False
        if opens:
            group = Group(token.text, token.start)
            stack[-1].items.append(group)
            stack.append(group)
        elif closes:
            if CLOSING.get(stack[-1].text) != token.text:
                raise ValueError(f"unbalanced {token.text} at {token.start}")
            stack.pop().end = token.end
        else:
            stack[-1].items.append(token)
    if len(stack) != 1:
        raise ValueError("an open bracket at the end")
    return root


class Finder:
    def __init__(self, text):
        self.text = text
        self.found = {}  # by span
        self.function = ""
        self.line_starts = [m.end() for m in re.finditer("\n", text)]

    def add(self, items, order=None):
        start, end = items[0].start, items[-1].end
        known = self.found.get((start, end))
        if known is not None:
            known.order = known.order or order
            return
        self.found[start, end] = Condition(
            start, end, bisect.bisect_right(self.line_starts, start) + 1,
            self.function, order,
            " ".join(self.text[start:end].split()))

    # --- statements ---

    def visit(self, items):
        """Items of one pair of brackets."""
        segment = []
        reports = is_wording = False  # of the statement
        i = 0
        while i < len(items):
            item = items[i]
            text = item.text
            if text in SKIPPED_CALLS:
                i += 2
                continue
            if text == "constexpr" and item.kind == "name":
                i = self.end_of_constexpr(items, i)
                segment = []
                continue
            if text in HEADS and item.kind == "name":
                i = self.visit_head(items, i)
                segment = []
                continue
            if item.kind == "group" and text == "{":
                if not segment:  # a block
                    self.visit(item.items)
                    reports = is_wording = False
                    i += 1
                    continue
                name = self.function_of(segment)
                if name:
                    outer, self.function = self.function, name
                    if not name.endswith("Text"):
                        self.visit(item.items)
                    self.function = outer
                    segment = []
                    i += 1
                    continue
            if item.kind != "group" and text in SEPARATORS:
                if not is_wording:
                    self.expression(segment, is_condition=text == "?")
                segment = []
                if text == ";":
                    reports = is_wording = False
                i += 1
                continue
            reports = reports or item.kind == "name" and \
                REPORT.search(text) is not None
            is_wording = is_wording or reports and text == "<<"
            if item.kind == "group" and not is_wording:
                self.visit(item.items)
            segment.append(item)
            i += 1
        if not is_wording:
            self.expression(segment)

    @staticmethod
    def end_of_constexpr(items, i):
        has_value = False
        while i < len(items):
            item = items[i]
            i += 1
            has_value = has_value or item.text == "="
            if item.kind == "group" and item.text == "{" and not has_value \
                    or item.text == ";":
                break
        return i

    def function_of(self, segment):
        """The name of the function whose head this is, "" for others."""
        # What an earlier function of the class left isn't part of it.
        for i in range(len(segment) - 1, 0, -1):
            item = segment[i]
            if item.kind == "group" and item.text == "(":
                before = segment[i - 1]
                # The ] of a lambda, the name of a function.
                if before.kind == "name" and all(
                        s.text in ("const", "override", "noexcept")
                        for s in segment[i + 1:]):
                    return before.text
                return ""
        return ""

    def visit_head(self, items, i):
        """`if (...)` and so on; returns the index behind the parentheses."""
        keyword = items[i].text
        i += 1
        if items[i].text == "constexpr":
            return i + 2
        head = items[i]
        parts = [[]]
        for item in head.items:
            if item.text == ";" and item.kind != "group":
                parts.append([])
            else:
                parts[-1].append(item)
        for part in parts:
            self.visit(part)
        part = parts[-1]
        if keyword == "for":
            part = parts[1] if len(parts) == 3 else []
        is_plain = part and not any(
            p.kind != "group" and p.text in ASSIGNMENTS | {",", "?"}
            for p in part)
        if is_plain and keyword in ("if", "while", "for"):
            self.add(part, self.order_of(part))
        return i + 1

    # --- expressions ---

    @staticmethod
    def split(items, operators):
        """(parts, operator tokens) at the operators of this level."""
        parts, found = [[]], []
        for item in items:
            if item.kind == "mark" and item.text in operators and \
                    item.is_spaced:
                found.append(item)
                parts.append([])
            else:
                parts[-1].append(item)
        return parts, found

    def order_of(self, items):
        for operators in (OR, AND, BITS, EQUALITY):
            if len(self.split(items, operators)[0]) > 1:
                return None
        found = self.split(items, ORDER)[1]
        return (found[0].start, found[0].end) if len(found) == 1 else None

    def expression(self, items, is_condition=False):
        if not items:
            return
        if is_condition:
            self.add(items, self.order_of(items))
        self.operands(items, [OR, AND])

    def operands(self, items, levels):
        if not items:
            return
        if not levels:
            self.comparisons(items)
            return
        parts, found = self.split(items, levels[0])
        for part in parts:
            if found and part:
                self.add(part, self.order_of(part))
            self.operands(part, levels[1:])

    def comparisons(self, items):
        for part in self.split(items, BITS)[0]:
            sides, equalities = self.split(part, EQUALITY)
            if equalities:
                self.add(part)
            for side in sides:
                order = self.order_of(side)
                if order and side[0].start < order[0]:
                    self.add(side, order)


def find_conditions(text):
    finder = Finder(text)
    finder.visit(tree_of(tokens_of(text)).items)
    return sorted(finder.found.values(), key=lambda c: (c.start, -c.end))
