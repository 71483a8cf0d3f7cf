"""Exports programs for the stock TensorRT and CUDA delegates and runs them.

    python check.py BUILD WHEEL WORK SAMPLES

Each case says what is exported how, and what has to come of it: PyTorch's
results, the copies that the CUDA double counts, or a refusal and its reason.
Ends with "N passed, N failed".
"""

import json
import os
import re
import subprocess
import sys

import torch

import models

build, wheel, work, samples = sys.argv[1:5]
here = os.path.dirname(os.path.abspath(__file__))
stock = os.path.join(build, "test/stock")
tenon = os.path.join(build, "tenon")
builder = os.path.join(stock, "tenon_engine_builder")
ALL = "tensorrt,cuda,portable"

passed, failed, jobs = 0, 0, []


def verdict(name, why):
    global passed, failed
    if why:
        failed += 1
        print(f"FAIL {name}: {why}")
    else:
        passed += 1


def export(name, model, backends, options=(), variant=""):
    """Exit status and both outputs of tenon export."""
    path = f"{work}/{name}.pte"
    command = [tenon, "export", f"{work}/{model}.pt2", "-o", path, "--backend",
               backends, *options]
    if "tensorrt" in backends and "--engine" not in options:
        command += ["--engine-builder", builder]
    env = dict(os.environ, TENON_STOCK_ENGINE=variant)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def runs(name, model, backends, options=(), variant="", report=(), counts=None,
         wrong=False, refusal=None, calls=None, executor=True, change=None):
    """A case whose file is written; what comes of running it is judged later.

    report: what the export has to say. counts: of the CUDA double. wrong: the
    results must not be PyTorch's. refusal: what the runtime has to say.
    """
    status, text = export(name, model, backends, options, variant)
    if status != 0:
        return verdict(name, f"isn't exported: {text}")
    moved = bytes_per_call(text)
    for part in report:
        if not re.search(part, text):
            return verdict(name, f"the report doesn't say '{part}':\n{text}")
    pte = f"{work}/{name}.pte"
    done = subprocess.run([tenon, "verify", pte], capture_output=True,
                          text=True)
    if done.returncode != 0:
        return verdict(name, f"tenon verify: {done.stdout}{done.stderr}")
    if change:
        data = open(pte, "rb").read()
        assert data.count(change[0]) > 0 and len(change[0]) == len(change[1])
        hole = bytes(range(200, 200 + len(change[0])))
        assert hole not in data
        data = data.replace(change[0], hole).replace(change[1], change[0])
        open(pte, "wb").write(data.replace(hole, change[1]))
    if calls is not None:
        torch.save(calls, f"{work}/{name}.calls")
    add_job(name, pte, model if calls is None else name,
            f"{work}/{model}.want", counts, wrong, refusal, executor,
            None if model in ("batch", "unbounded") else moved)


def bytes_per_call(text):
    """To the device and back at every call, and once, by the report."""
    per_call = re.search(r"per call: .* device, (\d+) bytes?, .* back, "
                         r"(\d+) bytes?", text)
    first = re.search(r"first call: (\d+) bytes?", text)
    return ([int(n) for n in per_call.groups()] if per_call else [0, 0]) + [
        int(first[1]) if first else 0]


def add_job(name, pte, calls, want, counts=None, wrong=False, refusal=None,
            executor=True, moved=None):
    base = f"{work}/{name}"
    jobs.append({"name": name, "pte": pte, "calls": f"{work}/{calls}.calls",
                 "out": base + ".out", "log": base + ".log",
                 "report": base + ".report", "want": want, "counts": counts,
                 "wrong": wrong, "refusal": refusal, "executor": executor,
                 "moved": moved})


def refused(name, model, backends, reason, options=(), variant=""):
    """A case of which nothing may be written."""
    status, text = export(name, model, backends, options, variant)
    if status == 0 or os.path.exists(f"{work}/{name}.pte"):
        return verdict(name, f"is exported: {text}")
    verdict(name, "" if re.search(reason, text) else
            f"the error doesn't say '{reason}':\n{text}")


def differs(got, want):
    for i, (g, w) in enumerate(zip(got, want)):
        if len(g) != len(w):
            return f"call {i} has {len(g)} results"
        for j, (a, b) in enumerate(zip(g, w)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return (f"call {i}, result {j} is {a.dtype} {list(a.shape)}, "
                        f"not {b.dtype} {list(b.shape)}")
            if not torch.allclose(a, b, rtol=1e-4, atol=1e-5):
                return f"call {i}, result {j} differs"
    return "" if len(got) == len(want) else "calls are missing"


def judge(job):
    got = torch.load(job["out"])
    log = open(job["log"]).read()
    if job["refusal"]:
        if not isinstance(got, str):
            return "it runs"
        return "" if re.search(job["refusal"], log + got) else (
            f"the log doesn't say '{job['refusal']}':\n{log[-2000:]}")
    if isinstance(got, str):
        return f"{got}\n{log[-2000:]}"
    why = differs(got, torch.load(job["want"]))
    if job["wrong"]:
        return "" if why else "the results are PyTorch's all the same"
    if job["name"] == "llama" and not why:
        tokens = [[call[0].argmax().item() for call in calls]
                  for calls in (got, torch.load(job["want"]))]
        why = "" if tokens[0] == tokens[1] else f"tokens are {tokens}"
    if why:
        return why
    report = json.load(open(job["report"]))
    if job["moved"]:
        to_device, to_host, once = job["moved"]
        stated = [to_device * len(got) + once, to_host * len(got), 0]
        counted = [report[kind]["bytes"] for kind in
                   ("host_to_device", "device_to_host", "device_to_device")]
        if counted != stated:
            return f"{counted} bytes were copied, the report says {stated}"
    if job["counts"] is None:
        return ""
    counted = {kind: (report[kind]["copies"], report[kind]["bytes"])
               for kind in job["counts"]}
    if counted != job["counts"]:
        return f"copies and bytes are {counted}, not {job['counts']}"
    return "" if report["refused"] == 0 else "copies were refused"


def run_jobs():
    torch_libraries = os.path.join(os.path.dirname(torch.__file__), "..",
                                   "nvidia", "cu13", "lib")
    for executor in (True, False):
        some = [job for job in jobs if job["executor"] == executor]
        path = f"{work}/jobs.json"
        json.dump(some, open(path, "w"))
        preload = [f"{stock}/libtenon_host_cuda.so"]
        if executor:
            preload.append(f"{stock}/libtenon_region_executor.so")
        env = dict(os.environ, LD_PRELOAD=":".join(preload),
                   LD_LIBRARY_PATH=f"{stock}:{torch_libraries}")
        subprocess.run([sys.executable, f"{here}/run_files.py", wheel, path],
                       env=env, check=True)
    for job in jobs:
        if os.path.exists(job["out"]):
            verdict(job["name"], judge(job))
        else:
            verdict(job["name"], "it didn't run")


def one_region_cases():
    """One backend takes all of a program."""
    for backend in ("tensorrt", "cuda"):
        only = f"{backend},portable"
        host = "TensorRTBackend" if backend == "tensorrt" else "CudaBackend"
        runs(f"mlp_{backend}", "mlp", only, report=[f"region_0 .{host}"],
             counts={"host_to_device": (2, 132), "device_to_host": (2, 192),
                     "device_to_device": (0, 0)})
        # 4 steps: a row and a position go in, a result comes out; the cache
        # moves once.
        runs(f"cache_{backend}", "cache", only,
             report=["k: stays on cuda:0"],
             counts={"host_to_device": (9, 4 * 40 + 256),
                     "device_to_host": (4, 4 * 64),
                     "device_to_device": (0, 0)})
        runs(f"decay_{backend}", "decay", only,
             report=["s: stays on cuda:0"],
             counts={"host_to_device": (5, 4 * 60 + 60),
                     "device_to_host": (4, 4 * 20),
                     "device_to_device": (0, 0)})
        runs(f"old_state_{backend}", "old_state", only,
             report=["s: stays on cuda:0"])
        runs(f"late_reader_{backend}", "late_reader", only,
             ["--deny", "aten.sigmoid"],
             report=["s: 32 bytes, made by region"])
        runs(f"batch_{backend}", "batch", only)
        runs(f"half_{backend}", "half", only)
        refused(f"unbounded_{backend}", "unbounded", only,
                "no upper bound.*V-PTE-32")
        runs(f"bounded_{backend}", "unbounded", only, ["--bound", "s77=4"])


def composed_cases():
    """Several backends in one file."""
    runs("mlp_all", "mlp", ALL, ["--deny", "tensorrt:aten.sigmoid"],
         report=["region_0 .TensorRT", "region_1 .Cuda"],
         counts={"host_to_device": (2, 132), "device_to_host": (2, 192),
                 "device_to_device": (0, 0)})
    runs("mlp_with_kernel", "mlp", ALL,
         ["--deny", "tensorrt:aten.sigmoid", "--deny", "cuda:aten.sigmoid"],
         report=["region_1 .TensorRT"])
    runs("two_writers", "two_writers", ALL,
         ["--deny", "aten.sigmoid", "--deny", "tensorrt:aten.mul"],
         report=["k: stays on cuda:0", "region_0 .TensorRT", "Cuda"],
         counts={"host_to_device": (4 * 3 + 1, 4 * 104 + 256),
                 "device_to_device": (0, 0)})
    runs("twice_cuda", "twice", "cuda,portable", ["--deny", "aten.sigmoid"],
         report=["region_1 .Cuda"])
    runs("twice_tensorrt", "twice", "tensorrt,portable",
         ["--deny", "aten.sigmoid"], report=["region_1 .TensorRT"])
    # Regions that TensorRT doesn't get are the next backend's (D-7).
    runs("no_engine", "mlp", ALL, variant="none",
         report=["region_0 isn't for backend tensorrt", "region_0 .Cuda"])
    runs("llama", "llama", ALL,
         ["--deny", "tensorrt:aten.silu", "--deny", "tensorrt:aten.sigmoid",
          "--deny", "cuda:aten.embedding", "--deny", "tensorrt:aten.embedding"],
         report=["TensorRT", "Cuda", "cache_k0: stays on cuda:0",
                 "cache_v1: stays on cuda:0"])


def engine_cases():
    """Engines that are none of the region's, or say something else of it."""
    only = "tensorrt,portable"
    runs("plain_plan", "mlp", only, variant="plain")
    # Without aliases the cache is copied back, and the report says so.
    runs("plain_cache", "cache", only, variant="plain",
         report=["k: 256 bytes, made by region"],
         counts={"host_to_device": (12, 4 * 296),
                 "device_to_host": (8, 4 * 320), "device_to_device": (0, 0)})
    note = {"swapped_names": "bindings are out of order.*TRT-02",
            "arity": "binds 2 outputs, the region has 1|has 2.*TRT-02",
            "wrong_alias": "writes output 'output_0' over input 'input_0'|"
                           "TRT-03"}
    for variant, reason in note.items():
        runs(f"engine_{variant}", "swapped", only, variant=variant,
             report=["region_0 isn't for backend tensorrt: ",
                     "region_0 stays with the kernels"])
    runs("kind_user", "cache", only, variant="kind_user",
         report=["k: stays on cuda:0"],
         counts={"host_to_device": (9, 416), "device_to_host": (4, 256),
                 "device_to_device": (0, 0)})
    runs("kind_cache", "decay", only, variant="kind_cache",
         report=["isn't for backend tensorrt: .*kv_cache_update"])
    # What only the runtime can see.
    runs("silent_alias", "cache", only, variant="silent_alias",
         refusal="disagrees with the engine")
    runs("narrow_profile", "batch", only, variant="narrow_profile",
         refusal="profile|outside|InvalidArgument|0x12")
    runs("beyond_profile", "batch", only, calls=[(torch.randn(7, 4),)],
         refusal="0x|resize|bound")
    # Swapped in the file alone, names of bindings change the results.
    runs("swapped_in_file", "swapped", only, wrong=True,
         change=(b'"name":"input_0"', b'"name":"input_1"'))


def engine_files():
    """Engines as files: what the builder makes, taken out of a .pte."""
    runs("built", "mlp", "tensorrt,portable")
    data = open(f"{work}/built.pte", "rb").read()
    at = data.index(b"TR01")
    engine_at = int.from_bytes(data[at + 12:at + 16], "little")
    size = int.from_bytes(data[at + 16:at + 24], "little")
    for name, begin in (("container", at), ("plan", at + engine_at)):
        path = f"{work}/{name}.engine"
        open(path, "wb").write(data[begin:at + engine_at + size])
        runs(f"file_{name}", "mlp", "tensorrt,portable",
             ["--engine", f"region_0={path}"], report=["region_0 .TensorRT"])


def cuda_cases():
    """What the library says itself."""
    runs("no_executor", "mlp", "cuda,portable", executor=False,
         refusal="carries no GPU code")
    runs("damaged_region", "mlp", "cuda,portable",
         change=(b"TENONRGN\x01", b"TENONRGN\x02"), refusal="version 2")
    runs("damaged_digest", "mlp", "cuda,portable",
         change=(b"tenon-region 1 device", b"tenon-region 2 device"),
         refusal="digest")


def sample_cases():
    """Files of the stock exporters, where they lie beside the project."""
    library = f"{build}/cuda/libtenon_delegate.so"
    size = os.path.getsize(library)
    verdict("library of at most 1 MB", "" if size <= 1 << 20 else f"{size}")
    needed = subprocess.run(["readelf", "-d", library], capture_output=True,
                            text=True).stdout
    has_torch = re.search(r"NEEDED.*(torch|nvrtc|c10)", needed)
    verdict("library without torch and NVRTC", has_torch and needed)
    if not os.path.isdir(samples):
        return
    for name in ("two", "alias", "inplace"):
        done = subprocess.run([tenon, "verify", f"{samples}/{name}.pte"],
                              capture_output=True, text=True)
        verdict(f"sample {name}", done.returncode and done.stderr + done.stdout)
    for name in ("bad_kind",):
        done = subprocess.run([tenon, "verify", f"{samples}/{name}.pte"],
                              capture_output=True, text=True)
        text = done.stdout + done.stderr
        verdict(f"sample {name}",
                "" if done.returncode and "TRT-03" in text else text)


models.save_all(work)
one_region_cases()
composed_cases()
engine_cases()
engine_files()
cuda_cases()
sample_cases()
run_jobs()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
