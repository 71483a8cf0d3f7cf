"""Writes src/ops/schemas.inc from declarations of operators.

    python scripts/make_schemas.py ../shared/ops/core_aten.tsv > src/ops/schemas.inc

Needs PyTorch: all of its aten operators go in, one row per overload, sorted by
name. The table (columns target, schema, tags) adds operators of other
namespaces and decides where both have a row.
"""
import csv
import sys

import torch

FLAGS = {"core": "c", "nondeterministic_seeded": "r",
         "dynamic_output_shape": "d", "data_dependent_output": "d"}


def flags_of(tags):
    return "".join(sorted({FLAGS[t] for t in tags if t in FLAGS}))


def rows_of_torch():
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, op = schema.name.partition("::")
        if namespace != "aten":
            continue
        overload = schema.overload_name or "default"
        packet = getattr(torch.ops.aten, op, None)
        call = getattr(packet, overload, None)
        # TorchScript's own operators (on lists, strings, numbers) aren't
        # operators of programs.
        if call is None or not torch._C._dispatch_has_kernel(
                call._schema.name + ("." + call._schema.overload_name if call._schema.overload_name else "")):
            continue
        tags = {str(tag).rpartition(".")[2] for tag in call.tags}
        yield f"aten.{op}.{overload}", str(schema), flags_of(tags)


def rows_of_table(path):
    with open(path, newline="") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            name = row["target"].removeprefix("torch.ops.")
            yield name, row["schema"], flags_of(row["tags"].split(","))


def main():
    rows = {name: (schema, flags) for name, schema, flags in rows_of_torch()}
    rows.update({name: (schema, flags) for name, schema, flags in rows_of_table(sys.argv[1])})
    for name, (schema, flags) in sorted(rows.items()):
        print(f'{{"{name}",\n R"~({schema})~",\n "{flags}"}},')


if __name__ == "__main__":
    main()
