"""tenon_pt2.join beside Torch-TensorRT's own exporter, end to end, in one process.

    python bench/peers_python.py WHEEL SHARED [--children 10 100 500] [--rounds 5]

WHEEL is torch_tensorrt-2.14.0's, SHARED the folder with peers/. Run it in the
environment of `SHARED/oracle/setup.sh upstream` with tenon_pt2 installed. Both get
one hybrid graph of children with 20 operators, a weight and two outputs each, and
give an ExportedProgram. The two take turns of three runs, and the median CPU time
of each counts. One JSON line a size; times are microseconds an operator. Ends with
1 when a goal is missed.

A turn begins with a collection of garbage, which leaves nothing of either side in
the caches: its first run is as cold as one gets, the others are not. "with_gc" has
the same with a look through the young objects that a run leaves behind, as sooner
or later somebody takes.
"""

import argparse
import gc
import json
import logging
import pathlib
import statistics
import sys
import time
import warnings

GOAL = 20.0
RUNS_PER_TURN = 3


def turn(what, seconds, with_gc):
    """Appends the CPU time of each run, without and with what it leaves to the
    collector; returns what the last one gave."""
    gc.collect()
    for _ in range(RUNS_PER_TURN):
        result = None
        start = time.process_time()
        result = what()
        seconds.append(time.process_time() - start)
        gc.collect(0)
        with_gc.append(time.process_time() - start)
    return result


def hybrid_maker(shared):
    """`hybrid` of the peers' own benchmark, so that both measure the same graphs."""
    import torch
    import torch.fx as fx

    text = (shared / "peers" / "bench_exporter.py").read_text()
    begin, end = text.index("def hybrid("), text.index('if os.environ.get("TTRT_WHEEL")')
    scope = {"torch": torch, "fx": fx, "A": torch.ops.aten}
    exec(compile(text[begin:end], "bench_exporter.py", "exec"), scope)
    return scope["hybrid"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--children", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    sys.path.insert(0, str(options.shared / "peers"))
    import shim

    exporter = shim.load(options.wheel)
    import torch

    import tenon_pt2

    torch.set_num_threads(1)
    hybrid = hybrid_maker(options.shared)
    x = torch.zeros(4)
    missed = False
    for children in options.children:
        gm, n = hybrid(children, 20), children * 20
        ours, theirs, ours_with_gc, theirs_with_gc = [], [], [], []
        for _ in range(options.rounds):
            peer = turn(lambda: exporter.export(gm, arg_inputs=[x], use_legacy_exporter=True), theirs, theirs_with_gc)
            ep = turn(lambda: tenon_pt2.join(gm, (x,)), ours, ours_with_gc)
        ep.validate()
        y = torch.arange(4.0)
        for a, b in zip(ep.module()(y), peer.module()(y)):
            assert torch.equal(a, b), "the two programs compute different things"
        tenon, other, tenon_with_gc, other_with_gc = (
            statistics.median(times) / n * 1e6 for times in (ours, theirs, ours_with_gc, theirs_with_gc)
        )
        missed = missed or other / tenon < GOAL
        print(
            json.dumps(
                {
                    "metric": "join a hybrid graph in Python, end to end",
                    "n": n,
                    "tenon": round(tenon, 2),
                    "peer": round(other, 2),
                    "ratio": round(other / tenon, 1),
                    "with_gc": {
                        "tenon": round(tenon_with_gc, 2),
                        "peer": round(other_with_gc, 2),
                        "ratio": round(other_with_gc / tenon_with_gc, 1),
                    },
                    "goal": GOAL,
                    "met": other / tenon >= GOAL,
                }
            ),
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
