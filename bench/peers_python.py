"""tenon_pt2.join beside Torch-TensorRT's own exporter, end to end, in one process.

    python bench/peers_python.py WHEEL SHARED [--children 10 100 500] [--rounds 5]

WHEEL is torch_tensorrt-2.14.0's, SHARED the folder with peers/. Run it in the
environment of `SHARED/oracle/setup.sh upstream` with tenon_pt2 installed. Both get
one hybrid graph of children with 20 operators, a weight and two outputs each, and
give an ExportedProgram; rounds are interleaved, the least CPU time of each
counts. One JSON line a size; times are microseconds an operator.
"""

import argparse
import gc
import json
import logging
import pathlib
import sys
import time
import warnings

GOAL = 20.0


def cpu_time(what):
    gc.collect()
    start = time.process_time()
    result = what()
    return time.process_time() - start, result


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
    for children in options.children:
        gm, n = hybrid(children, 20), children * 20
        ours, theirs = [], []
        for _ in range(options.rounds):
            seconds, peer = cpu_time(lambda: exporter.export(gm, arg_inputs=[x], use_legacy_exporter=True))
            theirs.append(seconds)
            seconds, ep = cpu_time(lambda: tenon_pt2.join(gm, (x,)))
            ours.append(seconds)
        ep.validate()
        y = torch.arange(4.0)
        for a, b in zip(ep.module()(y), peer.module()(y)):
            assert torch.equal(a, b), "the two programs compute different things"
        tenon, other = min(ours) / n * 1e6, min(theirs) / n * 1e6
        print(
            json.dumps(
                {
                    "metric": "join a hybrid graph in Python, end to end",
                    "n": n,
                    "tenon": round(tenon, 2),
                    "peer": round(other, 2),
                    "ratio": round(other / tenon, 1),
                    "goal": GOAL,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
