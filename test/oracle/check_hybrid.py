"""What real PyTorch makes of hybrid graphs that Tenon joined.

    python check_hybrid.py TENON FOLDER

For every NAME.json of FOLDER (encoding hybrid-1) that must be accepted: `tenon
join --inline` writes a .pt2, torch.export.load opens it, and every recorded
call gives the recorded result, structure included, and leaves state and inputs
as recorded. Calls of torch's own module: in-place writes and mutations of the
signature both count. Ends with "N passed, N failed".
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file


def decode(value, tensors):
    (tag, v), = value.items()
    if tag == "t":
        return tensors[v].clone()
    if tag == "tuple":
        return tuple(decode(x, tensors) for x in v)
    if tag == "list":
        return [decode(x, tensors) for x in v]
    if tag == "dict":
        return {k: decode(x, tensors) for k, x in v}
    if tag == "f" and isinstance(v, str):
        return float(v)
    return v


def differ(got, want, tol, where="result"):
    """"" when equal, else what differs."""
    if isinstance(want, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"{where}: {type(got).__name__} instead of a tensor"
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{where}: {got.dtype}{tuple(got.shape)} instead of {want.dtype}{tuple(want.shape)}"
        return "" if torch.allclose(got, want, tol, tol, equal_nan=True) else f"{where}: other values"
    if isinstance(want, (tuple, list)):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{where}: {type(got).__name__} instead of {type(want).__name__} of {len(want)}"
        return next(filter(None, (differ(g, w, tol, f"{where}.{i}")
                                  for i, (g, w) in enumerate(zip(got, want)))), "")
    if isinstance(want, dict):
        if type(got) is not dict or list(got) != list(want):
            return f"{where}: keys {got.keys() if isinstance(got, dict) else got} instead of {list(want)}"
        return next(filter(None, (differ(got[k], want[k], tol, f"{where}.{k}") for k in want)), "")
    return "" if type(got) is type(want) and got == want else f"{where}: {got!r} instead of {want!r}"


def check_runs(case, tensors, path):
    program = torch.export.load(path)
    module = program.module(check_guards=False)
    state = {**dict(module.named_parameters(remove_duplicate=False)),
             **dict(module.named_buffers(remove_duplicate=False))}
    tol = case.get("tol", 0)
    for i, run in enumerate(case["runs"]):
        args, kwargs = decode(run["args"], tensors), decode(run["kwargs"], tensors)
        before = {k: v.detach().clone() for k, v in state.items()}
        # torch takes keyword arguments only where the spec has them.
        spec = program.call_spec.in_spec
        names = [n for n in (list(kwargs))]
        if case["in_spec"] is None and names:
            kwargs_spec = spec.child(1)
            positional = [n for n in names if n not in (kwargs_spec.context or [])]
            if positional:
                return f"run {i}: torch can't pass {positional} by keyword"
        with torch.no_grad():
            got = module(*args, **kwargs)
        why = differ(got, decode(run["result"], tensors), tol)
        if why:
            return f"run {i}: {why}"
        after = {k: tensors[v] for k, v in run.get("state_after", {}).items()}
        for name, value in before.items():
            why = differ(state[name].detach(), after.get(name, value), tol, f"state {name}")
            if why:
                return f"run {i}: {why}"
        leaves = torch.utils._pytree.tree_leaves((args, kwargs), is_leaf=lambda x: x is None)
        want = torch.utils._pytree.tree_leaves(
            (decode(run["args"], tensors), decode(run["kwargs"], tensors)), is_leaf=lambda x: x is None)
        for leaf, key in run.get("inputs_after", []):
            want[leaf] = tensors[key]
        for leaf, (g, w) in enumerate(zip(leaves, want)):
            why = differ(g, w, tol, f"input {leaf} afterwards")
            if why:
                return f"run {i}: {why}"
    return ""


def check(tenon, path, folder):
    case = json.loads(path.read_text())
    if case["expect"] != "ok":
        return None
    out = f"{folder}/{path.stem}.pt2"
    done = subprocess.run([tenon, "join", str(path), "-o", out, "--inline"], capture_output=True, text=True)
    if done.returncode != 0:
        return "tenon join: " + done.stderr.strip().replace("\n", " ")
    try:
        return check_runs(case, load_file(path.parent / case["tensors"]), out)
    except Exception as error:  # torch raises anything
        return f"{type(error).__name__}: {error}".splitlines()[0]


def main():
    tenon, folder = sys.argv[1:3]
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            why = check(tenon, path, work)
            if why is None:
                continue
            if why:
                failed += 1
                print(f"FAIL {path.stem}: {why}", flush=True)
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
