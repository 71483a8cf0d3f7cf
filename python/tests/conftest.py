"""The hybrid corpus as torch modules. $TENON_SHARED says where it lies."""

import json
import os
import pathlib
import sys

import pytest
import torch
import torch.fx as fx

SHARED = pathlib.Path(os.environ.get("TENON_SHARED", pathlib.Path(__file__).parents[3] / "shared")).resolve()
CORPUS = SHARED / "corpus" / "hybrid"
sys.path.insert(0, str(CORPUS / "tools"))

import hybrid_lib  # noqa: E402

torch.set_num_threads(1)


def cases(expect):
    paths = sorted(CORPUS.glob("*.json"))
    return [p.stem for p in paths if json.loads(p.read_text())["expect"] == expect]


def mark_engines(gm):
    """The corpus says in `meta` which children are engines; the package, in attributes."""
    for module in gm.modules():
        if isinstance(module, fx.GraphModule) and module.meta.get("backend") not in (None, "branch"):
            module.tenon_backend = module.meta["backend"]
            module.tenon_aliases = [(a["output"], a["input"], a["kind"]) for a in module.meta.get("aliases", [])]
    return gm


def load(name, with_vals=True):
    """(case, GraphModule, tensors); nodes have meta["val"] from the first run."""
    case, gm, tensors = hybrid_lib.load_case(str(CORPUS / f"{name}.json"))
    if with_vals:
        args, kwargs = hybrid_lib.run_io(case["runs"][0], tensors)
        hybrid_lib.propagate(gm, hybrid_lib.flatten_inputs(gm, args, kwargs), dynamic_dims(case))
    return case, mark_engines(gm), tensors


def dynamic_dims(case):
    """{placeholder: {dimension: symbol}}"""
    out = {}
    for node in case["graph"]["nodes"]:
        val = node.get("val")
        if node["op"] == "placeholder" and isinstance(val, dict):
            dims = {i: d for i, d in enumerate(val.get("shape", [])) if isinstance(d, str)}
            if dims:
                out[node["target"]] = dims
    return out


def first_call(case, tensors):
    return hybrid_lib.run_io(case["runs"][0], tensors)


@pytest.fixture
def lib():
    return hybrid_lib
