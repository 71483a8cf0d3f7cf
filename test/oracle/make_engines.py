#!/usr/bin/env python3
"""Writes test/data/tensorrt: programs and objects with engines, by PyTorch.

  make_engines.py program OUT             OUT/engine_object.pt2
  make_engines.py objects OUT WHEEL SHIM  OUT/*.pkl, OUT/*.b64
  make_engines.py read FILE               prints a .pt2's records, and runs it

WHEEL is Torch-TensorRT 2.14.0's, SHIM the folder of shim.py, which imports its
Python without TensorRT. For the others engine_class.cc is built, with $CXX;
both define the operator, so one process can't do all.
"""
import base64
import os
import pickle
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import torch

PLAN = b"ftrt\x00\x01\xfe\xff plan of no engine"
RECORD = ["10", "_run_on_acc_0_engine", "0%9%0%0%NVIDIA H200", PLAN, "x%y",
          "output0%output1", "0", "bWV0YQ==", "linux_x86_64", "0", "0", "0", ""]


def encoded(record):
    return record[:3] + [base64.b64encode(record[3]).decode()] + record[4:]


def load_class(folder):
    root = Path(torch.__file__).parent
    out = os.path.join(folder, "libengine.so")
    source = Path(__file__).with_name("engine_class.cc")
    subprocess.run(
        [os.environ.get("CXX", "g++"), "-O0", "-std=c++20", "-shared", "-fPIC",
         f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include",
         str(source), f"-L{root}/lib", "-ltorch", "-ltorch_cpu", "-lc10",
         "-o", out], check=True)
    torch.classes.load_library(out)

    @torch._library.register_fake_class("tensorrt::Engine")
    class FakeEngine:
        @classmethod
        def __obj_unflatten__(cls, flat):
            return cls()

    @torch.library.register_fake("tensorrt::execute_engine")
    def fake(inputs, engine):
        return [torch.empty_like(inputs[0]), torch.empty_like(inputs[0])]

    lib = torch.library.Library("tensorrt", "IMPL")
    lib.impl("execute_engine", lambda i, e: [i[0] + i[1], i[0] * 2],
             "CompositeExplicitAutograd")
    return lib


def make_program(path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.engine = torch.classes.tensorrt.Engine(encoded(RECORD))

        def forward(self, x, y):
            a, b = torch.ops.tensorrt.execute_engine([x, y], self.engine)
            return a.relu() + b

    # Two tensors: one that is passed twice would become one input.
    inputs = (torch.zeros(2, 3), torch.zeros(2, 3))
    program = torch.export.export(Model(), inputs)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    program._example_inputs = None
    torch.export.save(program, path)


def make_python_objects(wheel, shim_folder, out):
    sys.path.insert(0, shim_folder)
    sys.modules.setdefault("psutil", types.ModuleType("psutil"))
    import shim
    shim.load(wheel)
    import sympy
    from torch.utils._sympy.functions import FloorDiv
    from torch_tensorrt.dynamo._settings import CompilationSettings
    from torch_tensorrt.dynamo.runtime import _TRTEngine as module

    engine = module.TRTEngine.__new__(module.TRTEngine)
    engine.serialized_info = RECORD
    module.TRTEngine.__del__ = lambda self: None
    (out / "engine_python.pkl").write_bytes(pickle.dumps(engine, protocol=2))
    serializer = module.EngineSerializer(list(RECORD))
    (out / "engine_serializer.pkl").write_bytes(pickle.dumps(serializer))
    s = sympy.Symbol("s0", positive=True, integer=True)
    metadata = {
        "settings": CompilationSettings(),
        "inout_symexprs": {
            "inputs": [
                {"shape_exprs": [s, 3], "dtype": torch.float32, "name": "x"},
                {"shape_exprs": [], "dtype": torch.int64, "name": "n",
                 "is_scalar": True}],
            "outputs": [{"shape_exprs": [FloorDiv(s * 2, 3)],
                         "dtype": torch.float16}]},
        "output_tensors_are_unowned": False}
    text = base64.b64encode(pickle.dumps(metadata)).decode()
    (out / "engine_metadata.b64").write_text(text)


def read(path):
    program = torch.export.load(path)
    for name, value in program.constants.items():
        if isinstance(value, torch.ScriptObject):
            print(name, value.record())
    x, y = torch.full((2, 3), 2.0), torch.full((2, 3), -5.0)
    print(program.module()(x, y).flatten().tolist())


def main():
    verb, path = sys.argv[1:3]
    if verb == "objects":
        make_python_objects(sys.argv[3], sys.argv[4], Path(path))
        return
    with tempfile.TemporaryDirectory() as folder:
        library = load_class(folder)
        if verb == "program":
            make_program(os.path.join(path, "engine_object.pt2"))
        else:
            read(path)
        del library  # its kernel lives as long


if __name__ == "__main__":
    main()
