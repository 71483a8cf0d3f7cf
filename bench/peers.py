#!/usr/bin/env python3
"""Tenon beside the Python that does the same, interleaved in one run.

    bench/peers.py join|pt2|pte|run [--quick] [--build build/release] [--shared ../shared]

`join` is about graphs, `pt2` about files: both sides read and write what PyTorch saved; the weights' bounds are
safetensors, which maps them, too, and dd, which only copies. `pte` exports programs of the corpus for ExecuTorch with
XNNPACK beside ExecuTorch's own exporter, then loads and calls both files in its runtime. `run` calls whole programs (--models), one thread and two,
beside PyTorch eager, torch.compile, AOTInductor, ONNX Runtime and ExecuTorch with XNNPACK.

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
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True


class Unable(RuntimeError):
    """One engine can't do one thing."""


class Ended(RuntimeError):
    """A side that answers no more."""


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
        if answer[:1] == ["-"]:
            raise Unable(" ".join(answer[1:])[:200])
        if len(answer) != 2:
            raise Ended(f"no answer to {words}: the process ended with {self.process.wait()}")
        return tuple(float(x) for x in answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def best(pairs):
    """Each clock's best, of (wall, cpu)."""
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


class Run:
    def __init__(self, args):
        self.args = args
        self.quick = args.quick
        self.group = args.group
        # Files that both sides work on.
        self.folder = tempfile.mkdtemp(prefix="tenon-peers-", dir=args.folder)
        os.environ["TENON_PEERS_FOLDER"] = self.folder
        self.sides = {"tenon": Side([os.path.join(args.build, "bench/tenon_peer_side")])}
        self.why_not = {}
        self.missed = []

    # A peer's process, started when first needed; None when its environment can't be made.
    def peer(self, name):
        if name not in self.sides and name not in self.why_not and (side := self.start(name)) is not None:
            self.sides[name] = side
        return self.sides.get(name)

    def start(self, name):
        setup = subprocess.run([os.path.join(self.args.shared, "oracle/setup.sh"), "torch" if name == "onnx" else name],
                               text=True, stdout=subprocess.PIPE)
        python = setup.stdout.strip()
        if setup.returncode != 0 or not os.path.exists(python):
            self.why_not[name] = f"oracle/setup.sh {name} failed"
            return None
        if name == "onnx":
            python = with_onnx(python)
        env = {}
        if name == "upstream":
            folder = os.path.dirname(os.path.dirname(os.path.dirname(python)))
            env["TTRT_WHEEL"] = next(iter(glob.glob(os.path.join(folder, "torch_tensorrt-*.whl"))), "")
        command = [python, os.path.join(HERE, "peer_worker.py"), os.path.join(self.args.shared, "peers")]
        return Side(command, env)

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

    def compare(self, metric, n, peer_name, goal, reps=3, theirs=None):
        """Alternately; Tenon, whose runs are short, several times each turn. `goal`: the smallest ratio; 0: none.
        `theirs`: what the other side calls it."""
        tenon, peer, note = [], [], None
        side = self.peer(peer_name)
        for _ in range(reps):
            if side is None:
                note = self.why_not[peer_name]
            else:
                try:  # first: it writes the files that both work on
                    peer.append(side.ask(theirs or metric, n))
                except (Unable, Ended) as error:
                    note = str(error)
            if note is not None and self.group != "join":
                print(f"peers.py: {metric} n={n}: {note}", file=sys.stderr)
                self.missed.append(f"{metric} n={n}")
                return
            tenon.append(self.sides["tenon"].ask(metric, n, 5))
            if note is not None:
                break
        self.emit(theirs or metric, n, best(tenon), best(peer) if peer else None, f">= {goal}x" if goal else None,
                  lambda ratio: ratio >= goal, note, peer_is=peer_name)

    def bound(self, metric, n, goal_ns, per_node, reps=5):
        """Tenon alone, against a number of nanoseconds, or none."""
        tenon = self.sides["tenon"].ask(metric, n, reps)
        if per_node:
            tenon = tuple(round(t / n, 1) for t in tenon)
        goal = f"<= {goal_ns} ns a node" if per_node else f"<= {goal_ns / 1e6:g} ms"
        if goal_ns is None:
            goal = None
        self.emit(metric, n, tenon, None, goal, lambda value: goal_ns is None or value <= goal_ns)

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


    def dd(self, n, goal, reps=5):
        """Writing a program with n megabytes of weights to disk, against copying the file: wall time, as the disk
        has its share in it."""
        source = os.path.join(self.folder, f"weights-{n}.pt2")
        target = source + ".dd"
        tenon, peer = [], []
        for _ in range(reps):
            before, start = children_cpu(), time.perf_counter()
            subprocess.run(["dd", f"if={source}", f"of={target}", "bs=1M", "conv=fdatasync"], check=True,
                           stderr=subprocess.DEVNULL)
            peer.append(((time.perf_counter() - start) * 1e9, (children_cpu() - before) * 1e9))
            os.remove(target)
            tenon.append(self.sides["tenon"].ask("write_weights", n, 1))
        tenon, peer = best(tenon), best(peer)
        # The clocks change places: `emit` judges the second.
        self.emit("write weights to disk; dd conv=fdatasync", n, tenon[::-1], peer[::-1], f">= {goal}x by the wall",
                  lambda ratio: ratio >= goal, clocks="wall first")

    def execute(self, model, threads, engines, rounds=3, times=7):
        """Tenon and the engines in turns, a process each. With one thread CPU time counts, with more the wall clock."""
        took = {"tenon": []}
        if (torch := self.peer("torch")) is None:
            raise RuntimeError(self.why_not["torch"])
        torch.ask(f"inputs:{model}", threads)
        sides = {engine: self.start(ENGINES[engine]) for engine in engines}
        notes = {engine: self.why_not[ENGINES[engine]] for engine, side in sides.items() if side is None}
        for _ in range(rounds):
            took["tenon"].append(self.sides["tenon"].ask(f"run:{model}", threads, times))
            for engine in engines:
                if engine in notes:
                    continue
                try:
                    took.setdefault(engine, []).append(sides[engine].ask(f"{engine}:{model}", threads, times))
                except (Unable, Ended) as error:
                    notes[engine] = str(error)
                    took.pop(engine, None)
        for side in sides.values():
            if side is not None:
                side.close()
        # `emit` judges the second clock.
        took = {name: best(pairs)[::1 if threads == 1 else -1] for name, pairs in took.items() if pairs}
        clocks = {} if threads == 1 else {"clocks": "cpu first"}
        tenon = took.pop("tenon")
        for engine in engines:
            if engine in notes:
                print(json.dumps({"metric": f"run {model}: {engine}", "n": threads, "note": notes[engine]}), flush=True)
            elif engine in took:
                self.emit(f"run {model}: {engine}", threads, tenon, took[engine], None, lambda ratio: True, **clocks)
        if took:
            first = min(took, key=lambda name: took[name][1])
            self.emit(f"run {model}: best peer", threads, tenon, took[first], ">= 1.0x", lambda ratio: ratio >= 1.0,
                      peer_is=first, **clocks)

    def first_result(self, model, goal=20, rounds=3):
        """A fresh process until it has called the program once: Tenon on the hybrid program, Python on the original."""
        source, hybrid = (os.path.join(self.folder, model + end) for end in (".pt2", ".hybrid.pt2"))
        tenon = os.path.join(self.args.build, "tenon")
        subprocess.run([tenon, "export", source, "-o", hybrid, "--backend", "cpu"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        python = subprocess.run([os.path.join(self.args.shared, "oracle/setup.sh"), "torch"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        call = ("import sys, torch; ep = torch.export.load(sys.argv[1]); torch.set_num_threads(1); "
                "args, kwargs = ep.example_inputs; torch.no_grad().__enter__(); ep.module()(*args, **kwargs)")
        inputs, outputs = (os.path.join(self.folder, model + end) for end in (".inputs.safetensors", ".out.safetensors"))
        commands = {"tenon": [tenon, "run", hybrid, "--inputs", inputs, "-o", outputs],
                    "python": [python, "-W", "ignore", "-c", call, source]}
        took, peak = {name: [] for name in commands}, {}
        for _ in range(rounds):
            for name, command in commands.items():
                start = time.perf_counter()
                child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, status, usage = os.wait4(child.pid, 0)
                if status != 0:
                    raise RuntimeError(f"{name} can't run {model}")
                took[name].append(((time.perf_counter() - start) * 1e9, (usage.ru_utime + usage.ru_stime) * 1e9))
                peak[name] = usage.ru_maxrss / 1e3
        self.emit(f"start to first result: {model}", 1, best(took["tenon"]), best(took["python"]), f">= {goal}x",
                  lambda ratio: ratio >= goal, peak_mb=peak, file_mb=round(os.path.getsize(source) / 1e6, 1))

    def tool(self, metric, n, path, goal_ms, goal_mb, *, reps=20):
        """A fresh `tenon info`: its time, and the most memory it held."""
        runs, peak = [], 0
        for _ in range(reps):
            before, start = children_cpu(), time.perf_counter()
            child = subprocess.Popen([os.path.join(self.args.build, "tenon"), "info", path],
                                     stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            if status != 0:
                raise RuntimeError(f"tenon info {path} failed")
            runs.append(((time.perf_counter() - start) * 1e9, (usage.ru_utime + usage.ru_stime) * 1e9))
            peak = max(peak, usage.ru_maxrss / 1e3)
        if goal_ms:
            self.emit(metric, n, best(runs), None, f"<= {goal_ms} ms", lambda value: value <= goal_ms * 1e6)
        self.emit(f"{metric}: peak memory, MB", n, (round(peak, 1),) * 2, None, goal_mb and f"<= {goal_mb} MB",
                  lambda value: not goal_mb or value <= goal_mb)


def with_onnx(python):
    """An environment on top of that one which can export to ONNX; made once."""
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "tenon/peers-onnx")
    inner = os.path.join(folder, "bin/python")
    if not os.path.exists(os.path.join(folder, ".ready")):
        subprocess.run([python, "-m", "venv", folder], check=True)
        packages, own = (subprocess.run([p, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                                        text=True, stdout=subprocess.PIPE).stdout for p in (python, inner))
        with open(os.path.join(own.strip(), "oracle.pth"), "w") as f:
            f.write(packages)
        subprocess.run([inner, "-m", "pip", "install", "-q", "onnxscript"], check=True, stdout=sys.stderr)
        open(os.path.join(folder, ".ready"), "w").close()
    return inner


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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


def pt2(run):
    thousand, megabytes = (300, 10) if run.quick else (1_000, 500)
    for n in (thousand,) if run.quick else (thousand, 5 * thousand):
        run.compare("read_saved", n, "torch", 300)
        run.compare("write_saved", n, "torch", 4)
    for n in (1_000, 10_000) if run.quick else (1_000, 10_000, 100_000, 1_000_000):
        run.bound("read_graph", n, 1_000, per_node=True)
        run.bound("read", n, None, per_node=True)  # with a weight for every other node
    for n in (1_000, 5_000) if run.quick else (1_000, 10_000, 100_000, 500_000):
        run.growth("read_graph", n)
        run.growth("read", n)
    for n in (megabytes // 10, megabytes):
        run.compare("read_weights", n, "torch", 1 / 1.2)  # against safetensors
    run.compare("read_weights", megabytes, "torch", 300, theirs="load_weights")
    run.compare("write_weights", megabytes, "torch", 4)
    run.dd(megabytes, 0.9)
    nodes = os.path.join(run.folder, f"nodes-{thousand}.pt2")
    run.tool("start to info", thousand, nodes, 5, 0)
    # Weights aren't read: a hundredth of them would show.
    weights = os.path.join(run.folder, f"weights-{megabytes}.pt2")
    run.tool("info with weights", megabytes, weights, 5, 0 if run.quick else 40)


# Of the zoo; what ExecuTorch's exporter refuses is a note.
PTE_MODELS = ("mobilenet_v2", "mobilenet_v3", "efficientnet", "resnet18", "convnext", "unet", "swin", "clip",
              "wav2vec", "whisper_encoder", "gpt2_static", "llama_decode")


def pte(run):
    """A program in memory becomes a file; a whole command, from file to file; then both files, called in turns."""
    if (python := run.peer("executorch")) is None:
        raise RuntimeError(run.why_not["executorch"])
    models = run.args.models.split(",") if run.args.models else PTE_MODELS[:3] if run.quick else PTE_MODELS
    for model in models:
        source = os.path.join(run.args.shared, "corpus/pt2/zoo", model + ".pt2")
        shutil.copy(source, os.path.join(run.folder, model + ".pt2"))
        try:
            stock = best([python.ask(f"export_pte:{model}", 1) for _ in range(1 if run.quick else 2)])
        except Unable as error:
            print(json.dumps({"metric": f"export to .pte: {model}", "note": str(error)}), flush=True)
            continue
        side = run.sides["tenon"]
        run.emit(f"export to .pte: {model}", 1, side.ask(f"export_pte:{model}", 1, 20), stock, ">= 1000x",
                 lambda ratio: ratio >= 1000)
        command = [os.path.join(run.args.build, "tenon"), "export", source, "-o",
                   os.path.join(run.folder, model + ".tenon.pte"), "-b", "xnnpack,portable"]
        whole = best([timed(command) for _ in range(5)])
        run.emit(f"export to .pte, whole command: {model}", 1, whole, stock, None, lambda ratio: True)
        for what, goal in (("call", 1.0), ("load", None)):
            took = {"tenon": [], "stock": []}
            for _ in range(2 if run.quick else 5):
                for writer in took:
                    took[writer].append(python.ask(f"{what}_{writer}:{model}", 1, 20))
            run.emit(f"{what} the .pte: {model}", 1, best(took["tenon"]), best(took["stock"]),
                     goal and f">= {goal}x", lambda ratio: goal is None or ratio >= goal)
        run.emit(f"write the .pte; its bytes from one block of memory: {model}", 1,
                 side.ask(f"write_pte:{model}", 1, 50), side.ask(f"copy_pte:{model}", 1, 50), None, lambda ratio: True)


def timed(command):
    """Wall and CPU nanoseconds of a process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command[0]} failed")
    return (time.perf_counter() - start) * 1e9, (usage.ru_utime + usage.ru_stime) * 1e9


# Where each engine lives.
ENGINES = {"eager": "torch", "compile": "torch", "aoti": "torch", "onnx": "onnx", "xnnpack": "executorch"}
CORPUS_MODELS = ("llama_decode", "gpt2_static", "bert", "vit", "resnet18", "mobilenet_v2")
REAL_MODELS = ("chain1000", "mobilenet_v2", "resnet50", "vit_b16", "bert_base", "gpt2_decode", "llama160m_decode")


def make_models(run):
    """The programs in the folder: small ones of the corpus, real sizes from make_models.py."""
    names = run.args.models.split(",") if run.args.models else ()
    small = [m for m in CORPUS_MODELS if not names or f"small_{m}" in names]
    real = [m for m in REAL_MODELS if (m in names if names else not run.quick)]
    for model in small:
        shutil.copy(os.path.join(run.args.shared, "corpus/pt2/zoo", f"{model}.pt2"),
                    os.path.join(run.folder, f"small_{model}.pt2"))
    if real:
        python = subprocess.run([os.path.join(run.args.shared, "oracle/setup.sh"), "torch"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        subprocess.run([python, os.path.join(run.args.shared, "peers/make_models.py"), "--out", run.folder, "--only",
                        ",".join(real)], check=True, stdout=sys.stderr)
        # A fast call that gives something else would be no call.
        subprocess.run([os.path.join(run.args.build, "conformance"), "pt2", os.path.join(run.folder, "manifest.json")],
                       check=True, stdout=sys.stderr)
    return [f"small_{m}" for m in small] + real


def execute(run):
    """One call of each program: Tenon against each engine, and against the best of them."""
    engines = run.args.engines.split(",") if run.args.engines else ENGINES
    for model in make_models(run):
        for threads in (1,) if run.quick else (1, 2):
            run.execute(model, threads, engines)
        run.first_result(model)


GROUPS = {"join": join, "pt2": pt2, "pte": pte, "run": execute}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute instead of many")
    parser.add_argument("--build", default=os.path.join(HERE, "../build/release"))
    parser.add_argument("--folder", help="where to put the files, some times the largest; default: the temporary one")
    parser.add_argument("--models", help="pte: names of the zoo; run: some of them, comma-separated; those of the corpus are small_NAME")
    parser.add_argument("--engines", help="run: some of " + ", ".join(ENGINES))
    parser.add_argument("--shared", default=os.path.join(HERE, "../../shared"))
    run = Run(parser.parse_args())
    try:
        GROUPS[run.args.group](run)
    except RuntimeError as error:
        print(f"peers.py: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(run.folder, ignore_errors=True)
    if run.missed:
        print("missed: " + ", ".join(run.missed), file=sys.stderr)
    return 1 if run.missed else 0


sys.exit(main())
