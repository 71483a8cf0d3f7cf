#!/usr/bin/env python3
"""Writes docs/comparison.md: what Torch-TensorRT's exporter and Tenon make of
each kind of hybrid graph.

    scripts/compare_upstream.py TENON SHARED

Runs both over SHARED/corpus/hybrid: the exporter of the public wheel by
SHARED/peers/upstream_run.py (its engines are Python functions, no TensorRT is
needed), Tenon by `conformance hybrid` beside TENON. The environment comes from
SHARED/oracle/setup.sh. Facts only; the date is that of the run.
"""
import collections
import datetime
import json
import pathlib
import subprocess
import sys

KINDS = {
    "seed": "the five classic cases: collisions, keywords, outputs, persistence, no example inputs",
    "mirror": "their mirror images, where a tool that guesses is right by luck",
    "name": "hostile names: other nodes', operators', keywords, Unicode, 3,000 characters",
    "call": "how a child is called: keywords, defaults, literals, twice, nested, unused",
    "out": "what a child returns: tuples, dicts, nested, None, inputs passed through",
    "ret": "what the program returns",
    "spec": "calling conventions: nested arguments, keyword order, containers of outputs",
    "state": "parameters, buffers, constants: tied, shared, same names, persistence",
    "write": "in-place writes to buffers and arguments",
    "kv": "KV caches, in place and functional",
    "noinput": "programs without user inputs",
    "eng": "engines: order of outputs, scalars, inputs twice, no inputs",
    "cond": "control flow inside children",
    "sym": "sizes as values",
    "scalar": "scalars as program inputs",
    "item": "data-dependent scalars",
    "rand": "random programs with all of it",
    "tame": "random programs where only the names are adversarial",
    "err": "graphs that must be refused",
}


def kind_of(name):
    return name.split("_")[0]


def run_upstream(shared):
    python = subprocess.run([shared / "oracle/setup.sh", "upstream"], capture_output=True, text=True,
                            check=True).stdout.split()[-1]
    wheel = next(pathlib.Path(python).parents[2].glob("*.whl"))
    out = subprocess.run([python, shared / "peers/upstream_run.py", wheel], capture_output=True, text=True)
    records = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    return {r["case"]: (r["verdict"], r["why"]) for r in records}, wheel.name


def run_tenon(tenon, shared):
    out = subprocess.run([tenon.parent / "conformance", "hybrid", shared / "corpus/hybrid", "-v"],
                         capture_output=True, text=True).stdout
    return {line.split()[1]: line.split()[0] == "ok" for line in out.splitlines() if line.startswith(("ok ", "FAIL "))
            for line in [line.replace(":", " ", 1)]}


def table(upstream, tenon, cases):
    rows = ["| kind | cases | Torch-TensorRT: right | silently wrong | refused or crashed | Tenon: right |",
            "|---|--:|--:|--:|--:|--:|"]
    total = collections.Counter()
    for kind, what in KINDS.items():
        names = [c for c in cases if kind_of(c) == kind]
        if not names:
            continue
        verdicts = collections.Counter(upstream[c][0] for c in names)
        right = verdicts["ok"]
        wrong = verdicts["wrong"] + verdicts["accepted"]
        ours = sum(tenon.get(c, False) for c in names)
        counts = (len(names), right, wrong, len(names) - right - wrong, ours)
        total.update(dict(enumerate(counts)))
        rows.append(f"| `{kind}_*` {what} | " + " | ".join(map(str, counts)) + " |")
    rows.append("| **all** | " + " | ".join(f"**{total[i]}**" for i in range(5)) + " |")
    return "\n".join(rows)


def examples(upstream, cases, shared):
    out = []
    for c in cases:
        verdict, why = upstream[c]
        if verdict not in ("wrong", "accepted"):
            continue
        about = json.loads((shared / f"corpus/hybrid/{c}.json").read_text())["about"]
        out.append(f"| `{c}` | {about} | {(why or verdict)[:160]} |")
    return "\n".join(out)


def main():
    tenon, shared = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    upstream, wheel = run_upstream(shared)
    ours = run_tenon(tenon, shared)
    cases = sorted(upstream)
    verdicts = collections.Counter(v for v, _ in upstream.values())
    text = f"""# Comparison with Torch-TensorRT's exporter

Measured on {datetime.date.today()} by `scripts/compare_upstream.py build/release/tenon ../shared`: the exporter inside the public wheel
`{wheel.split('-')[0]} {wheel.split('-')[1]}`, unmodified, over the {len(cases)} hybrid graphs of `../shared/corpus/hybrid`. Each graph has results that eager
PyTorch computed. Its engines are functions that run the child's graph, so no TensorRT and no GPU is involved: what is compared is the
joining, lifting and signing, nothing else. Of the graphs that must be refused, most ("not-loaded") can't even be built as an FX graph, so
the exporter never sees them; they count among the refused. Verdicts of the run: {', '.join(f'{n} {v}' for v, n in verdicts.most_common())}.

{table(upstream, ours, cases)}

"Right" means: accepted, and every recorded call gives the recorded values in the recorded structure, with the recorded state and inputs
afterwards; or, where an error is due, refused with a message that isn't an internal failure's. One command shows a row:

```
build/release/conformance hybrid ../shared/corpus/hybrid --filter 'kv_*' -v
```

and one case on the other side:

```
python ../shared/peers/upstream_run.py WHEEL ../shared/corpus/hybrid kv_engine_alias
```

## Accepted and silently wrong

Cases where the exporter gives a program that computes something else than the graph it was given, or accepts what has no meaning. Tenon
is right in each, or refuses it with the rule's id.

| case | what it is | what Torch-TensorRT {wheel.split('-')[1]} does |
|---|---|---|
{examples(upstream, cases, shared)}

## Speed
`bench/peers.py join` runs both in one process run; figures are in [performance.md](performance.md).
"""
    (pathlib.Path(__file__).resolve().parent.parent / "docs/comparison.md").write_text(text)
    print(f"{len(cases)} cases; docs/comparison.md written")


if __name__ == "__main__":
    main()
