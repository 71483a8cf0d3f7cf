"""Checks and runs the ONNX models that Tenon exported.

    run_onnx.py FOLDER LINES

FOLDER is what `conformance export-onnx --keep` left there, LINES what it
printed. Every model must pass onnx.checker with full check (types and sizes are
inferred and compared), and ONNX Runtime must give what PyTorch recorded
(programs as a whole, operator calls) or what the reference executor gave
(regions), within the record's tolerance: kinds, sizes and dtypes exactly. Models with an operator for
which ONNX Runtime has no CPU kernel are run by onnx's own reference evaluator.
What onnx_known.tsv lists is counted apart; a line of it that no model shows
fails, so that the list can't go stale. Ends with "N passed, N failed".
"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run_exported import differ, read_arrays  # noqa: E402

TIMEOUT_S = 300
NAMES = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
         "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
         "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}
NO_KERNEL = re.compile("NOT_IMPLEMENTED|Could not find an implementation")


def to_array(dtype, sizes, flat):
    """What read_arrays gave, as numpy has it for ONNX."""
    if dtype == "BF16":
        import ml_dtypes
        return flat.astype(ml_dtypes.bfloat16).reshape(sizes)
    if dtype in NAMES:
        import ml_dtypes
        return flat.view(getattr(ml_dtypes, NAMES[dtype])).reshape(sizes)
    if dtype == "BOOL":
        return flat.astype(bool).reshape(sizes)
    return flat.reshape(sizes)


def from_array(array):
    """(dtype, sizes, flat) as read_arrays gives it."""
    import numpy
    names = {"float64": "F64", "float32": "F32", "float16": "F16",
             "bfloat16": "BF16", "bool": "BOOL", "float8_e4m3fn": "F8_E4M3",
             "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
             "float8_e4m3fnuz": "F8_E4M3FNUZ",
             "float8_e5m2fnuz": "F8_E5M2FNUZ"}
    name = str(array.dtype)
    dtype = names.get(name) or name[0].upper() + re.sub(r"\D", "", name)
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if dtype == "BF16":
        flat = flat.astype(numpy.float32)
    elif dtype == "BOOL" or dtype.startswith("F8"):
        flat = flat.view(numpy.uint8)
    return dtype, list(array.shape), flat


def to_feed(array):
    """An OrtValue, as numpy has no name for some of ONNX's types."""
    import numpy
    import onnxruntime
    if array.dtype.kind != "V" and array.dtype.name in numpy.sctypeDict:
        return array
    from onnx import TensorProto
    types = {"bfloat16": TensorProto.BFLOAT16,
             "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
             "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
             "float8_e5m2": TensorProto.FLOAT8E5M2,
             "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
             "float8_e8m0fnu": TensorProto.FLOAT8E8M0}
    bits = numpy.uint16 if array.dtype.itemsize == 2 else numpy.uint8
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(bits), types[array.dtype.name])


class Known:
    """A line of onnx_known.tsv."""

    def __init__(self, line):
        self.pattern, self.text, self.reason = line.split("\t")
        self.is_asked = self.is_met = False

    def covers(self, model, wrong):
        if not fnmatch.fnmatch(model, self.pattern):
            return False
        self.is_asked = True
        is_it = wrong is not None and self.text in wrong
        self.is_met |= is_it
        return is_it


def read_known(path):
    return [Known(line) for line in path.read_text().splitlines()
            if line and not line.startswith("#")]


class Model:
    """A model in ONNX Runtime, or where that lacks a kernel, in onnx."""

    def __init__(self, path):
        import onnx
        import onnxruntime
        options = onnxruntime.SessionOptions()
        # What is compared is the model, not what an optimiser makes of it.
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.outputs = [o.name for o in onnx.load(
            path, load_external_data=False).graph.output]
        self.path = path
        self.evaluator = None
        try:
            self.session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's own classes
            if not NO_KERNEL.search(str(error)):
                raise
            self.session = None

    def run(self, feeds):
        if self.session is not None:
            try:
                return self.run_session(feeds)
            except RuntimeError as error:
                # It can't hold an array of that dtype.
                if "Creation of OrtValues" not in str(error):
                    raise
                self.session = None
        from onnx.reference import ReferenceEvaluator
        if self.evaluator is None:
            self.evaluator = ReferenceEvaluator(self.path)
        return self.evaluator.run(self.outputs, feeds)

    def run_session(self, feeds):
        binding = self.session.io_binding()
        import onnxruntime
        for name, array in feeds.items():
            value = to_feed(array)
            if not isinstance(value, onnxruntime.OrtValue):
                value = onnxruntime.OrtValue.ortvalue_from_numpy(value)
            binding.bind_ortvalue_input(name, value)
        for name in self.outputs:
            binding.bind_output(name)
        self.session.run_with_iobinding(binding)
        return [value_of(v) for v in binding.get_outputs()]


def value_of(value):
    kind = value.data_type()
    if "bfloat16" in kind or "float8" in kind:
        import ml_dtypes
        import torch
        name = kind[len("tensor("):-1].replace("float8", "float8_")
        tensor = torch.utils.dlpack.from_dlpack(
            value._ortvalue.to_dlpack())
        bits = tensor.view(torch.int16 if name == "bfloat16"
                           else torch.uint8).numpy()
        return bits.view(getattr(ml_dtypes, name))
    return value.numpy()


def check_model(folder, record, model):
    """What is wrong with one model; "" when all is right."""
    import onnx
    path = str(folder / model["onnx"])
    onnx.checker.check_model(path, full_check=True)
    runner = Model(path)
    for run in model["runs"]:
        feeds = {key: to_array(*value) for key, value
                 in read_arrays(folder / run["in"]).items()}
        want = read_arrays(folder / run["want"])
        outputs = runner.run(feeds)
        got = {name: from_array(array) for name, array
               in zip(runner.outputs, outputs) if name in want}
        limits = record if "rtol" in record else model
        wrong = differ(got, want, limits["rtol"], limits["atol"])
        if wrong:
            return f"{run['in']}: {wrong}"
    if runner.session is None:
        print(f"NOKERNEL {model['onnx']}")
    return ""


def check_program(folder, name):
    """Prints a line for each model."""
    record = json.loads((folder / (name + ".json")).read_text())
    for model in record["models"]:
        try:
            wrong = check_model(folder, record, model)
        except Exception as error:  # whatever checker or runtime throw
            wrong = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"FAIL {model['onnx']}: {wrong[:600]}" if wrong
              else f"ok {model['what']} {model['onnx']}", flush=True)


def main():
    if sys.argv[1] == "--programs":
        for name in sys.argv[3:]:
            check_program(Path(sys.argv[2]), name)
        return 0
    folder = Path(sys.argv[1])
    known = read_known(Path(__file__).with_name("onnx_known.tsv"))
    counts = collections.Counter()
    reasons = collections.Counter()
    for line in Path(sys.argv[2]).read_text().splitlines():
        if line.startswith("FAIL "):
            counts["failed"] += 1
            print(line)
        elif line.startswith("SKIP "):
            _, _, reason = line.split(": ", 2)
            reasons[re.sub(r"'[^']*'|\b\d+\b", "_", reason)[:110]] += 1
    names = sorted(p.name[:-len(".json")] for p in folder.glob("*.json"))
    # A crash of the runtime costs the program that caused it.
    while names:
        done = subprocess.run(
            [sys.executable, __file__, "--programs", folder, *names],
            capture_output=True, text=True, timeout=TIMEOUT_S * len(names))
        seen = collections.Counter()
        for line in done.stdout.splitlines():
            word = line.split(" ")[0]
            if word == "FAIL":
                model, wrong = line[len("FAIL "):].split(": ", 1)
                if any([k.covers(model, wrong) for k in known]):
                    counts["known"] += 1
                else:
                    counts["failed"] += 1
                    print(line)
            elif word == "ok":
                _, what, model = line.split(" ")
                counts[what] += 1
                for k in known:
                    k.covers(model, None)
            elif word == "NOKERNEL":
                counts["no kernel"] += 1
            seen[word] += 1
        if done.returncode == 0:
            break
        models = [(name, m["onnx"]) for name in names for m in json.loads(
            (folder / (name + ".json")).read_text())["models"]]
        at = seen["ok"] + seen["FAIL"]
        name, onnx = models[min(at, len(models) - 1)]
        counts["failed"] += 1
        last = (done.stderr.strip().splitlines() or [""])[-1]
        print(f"FAIL {onnx}: status {done.returncode} {last}")
        names = names[names.index(name) + 1:]
    for k in known:
        if k.is_asked and not k.is_met:
            counts["failed"] += 1
            print(f"FAIL {k.pattern}: expected to differ, but doesn't")
    for reason, count in reasons.most_common():
        print(f"refused {count}: {reason}")
    print(f"right: {counts['whole']} programs, {counts['region']} regions, "
          f"{counts['call']} operator calls; "
          f"{counts['no kernel']} of them in onnx's evaluator, for want of a "
          "kernel")
    if counts["known"]:
        print(f"known to differ: {counts['known']}")
    passed = counts["whole"] + counts["region"] + counts["call"]
    print(f"{passed} passed, {counts['failed']} failed, "
          f"{sum(reasons.values())} refused")
    return 1 if counts["failed"] or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
