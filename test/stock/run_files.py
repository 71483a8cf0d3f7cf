"""Runs .pte files in the stock runtime, under the doubles: one process a file.

    LD_LIBRARY_PATH=DOUBLES LD_PRELOAD=libtenon_host_cuda.so:... \
      python run_files.py WHEEL JOBS.json

WHEEL is the unzipped wheel torch-tensorrt-executorch-runtime. A job is
{"pte": FILE, "calls": FILE, "out": FILE, "log": FILE, "report": FILE}: calls is
a list of argument tuples for torch.load, out gets the list of results, or the
text of the error, and report what the CUDA double counted. Processes are forked
from one that has torch, as loading it takes most of the time.
"""

import glob
import importlib.util
import json
import os
import sys
import types

import torch

wheel, jobs = sys.argv[1:3]


def load_extension(name, pattern):
    folder = os.path.join(wheel, "torch_tensorrt_executorch_runtime")
    path = glob.glob(os.path.join(folder, pattern))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_runtime():
    # The package itself wants a GPU and TensorRT's own packages.
    for name in ("executorch", "executorch.extension",
                 "executorch.extension.pybindings"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    load_extension("executorch.extension.pybindings.data_loader",
                   "data_loader*.so")
    return load_extension("_portable_lib", "_portable_lib*.so")


def run(job):
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["TENON_HOST_CUDA_REPORT"] = job["report"]
    calls = torch.load(job["calls"])
    data = open(job["pte"], "rb").read()  # must outlive the module
    try:
        module = runtime._load_for_executorch_from_buffer(data)
        results = []
        for call in calls:
            outputs = module.run_method("forward", tuple(call))
            results.append([o.clone() if isinstance(o, torch.Tensor) else o
                            for o in outputs])
    except RuntimeError as error:
        results = str(error)
    torch.save(results, job["out"])


runtime = load_runtime()
for job in json.load(open(jobs)):
    child = os.fork()
    if child == 0:
        run(job)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0 and not os.path.exists(job["out"]):
        torch.save(f"the process ended with status {status}", job["out"])
