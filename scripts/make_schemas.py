"""Writes src/ops/schemas.inc from a table of operator declarations.

    python scripts/make_schemas.py ../shared/ops/core_aten.tsv > src/ops/schemas.inc

Columns used: target, schema, tags. One row per overload, sorted by name.
"""
import csv
import sys

FLAGS = {"core": "c", "nondeterministic_seeded": "r",
         "dynamic_output_shape": "d", "data_dependent_output": "d"}


def main():
    rows = []
    with open(sys.argv[1], newline="") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            name = row["target"].removeprefix("torch.ops.")
            flags = "".join(sorted({FLAGS[t] for t in row["tags"].split(",") if t in FLAGS}))
            rows.append((name, row["schema"], flags))
    for name, schema, flags in sorted(rows):
        print(f'{{"{name}",\n R"~({schema})~",\n "{flags}"}},')


if __name__ == "__main__":
    main()
