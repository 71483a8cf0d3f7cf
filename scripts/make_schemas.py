"""Writes src/ops/schemas.inc from declarations of operators.

    python scripts/make_schemas.py ../shared/ops/core_aten.tsv \
        scripts/library_schemas.tsv > src/ops/schemas.inc

Needs PyTorch: all of its aten and quantized_decomposed operators go in, one row
per overload, sorted by name. Tables (columns target, schema, tags) add operators
of other namespaces and decide where both have a row: library_schemas.tsv holds
what torchao 0.18.0 and executorch 1.5.1 register.
"""
import csv
import sys

import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

NAMESPACES = ("aten", "quantized_decomposed")
FLAGS = {"core": "c", "nondeterministic_seeded": "r",
         "dynamic_output_shape": "d", "data_dependent_output": "d"}


def flags_of(tags):
    return "".join(sorted({FLAGS[t] for t in tags if t in FLAGS}))


def rows_of_torch():
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, op = schema.name.partition("::")
        if namespace not in NAMESPACES:
            continue
        overload = schema.overload_name or "default"
        packet = getattr(getattr(torch.ops, namespace), op, None)
        call = getattr(packet, overload, None)
        # TorchScript's own operators (on lists, strings, numbers) aren't
        # operators of programs.
        if call is None or not torch._C._dispatch_has_kernel(
                call._schema.name + ("." + call._schema.overload_name if call._schema.overload_name else "")):
            continue
        tags = {str(tag).rpartition(".")[2] for tag in call.tags}
        yield f"{namespace}.{op}.{overload}", str(schema), flags_of(tags)


def rows_of_table(path):
    with open(path, newline="") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            name = row["target"].removeprefix("torch.ops.")
            yield name, row["schema"], flags_of(row["tags"].split(","))


def main():
    rows = {name: (schema, flags) for name, schema, flags in rows_of_torch()}
    for path in sys.argv[1:]:
        rows.update({name: (schema, flags) for name, schema, flags in rows_of_table(path)})
    for name, (schema, flags) in sorted(rows.items()):
        print(f'{{"{name}",\n R"~({schema})~",\n "{flags}"}},')


if __name__ == "__main__":
    main()
