#!/usr/bin/env python3
"""Draws docs/architecture.svg from the links between src's libraries.

    scripts/draw_architecture.py           writes docs/architecture.dot, .svg
    scripts/draw_architecture.py --check   fails when architecture.dot is old

The picture can't drift from the code: each tenon_library(NAME ... LINKS ...)
is a box and each link an arrow. Links that follow from others are left out.
The .svg needs graphviz (dot), the check doesn't.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a colour means; the first pattern that fits a library's name wins.
GROUPS = [
    ("ground", "#e8eef7", r"support|diag|memory|ops|ir|tensor"),
    ("files and text", "#e9f5e9", r"formats?_.*|pt2|text"),
    ("understanding", "#fdf3dc", r"analysis|verify|scan"),
    ("changing", "#f9e4e4", r"passes|partition|link|export"),
    ("computing", "#efe7f7", r"kernels|interpreter|backend.*|runtime"),
    ("testing and tools", "#eeeeee", r".*"),
]


def read_links():
    """{library: the libraries that it links}, tenon_ stripped."""
    links = {}
    files = sorted((ROOT / "src").rglob("CMakeLists.txt"))
    files += sorted((ROOT / "tools").rglob("CMakeLists.txt"))
    for path in files:
        text = re.sub(r"#.*", "", path.read_text())
        for body in re.findall(r"tenon_library\(([^)]*)\)", text):
            words = body.split()
            rest = " ".join(words[1:])
            if "$" in words[0]:  # one source for several processors
                continue
            links[words[0]] = set(re.findall(r"\btenon_(\w+)", rest))
        for name, body in re.findall(
                r"target_link_libraries\((?:tenon_)?(\w+)\s([^)]*)\)", text):
            links.setdefault(name, set()).update(
                re.findall(r"\btenon_(\w+)", body))
    return {name: {to for to in tos if to in links and to != name}
            for name, tos in links.items()}


def reach(links, start):
    seen, todo = set(), list(links[start])
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo.extend(links[at])
    return seen


def reduce(links):
    """The links without those that follow from others."""
    reached = {name: reach(links, name) for name in links}
    return {name: {to for to in tos
                   if not any(to in reached[other] for other in tos)}
            for name, tos in links.items()}


def draw(links):
    lines = ["digraph architecture {",
             '  rankdir=TB; bgcolor="transparent"; ranksep=0.35; nodesep=0.25;',
             '  node [shape=box, style="rounded,filled", color="#666666",',
             '        fontname="Helvetica", fontsize=12, height=0.32];',
             '  edge [color="#888888", arrowsize=0.6];']
    for name in sorted(links):
        colour = next(c for _, c, p in GROUPS if re.fullmatch(p, name))
        lines.append(f'  {name} [fillcolor="{colour}"];')
    for name in sorted(links):
        for to in sorted(links[name]):
            lines.append(f"  {name} -> {to};")
    return "\n".join(lines + ["}"]) + "\n"


def main():
    dot = ROOT / "docs" / "architecture.dot"
    text = draw(reduce(read_links()))
    if "--check" in sys.argv:
        if not dot.exists() or dot.read_text() != text:
            print("docs/architecture.dot is older than the libraries' links; "
                  "run scripts/draw_architecture.py")
            print("0 passed, 1 failed")
            return 1
        print("1 passed, 0 failed")
        return 0
    dot.write_text(text)
    svg = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True,
                         text=True, check=True).stdout
    (dot.parent / "architecture.svg").write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
