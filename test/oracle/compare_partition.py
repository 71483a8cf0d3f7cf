#!/usr/bin/env python3
"""Compares Tenon's cuts with PyTorch's CapabilityBasedPartitioner (rule P-6).

    compare_partition.py TENON SHARED [--seeds N] [--max-nodes N] [PATTERN...]
    compare_partition.py TENON SHARED --speed

Draws sets of supported nodes for every program of the corpus' slice (or those
whose path in the corpus matches a PATTERN, "t2.15/*.pt2"), half by node and
half by operator, and gives the same set to both. A set passes when

  - Tenon takes just the supported nodes,
  - contracting its regions leaves no cycle, judged here, on the FX graph,
  - it has no more regions than PyTorch.

PyTorch's cut doesn't count when it breaks the order of random draws and
writes, which FX doesn't know as edges; how often that was so is told at the
end. --speed times both on 1,000 nodes, a tenth of them unsupported, in a chain
and in a dense graph, and wants Tenon 10,000 times as fast. Needs torch. The last
line is "N passed, N failed".
"""
import argparse
import json
import operator
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

# How many of a program's nodes are supported.
SHARES = (0.9, 0.7, 0.5, 0.3)


def is_getitem(node):
    return node.op == "call_function" and node.target is operator.getitem


def owner(node):
    """The node whose results a chain of getitems picks from."""
    while is_getitem(node) and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node


def is_silent(node):
    """Whether it returns nothing: then no name stands in the text form."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and not schema.returns


def base_name(node):
    return str(node.target).split(".")[1] if "." in str(node.target) else ""


class FxProgram:
    """The FX graph, with several-output operators and quantise pairs whole."""

    def __init__(self, path):
        self.module = torch.export.load(path).graph_module
        self.nodes = [n for n in self.module.graph.nodes
                      if n.op == "call_function"]
        self.by_name = {n.name: n for n in self.nodes}
        self.order = {n: i for i, n in enumerate(self.module.graph.nodes)}
        self.group = {}
        for n in self.nodes:
            lead = owner(n)
            if base_name(lead).startswith("dequantize"):
                source = lead.args[0]
                if isinstance(source, torch.fx.Node):
                    source = owner(source)
                    if base_name(source).startswith("quantize"):
                        lead = source
            self.group[n] = self.group.get(lead, lead)

    def effect_edges(self):
        """Pairs (earlier, later) whose order FX doesn't record."""
        draws, touched, edges = [], {}, []
        for n in self.nodes:
            schema = getattr(n.target, "_schema", None)
            tags = getattr(n.target, "tags", ())
            if torch.Tag.nondeterministic_seeded in tags:
                draws.append(n)
            elif schema is not None and str(n.target).split(".")[0] not in (
                    "aten", "prims"):
                draws.append(n)  # a custom operator may do anything
        edges += list(zip(draws, draws[1:]))
        for n in self.nodes:
            schema = getattr(n.target, "_schema", None)
            if schema is None:
                continue
            for i, argument in enumerate(schema.arguments):
                alias = argument.alias_info
                if alias is None or not alias.is_write or i >= len(n.args):
                    continue
                written = n.args[i]
                for user in getattr(written, "users", {}):
                    if user is not n and user in self.by_name.values():
                        first, last = sorted((n, user), key=self.order.get)
                        edges.append((first, last))
        return edges

    def is_acyclic(self, regions, extra_edges=()):
        """Whether contracting the regions leaves no cycle."""
        unit = {n: n for n in self.module.graph.nodes}
        for i, region in enumerate(regions):
            for n in region:
                unit[n] = i
        after = {}
        missing = {}
        edges = [(before, n) for n in self.module.graph.nodes
                 for before in n.all_input_nodes] + list(extra_edges)
        for before, n in edges:
            a, b = unit[before], unit[n]
            if a is b or a == b or b in after.setdefault(a, set()):
                continue
            after[a].add(b)
            missing[b] = missing.get(b, 0) + 1
        units = set(unit.values())
        ready = [u for u in units if not missing.get(u)]
        done = 0
        while ready:
            u = ready.pop()
            done += 1
            for b in after.get(u, ()):
                missing[b] -= 1
                if not missing[b]:
                    ready.append(b)
        return done == len(units)


class Support(OperatorSupportBase):
    def __init__(self, nodes):
        self.nodes = nodes

    def is_node_supported(self, submodules, node):
        return node in self.nodes


def torch_regions(program, supported):
    partitioner = CapabilityBasedPartitioner(
        program.module, Support(supported), allows_single_node_partition=True)
    return [list(p.nodes) for p in partitioner.propose_partitions()]


def run_tenon(tenon, *arguments):
    done = subprocess.run([tenon, "partition", *map(str, arguments)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return done.stdout


def names_of_refused(tenon, path, *arguments):
    report = json.loads(run_tenon(tenon, path, "-b", "echo", "--json",
                                  *arguments))
    names = set()
    for group in report["refusals"]:
        for node in group["nodes"]:  # main/%relu (aten.relu.default)
            names.add(re.match(r'[^%]*%"?([^" ]*)', node)[1])
    return names


def names_to_draw_from(tenon, path, work):
    """Names of the nodes in the root graph that the backend echo takes."""
    nothing = work / "nothing"
    nothing.write_text("")
    everything = names_of_refused(tenon, path, "--allow", f"@{nothing}")
    return everything - names_of_refused(tenon, path)


def tenon_regions(tenon, path, program, supported, work):
    """Regions as lists of FX nodes, from the text of the cut program."""
    support = work / "support"
    support.write_text("".join(f"%{n.name}\n" for n in supported
                               if n.name in program.known))
    cut = work / "cut.tenon"
    run_tenon(tenon, path, "-b", "echo", "--allow", f"@{support}", "-o", cut)
    regions, inside = [], None
    for line in cut.read_text().splitlines():
        if match := re.match(r"graph @(\S+?)\(", line):
            inside = [] if match[1].startswith("region_") else None
            if inside is not None:
                regions.append(inside)
        elif inside is not None and re.match(r"\s+\S.* = ", line):
            left = line.split(" = ", 1)[0]
            for name in re.findall(r'%"?([\w.]+)"?', left):
                if name in program.by_name:
                    inside.append(program.by_name[name])
    return regions


def draw(program, rng, by_operator, share):
    """A set of supported nodes; what belongs together goes together."""
    key = (lambda n: str(n.target)) if by_operator else (lambda n: n)
    verdicts = {}
    supported = set()
    for n in program.nodes:
        lead = program.group[n]
        verdict = verdicts.setdefault(key(lead), rng.random() < share)
        if verdict and program.is_known(lead):
            supported.add(n)
    return supported


def compare(tenon, path, seeds, max_nodes, work):
    """(passed, failed, sets where PyTorch broke effects, nodes gained)"""
    program = FxProgram(str(path))
    if len(program.nodes) > max_nodes:
        print(f"skipped {path.name}: {len(program.nodes)} nodes")
        return 0, 0, 0, 0
    program.known = names_to_draw_from(tenon, path, work)
    members = {}
    for n in program.nodes:
        members.setdefault(program.group[n], []).append(n)
        members.setdefault(owner(n), []).append(n)
    # Nodes that return nothing may have no name in the file, and echo refuses
    # what lies on several devices.
    program.is_known = lambda lead: all(
        any(m.name in program.known for m in members[owner(n)])
        for n in members[lead])
    effects = program.effect_edges()
    passed = failed = broken = fewer = 0
    if not any(program.is_known(program.group[n]) for n in program.nodes):
        raise RuntimeError("no node of PyTorch's graph is one of Tenon's")
    for seed in range(seeds):
        rng = random.Random(seed)
        share = SHARES[seed // 2 % len(SHARES)]
        supported = draw(program, rng, seed % 2 == 1, share)
        ours = tenon_regions(tenon, path, program, supported, work)
        theirs = torch_regions(program, supported)
        wanted = {owner(n) for n in supported if not is_silent(n)}
        taken = {owner(n) for region in ours for n in region}
        ours = [[n for n in supported if owner(n) in region] for region in
                ({owner(n) for n in region} for region in ours)]
        why = None
        if taken != wanted:
            why = (f"took {sorted(n.name for n in taken ^ wanted)[:5]} "
                   "otherwise than supported")
        elif not program.is_acyclic(ours):
            why = "regions aren't convex"
        elif len(ours) > len(theirs):
            if program.is_acyclic(theirs, effects):
                why = f"{len(ours)} regions, PyTorch has {len(theirs)}"
            else:
                broken += 1
        if why:
            failed += 1
            print(f"FAIL {path.parent.name}/{path.name} seed {seed}: {why}")
        else:
            passed += 1
            fewer += len(ours) < len(theirs)
    return passed, failed, broken, fewer


def additions(num_nodes, width):
    """Nodes that add the last value and one of the last `width`, as an FX
    module and in Tenon's text form, and the unsupported tenth's names."""
    rng = random.Random(0)
    graph = torch.fx.Graph()
    values = [graph.placeholder("x")]
    lines = ["tenon 1", "graph @main(%x : f32[4]) {"]
    unsupported = set()
    for _ in range(num_nodes):
        a, b = values[-1], rng.choice(values[-width:])
        n = graph.call_function(torch.ops.aten.add.Tensor, (a, b))
        lines.append(f"  %{n.name} : f32[4] = aten.add.Tensor(%{a.name}, "
                     f"%{b.name})")
        if rng.random() < 0.1:
            unsupported.add(n.name)
        values.append(n)
    graph.output((values[-1],))
    lines += [f"  return (%{values[-1].name})", "}", ""]
    return torch.fx.GraphModule({}, graph), "\n".join(lines), unsupported


def seconds_of_tenon(tenon, text, unsupported, work):
    """Of the partition alone, the best of some runs, and its regions."""
    path, deny = work / "speed.tenon", work / "deny"
    path.write_text(text)
    deny.write_text("".join(f"%{name}\n" for name in unsupported))
    best = None
    for _ in range(10):
        done = subprocess.run(
            [tenon, "export", path, "-b", "echo", "--deny", f"@{deny}",
             "--stop-after", "partition", "--json", "--time", "-o",
             work / "out.tenon"], capture_output=True, text=True, check=True)
        phases = json.loads(done.stdout)["phases"]
        seconds = next(p["seconds"] for p in phases if p["name"] == "partition")
        best = min(seconds, best or seconds)
    return best


def compare_speed(tenon, work):
    failed = 0
    for shape, width in (("chain", 1), ("dense", 16)):
        module, text, unsupported = additions(1000, width)
        supported = {n for n in module.graph.nodes
                     if n.op == "call_function" and n.name not in unsupported}
        start = time.perf_counter()
        partitioner = CapabilityBasedPartitioner(
            module, Support(supported), allows_single_node_partition=True)
        num_regions = len(partitioner.propose_partitions())
        theirs = time.perf_counter() - start
        ours = seconds_of_tenon(tenon, text, unsupported, work)
        failed += theirs < 10000 * ours
        print(f"1,000 nodes, {shape}: PyTorch {theirs:.2f} s for {num_regions} "
              f"regions, Tenon {ours * 1e6:.0f} us: {theirs / ours:.0f} times")
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tenon")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--max-nodes", type=int, default=1500)
    parser.add_argument("--speed", action="store_true")
    a = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    if a.speed:
        with tempfile.TemporaryDirectory() as folder:
            return compare_speed(a.tenon, pathlib.Path(folder))
    corpus = a.shared / "corpus" / "pt2"
    sys.path.insert(0, str(corpus / "make"))
    import corpus_types  # noqa: F401: classes and operators of the programs

    if a.patterns:
        paths = sorted(p for pattern in a.patterns for p in corpus.glob(pattern))
    else:
        entries = json.loads((corpus / "slice.json").read_text())["programs"]
        paths = [corpus / entry["file"] for entry in entries]
    passed = failed = broken = fewer = unread = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            try:
                counts = compare(a.tenon, path, a.seeds, a.max_nodes,
                                 pathlib.Path(folder))
            except Exception as error:  # noqa: BLE001: any of torch's
                if not a.patterns:
                    failed += 1
                    print(f"FAIL {path.name}: {str(error)[:200]}")
                else:
                    unread += 1
                    print(f"not compared {path.name}: {str(error)[:100]!r}")
                continue
            passed += counts[0]
            failed += counts[1]
            broken += counts[2]
            fewer += counts[3]
    print(f"fewer regions than PyTorch in {fewer} sets; in {broken} PyTorch's "
          f"smaller cut breaks the order of effects; {unread} files not "
          "compared")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
