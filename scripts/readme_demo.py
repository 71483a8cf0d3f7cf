#!/usr/bin/env python3
"""Keeps the demo's output in README.md real.

    scripts/readme_demo.py           runs scripts/demo.sh, puts its output in
    scripts/readme_demo.py --check   runs it and fails where README.md shows
                                     something else; numbers may differ, since
                                     processors round differently
"""
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo -->\n", "<!-- /demo -->"


def run_demo():
    done = subprocess.run(["scripts/demo.sh"], cwd=ROOT, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"scripts/demo.sh failed:\n{done.stdout}{done.stderr}")
    # What stands before the first command is about installing and building.
    return done.stdout[done.stdout.index("$ "):].rstrip() + "\n"


def mask(text):
    """Without spelling out floats, sizes of padding and digests' digits."""
    text = re.sub(r"[0-9a-f]{32}", "DIGEST", text)
    text = re.sub(r"-?\d+\.\d+(e[-+]\d+)?", "N", text)
    return [re.sub(r" +", " ", line) for line in text.splitlines()]


def main():
    readme = ROOT / "README.md"
    text = readme.read_text()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    block = "```console\n" + run_demo() + "```\n"
    if "--check" not in sys.argv:
        readme.write_text(text[:begin] + block + text[end:])
        return 0
    differences = list(difflib.unified_diff(
        mask(text[begin:end]), mask(block), "README.md", "scripts/demo.sh",
        lineterm="", n=1))
    print("\n".join(differences))
    print(f"{int(not differences)} passed, {int(bool(differences))} failed")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
