#!/usr/bin/env python3
"""Tenon beside the Python that does the same, interleaved in one run.

    bench/peers.py join [--quick] [--build build/release] [--shared ../shared]

Prints one JSON line a metric: {"metric", "n", "tenon", "peer", "ratio", "goal"} and "met". Times are nanoseconds of
CPU time, the best of several runs; "wall" holds the same three by the wall clock. "ratio" is peer / tenon. A metric
without a peer ("peer": null) has a goal of its own: a bound in nanoseconds a node, milliseconds, or growth when the
program doubles. Ends with 1 when a goal is missed, with 2 when something can't be measured.

The two sides take turns, so that whatever else the machine does meets both. Tenon's is bench/tenon_peer_side, the
other bench/peer_worker.py in the environments that ../shared/oracle/setup.sh makes (torch, upstream). Without one of
them its lines say so in "note", and their goals count as missed.
"""
import argparse
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True


class Side:
    """A process that answers "OPERATION N [TIMES]" with wall and CPU nanoseconds."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL if env is not None else None,
                                        env={**os.environ, **(env or {})})

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split()
        except BrokenPipeError:
            answer = []
        if len(answer) != 2:
            raise RuntimeError(f"no answer to {words}: the process ended")
        return tuple(float(x) for x in answer)


def best(pairs):
    """Each clock's best, of (wall, cpu)."""
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


class Run:
    def __init__(self, args):
        self.args = args
        self.quick = args.quick
        self.sides = {"tenon": Side([os.path.join(args.build, "bench/tenon_peer_side")])}
        self.why_not = {}
        self.missed = []

    # A peer's process, started when first needed; None when its environment can't be made.
    def peer(self, name):
        if name in self.sides or name in self.why_not:
            return self.sides.get(name)
        setup = subprocess.run([os.path.join(self.args.shared, "oracle/setup.sh"), name], text=True,
                               stdout=subprocess.PIPE)
        python = setup.stdout.strip()
        if setup.returncode != 0 or not os.path.exists(python):
            self.why_not[name] = f"oracle/setup.sh {name} failed"
            return None
        env = {}
        if name == "upstream":
            folder = os.path.dirname(os.path.dirname(os.path.dirname(python)))
            env["TTRT_WHEEL"] = next(iter(glob.glob(os.path.join(folder, "torch_tensorrt-*.whl"))), "")
        command = [python, os.path.join(HERE, "peer_worker.py"), os.path.join(self.args.shared, "peers")]
        self.sides[name] = Side(command, env)
        return self.sides[name]

    def emit(self, metric, n, tenon, peer, goal, is_met, note=None, **more):
        ratio = None if peer is None else round(peer[1] / tenon[1], 1)
        line = {"metric": metric, "n": n, "tenon": tenon[1], "peer": peer and peer[1], "ratio": ratio, "goal": goal,
                "met": is_met(ratio if ratio is not None else tenon[1]) if note is None else False,
                "wall": {"tenon": tenon[0], "peer": peer and peer[0], "ratio": peer and round(peer[0] / tenon[0], 1)}}
        line.update(more)
        if note is not None:
            line["note"] = note
        print(json.dumps(line), flush=True)
        if not line["met"]:
            self.missed.append(f"{metric} n={n}")

    def compare(self, metric, n, peer_name, goal, reps=3):
        """Alternately; Tenon, whose runs are short, several times each turn. `goal`: the smallest ratio; 0: none."""
        tenon, peer, note = [], [], None
        side = self.peer(peer_name)
        for _ in range(reps):
            tenon.append(self.sides["tenon"].ask(metric, n, 5))
            if side is None:
                note = self.why_not[peer_name]
                continue
            try:
                peer.append(side.ask(metric, n))
            except RuntimeError as error:
                note = str(error)
                break
        self.emit(metric, n, best(tenon), best(peer) if peer else None, f">= {goal}x" if goal else None,
                  lambda ratio: ratio >= goal, note, peer_is=peer_name)

    def bound(self, metric, n, goal_ns, per_node, reps=5):
        """Tenon alone, against a number of nanoseconds."""
        tenon = self.sides["tenon"].ask(metric, n, reps)
        if per_node:
            tenon = tuple(round(t / n, 1) for t in tenon)
        goal = f"<= {goal_ns} ns a node" if per_node else f"<= {goal_ns / 1e6:g} ms"
        self.emit(metric, n, tenon, None, goal, lambda value: value <= goal_ns)

    def growth(self, metric, n, goal=2.3, reps=5):
        """Time at 2n over time at n."""
        tenon = self.sides["tenon"]
        once, twice = [], []
        for _ in range(reps):
            once.append(tenon.ask(metric, n))
            twice.append(tenon.ask(metric, 2 * n))
        value = tuple(round(b / a, 2) for a, b in zip(best(once), best(twice)))
        self.emit(f"growth {metric}", n, value, None, f"<= {goal} when it doubles", lambda v: v <= goal)

    def flat(self, metric, small, large, goal=5.0, reps=30):
        """Time at a large size over time at a small one: caches are colder, but nothing more is done."""
        tenon = self.sides["tenon"]
        a, b = tenon.ask(metric, small, reps), tenon.ask(metric, large, reps)
        value = tuple(round(y / x, 2) for x, y in zip(a, b))
        self.emit(f"{metric} {small} to {large} nodes", large, value, None, f"<= {goal} times", lambda v: v <= goal,
                  tenon_ns=[a[1], b[1]])


def join(run):
    thousand, many = (300, 10_000) if run.quick else (1_000, 1_000_000)
    run.compare("partition_chain", thousand, "torch", 0 if run.quick else 10_000, 2)
    run.compare("partition_dense", thousand, "torch", 0 if run.quick else 10_000, 2)
    for metric in ("partition_chain", "partition_dense"):
        run.bound(metric, many, 100e6, per_node=False)
    for n in (thousand, 10 * thousand):
        run.compare("clone", n, "torch", 1_000)
        run.compare("verify", n, "torch", 0)
    for n in (thousand,) if run.quick else (thousand, 5 * thousand):
        run.compare("hybrid_to_signed", n, "upstream", 500)
        run.compare("lift_hybrid", n, "upstream", 0)
    for metric in ("verify", "digest"):
        for n in (10_000, many):
            run.bound(metric, n, 100, per_node=True)
    run.flat("join_boundary", 10, 10_000 if run.quick else 100_000)
    run.flat("join_long_parent", 100, 10_000 if run.quick else 100_000)
    for metric in ("verify", "digest", "clone", "partition_chain", "partition_dense", "join", "lift", "hybrid_to_signed"):
        for n in (1_000, 5_000) if run.quick else (1_000, 10_000, 100_000, 500_000):
            run.growth(metric, n)


GROUPS = {"join": join}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute instead of many")
    parser.add_argument("--build", default=os.path.join(HERE, "../build/release"))
    parser.add_argument("--shared", default=os.path.join(HERE, "../../shared"))
    run = Run(parser.parse_args())
    try:
        GROUPS[run.args.group](run)
    except RuntimeError as error:
        print(f"peers.py: {error}", file=sys.stderr)
        return 2
    if run.missed:
        print("missed: " + ", ".join(run.missed), file=sys.stderr)
    return 1 if run.missed else 0


sys.exit(main())
