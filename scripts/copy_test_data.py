#!/usr/bin/env python3
"""Copies a few programs of the shared corpus into test/data, with what
PyTorch computed for them.

    scripts/copy_test_data.py ../shared/corpus/pt2

A clone tests itself with them where the corpus isn't at hand. Run again when
the corpus or the list below changes; the result is committed.
"""
import json
import pathlib
import shutil
import sys

# Folder of the corpus and programs, each there for one thing that goes wrong
# elsewhere. Programs of old releases are called NAME@RELEASE here.
CHOSEN = {
    "t2.15": ["mlp", "mlp.core", "counter", "kwargs_order", "nested_kwargs",
              "containers", "cond", "dyn_derived", "symint_arith",
              "hostile_inputs", "hostile_state", "input_mutation",
              "out_constants", "out_passthrough", "state_kinds",
              "strided_weights", "tied", "kv_index_copy"],
    "t2.8": ["counter", "tied"],
    "t2.6": ["counter", "tied"],
    "zoo": ["gpt2", "llama_decode.core"],
}
PLAIN_NAMES = ("t2.15", "zoo")


def main():
    corpus = pathlib.Path(sys.argv[1])
    data = pathlib.Path(__file__).resolve().parent.parent / "test" / "data"
    target = data / "pt2"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    programs = []
    for folder, names in CHOSEN.items():
        manifest = json.loads((corpus / folder / "manifest.json").read_text())
        entries = {entry["name"]: entry for entry in manifest["programs"]}
        for name in names:
            entry = dict(entries[name])
            suffix = "" if folder in PLAIN_NAMES else "@" + folder[1:]
            for member in ("file", "io"):
                stem, _, ending = entry[member].partition(".")
                copy = f"pt2/{stem}{suffix}.{ending}"
                shutil.copyfile(corpus / folder / entry[member], data / copy)
                entry[member] = copy
            entry["name"] = name + suffix
            programs.append(entry)
    lines = ",\n".join(json.dumps(entry) for entry in programs)
    (data / "manifest.json").write_text('{"programs": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
