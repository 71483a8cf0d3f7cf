#!/usr/bin/env python3
"""Writes src/formats/pte/kernels.inc: the kernels of the stock runtime.

    scripts/make_executorch_kernels.py ../shared/formats/executorch_ops.tsv \\
        > src/formats/pte/kernels.inc

The table (columns op, overload, schema, library, functional) lists what
ExecuTorch 1.5.1 registers. A row holds the name by which a runtime finds the
kernel, its schema, the library, and the operator of PyTorch whose result it
writes ("" where there is none). Rows are sorted by name.
"""
import csv
import sys


def functional_name(row):
    if not row["functional"]:
        return ""
    return row["op"].replace("::", ".") + "." + row["functional"]


def main():
    with open(sys.argv[1], newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    lines = {}
    for row in rows:
        name = row["op"] + ("." + row["overload"] if row["overload"] else "")
        lines[name] = (f'{{"{name}",\n R"~({row["schema"]})~",\n '
                       f'"{row["library"]}", "{functional_name(row)}"}},')
    for name in sorted(lines):
        print(lines[name])


if __name__ == "__main__":
    main()
