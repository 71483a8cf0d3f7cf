"""The Python side of bench/peers.py: the same operations, done by PyTorch.

    peer_worker.py SHARED_PEERS      reads lines "OPERATION N [TIMES]" and answers each with "WALL_NS CPU_NS"

OPERATION may be ENGINE:MODEL: a call of the program MODEL.pt2 in the folder TENON_PEERS_FOLDER, by one of ENGINES,
with N threads; the shortest of TIMES.

SHARED_PEERS is the folder with bench_lib.py and shim.py. Operations that need Torch-TensorRT's exporter want the
wheel's path in TTRT_WHEEL. What an operation works on is made anew for each run, outside of the time.
"""
import contextlib
import copy
import functools
import gc
import io
import os
import random
import sys
import time
import warnings

sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")
sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402
import torch.fx as fx  # noqa: E402

import bench_lib  # noqa: E402

torch.set_num_threads(1)
A = torch.ops.aten
OPS_PER_CHILD = 20  # as bench/programs.h
_exporter = None


def exporter():
    global _exporter
    if _exporter is None:
        import logging

        import shim
        logging.disable(logging.WARNING)
        _exporter = shim.load()
    return _exporter


def dag(n, width):
    r = random.Random(0)
    g = fx.Graph()
    vs = [g.placeholder("x")]
    bad = set()
    for _ in range(n):
        v = g.call_function(A.add.Tensor, (vs[-1], r.choice(vs[-width:])))
        if r.random() < 0.1:
            bad.add(v.name)
        vs.append(v)
    g.output((vs[-1],))
    return fx.GraphModule({}, g), bad


def propose(arg):
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupportBase

    class Support(OperatorSupportBase):
        def is_node_supported(self, mods, node):
            return node.op == "call_function" and node.name not in arg[1]

    CapabilityBasedPartitioner(arg[0], Support(), allows_single_node_partition=True).propose_partitions()


def hybrid(n):
    """Children of OPS_PER_CHILD operators; each has one weight, two inputs and two outputs."""
    from operator import getitem

    from torch._subclasses.fake_tensor import FakeTensorMode
    val = FakeTensorMode().from_tensor(torch.zeros(4))
    root = torch.nn.Module()
    g = fx.Graph()
    p = q = g.placeholder("x")
    p.meta["val"] = val
    for c in range(max(1, n // OPS_PER_CHILD)):
        cg = fx.Graph()
        u, v = cg.placeholder("p"), cg.placeholder("q")
        u.meta["val"] = v.meta["val"] = val
        m = torch.nn.Module()
        t = u
        for i in range(OPS_PER_CHILD):
            if i == 0:
                m.register_parameter(f"w{c}", torch.nn.Parameter(torch.ones(4)))
                w = cg.get_attr(f"w{c}")
                w.meta["val"] = val
                t2 = cg.call_function(A.mul.Tensor, (t, w))
            else:
                t2 = cg.call_function(A.add.Tensor, (t, v))
            v, t = t, t2
            t.meta["val"] = val
        cg.output((t, v))
        name = f"_run_on_gpu_{c}"
        root.add_module(name, fx.GraphModule(m, cg))
        call = g.call_module(name, (p, q))
        p, q = (g.call_function(getitem, (call, i)) for i in range(2))
        call.meta["val"], p.meta["val"], q.meta["val"] = (val, val), val, val
    g.output((p, q))
    return fx.GraphModule(root, g)


def joined(n):
    """A hybrid program after upstream's inlining, with the signature that its lifting starts from."""
    from torch.export import ExportGraphSignature
    from torch.export.exported_program import InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
    gm = exporter().transform(hybrid(n))
    outs = next(x for x in gm.graph.nodes if x.op == "output").args[0]
    return gm, ExportGraphSignature(
        [InputSpec(InputKind.USER_INPUT, TensorArgument(name="x"), "x")],
        [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=o.name), None) for o in outs])


def check(program):
    from torch._export.verifier import Verifier
    Verifier().check(program)


def graph_module(n):
    return fx.GraphModule({}, bench_lib.chain_graph(n)[0])


def peers_file(kind, n):
    """Where a file lies that both sides work on."""
    return os.path.join(os.environ["TENON_PEERS_FOLDER"], f"{kind}-{n}.pt2")


def saved(n):
    path = peers_file("nodes", n)
    if not os.path.exists(path):
        torch.export.save(bench_lib.program(n), path)
    with open(path, "rb") as f:
        return io.BytesIO(f.read())


class Weights(torch.nn.Module):
    """As bench_saveload.py: sixteen parameters, all of them used."""

    def __init__(self, megabytes, k=16):
        super().__init__()
        self.w = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.rand(megabytes * 1_000_000 // 4 // k)) for _ in range(k)])

    def forward(self, x):
        for w in self.w:
            x = x + w[:4]
        return x


@functools.cache
def with_weights(megabytes):
    module = Weights(megabytes)
    program = torch.export.export(module, (torch.zeros(4),))
    path = peers_file("weights", megabytes)
    torch.export.save(program, path)
    from safetensors.torch import save_file
    save_file(dict(module.state_dict()), path + ".safetensors")
    return program


def weights_path(megabytes):
    with_weights(megabytes)
    return peers_file("weights", megabytes)


def load_safetensors(path):
    from safetensors.torch import load_file
    return load_file(path + ".safetensors")  # mapped, not touched


def save_beside(program, path):
    torch.export.save(program, path)
    os.remove(path)


# name: (what the operation works on, the operation)
OPERATIONS = {
    "read_saved": (saved, torch.export.load),
    "write_saved": (lambda n: (saved(n), bench_lib.program(n)),
                    lambda arg: torch.export.save(arg[1], io.BytesIO())),
    "load_weights": (weights_path, torch.export.load),
    "read_weights": (weights_path, load_safetensors),
    "write_weights": (lambda n: (with_weights(n), peers_file("weights", n) + ".peer"),
                      lambda arg: save_beside(*arg)),
    "partition_chain": (lambda n: dag(n, 1), propose),
    "partition_dense": (lambda n: dag(n, 16), propose),
    "clone": (graph_module, copy.deepcopy),
    "verify": (bench_lib.program, check),
    "lift_hybrid": (joined, lambda arg: exporter().lift(*arg)),
    "hybrid_to_signed": (hybrid, lambda gm: exporter().export(
        gm, arg_inputs=[torch.zeros(4)], use_legacy_exporter=True)),
}


# --- whole programs ---

def exported(model):
    return torch.export.load(os.path.join(os.environ["TENON_PEERS_FOLDER"], model + ".pt2"))


def example(ep):
    args, kwargs = ep.example_inputs
    if kwargs:
        raise NotImplementedError("a program with keyword arguments")
    return args


def inputs(model, threads):
    """Leaves of the example call, by number, for the other side."""
    from safetensors.torch import save_file
    leaves = torch.utils._pytree.tree_leaves(example(exported(model)))
    tensors = {str(i): torch.as_tensor(x).contiguous().clone() for i, x in enumerate(leaves)}
    save_file(tensors, os.path.join(os.environ["TENON_PEERS_FOLDER"], model + ".inputs.safetensors"))
    return lambda: None


def eager(model, threads):
    ep = exported(model)
    module, args = ep.module(), example(ep)
    return lambda: module(*args)


def compiled(model, threads):
    ep = exported(model)
    module, args = torch.compile(ep.module()), example(ep)
    return lambda: module(*args)


def aoti(model, threads):
    ep = exported(model)
    path = os.path.join(os.environ["TENON_PEERS_FOLDER"], model + ".aoti.pt2")
    module = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep, package_path=path))
    os.remove(path)
    args = example(ep)
    return lambda: module(*args)


def onnx(model, threads):
    import onnxruntime
    ep = exported(model)
    path = os.path.join(os.environ["TENON_PEERS_FOLDER"], model + ".onnx")
    torch.onnx.export(ep, example(ep), path, dynamo=True, external_data=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for name in os.listdir(os.path.dirname(path)):
        if name.startswith(model + ".onnx"):
            os.remove(os.path.join(os.path.dirname(path), name))
    tensors = [x for x in torch.utils._pytree.tree_leaves(example(ep)) if isinstance(x, torch.Tensor)]
    feed = {i.name: x.numpy() for i, x in zip(session.get_inputs(), tensors, strict=True)}
    return lambda: session.run(None, feed)


def lowered(ep):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    return to_edge_transform_and_lower(ep, partitioner=[XnnpackPartitioner()]).to_executorch()


def method_of(program, threads):
    from executorch.runtime import Runtime
    # The runtime makes its threads when it is first used: one a core that the process may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    return Runtime.get().load_program(program).load_method("forward")


def leaves_of(ep):
    args, kwargs = ep.example_inputs
    return list(torch.utils._pytree.tree_leaves((args, kwargs)))


def xnnpack(model, threads):
    ep = exported(model)
    method, args = method_of(lowered(ep).buffer, threads), leaves_of(ep)
    return lambda: method.execute(args)


def pte_path(model, writer):
    return os.path.join(os.environ["TENON_PEERS_FOLDER"], f"{model}.{writer}.pte")


def call_pte(writer):
    def make(model, threads):
        method, args = method_of(pte_path(model, writer), threads), leaves_of(exported(model))
        return lambda: method.execute(args)
    return make


def load_pte(writer):
    """A file until its method can be called."""
    def make(model, threads):
        return lambda: method_of(pte_path(model, writer), threads)
    return make


def export_pte(model, threads):
    """ExecuTorch's own way from a program in memory to a file."""
    ep = exported(model)

    def once():
        program = lowered(ep)
        with open(pte_path(model, "stock"), "wb") as f:
            program.write_to_file(f)
    return once


ENGINES = {"inputs": inputs, "eager": eager, "compile": compiled, "aoti": aoti, "onnx": onnx, "xnnpack": xnnpack,
           "export_pte": export_pte, "call_stock": call_pte("stock"), "call_tenon": call_pte("tenon"),
           "load_stock": load_pte("stock"), "load_tenon": load_pte("tenon")}
COLD = {"export_pte"}  # not called before it is timed
WARM_CALLS = 3


@functools.lru_cache(maxsize=1)  # one at a time: they are large
def loaded(engine, model, threads):
    torch.set_num_threads(threads)
    call = ENGINES[engine](model, threads)
    for _ in range(0 if engine in COLD else WARM_CALLS):
        call()
    return call


def call(name, threads, times):
    engine, model = name.split(":")
    with torch.no_grad():
        once = loaded(engine, model, threads)
        gc.collect()
        gc.disable()
        best = [float("inf"), float("inf")]
        for _ in range(times):
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            once()
            best = [min(best[0], time.perf_counter_ns() - wall), min(best[1], time.process_time_ns() - cpu)]
        gc.enable()
    return tuple(best)


def run(name, n, times):
    if ":" in name:
        return call(name, n, times)
    make, operation = OPERATIONS[name]
    arg = make(n)
    gc.collect()
    gc.disable()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    operation(arg)
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    gc.enable()
    return wall, cpu


def main():
    answers = os.fdopen(os.dup(1), "w")  # what PyTorch prints is no answer
    for line in sys.stdin:
        name, n, *times = line.split()
        with contextlib.redirect_stdout(sys.stderr):
            try:
                answer = "%d %d" % run(name, int(n), int(times[0]) if times else 1)
            except Exception as error:  # what one engine can't do is said, and others go on
                if ":" not in name:
                    raise
                answer = f"- {type(error).__name__}: {(str(error).strip() or 'no reason').splitlines()[0]}"
        print(answer, file=answers, flush=True)


main()
