"""Engines in programs that PyTorch holds: the operator `tenon::engine_call`.

An engine from outside has a payload and no graph, so PyTorch can't run it by
itself. In an ExportedProgram its call is an operator whose first operand is the
payload, a constant tensor of bytes: it travels with torch.export.save, and its
second operand says what the engine is and what it returns. A process that has
imported tenon_pt2 loads and exports such programs; to run them, it names what
runs the backend's payloads:

    @tenon_pt2.register_engine("my_backend")
    def run(payload, inputs, engine): ...
"""

import ast
import json
import operator

import torch

from ._errors import fail

_runners = {}


def register_engine(backend, run=None):
    """Says what runs payloads of `backend`.

    `run(payload, inputs, engine)` gets the payload as a uint8 tensor, the inputs by
    position, and a dict with the engine's name, bindings and output types; it
    returns its outputs by position. It must not write its inputs: what the engine
    declares as written in place comes back as an output, and is copied.
    """
    if run is None:
        return lambda f: register_engine(backend, f)
    _runners[backend] = run
    return run


_library = torch.library.Library("tenon", "FRAGMENT")
_library.define("engine_call(Tensor payload, str engine, Tensor[] inputs) -> Tensor[]")


@torch.library.impl(_library, "engine_call", "CompositeExplicitAutograd")
def _run(payload, engine, inputs):
    stated = json.loads(engine)
    run = _runners.get(stated["backend"])
    if run is None:
        raise RuntimeError(
            f"nothing runs engine '{stated['name']}': call tenon_pt2.register_engine('{stated['backend']}', ...)"
        )
    outputs = list(run(payload, list(inputs), stated))
    if len(outputs) != len(stated["outputs"]):
        raise RuntimeError(
            f"engine '{stated['name']}' gave {len(outputs)} outputs, expected {len(stated['outputs'])}"
        )
    taken = {t.untyped_storage()._cdata for t in inputs}
    for i, (out, (dtype, _, _)) in enumerate(zip(outputs, stated["outputs"])):
        if out.dtype != getattr(torch, dtype):
            raise RuntimeError(f"output {i} of engine '{stated['name']}' is {out.dtype}, expected {dtype}")
        if out.untyped_storage()._cdata in taken:
            outputs[i] = out.clone()
        taken.add(outputs[i].untyped_storage()._cdata)
    return outputs


@torch.library.register_fake("tenon::engine_call", lib=_library)
def _describe(payload, engine, inputs):
    stated = json.loads(engine)
    # A size that is a symbol takes its value from the inputs.
    sizes = {}
    for tensor, (_, shape, _) in zip(inputs, stated["inputs"]):
        for size, stated_size in zip(tensor.shape, shape):
            if isinstance(stated_size, str):
                sizes.setdefault(stated_size, size)
    return [
        torch.empty([_size(s, sizes) for s in shape], dtype=getattr(torch, dtype), device=device)
        for dtype, shape, device in stated["outputs"]
    ]


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _size(text, sizes):
    """An integer expression over symbols, without evaluating it as code."""
    if isinstance(text, int):
        return text

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        text = ast.unparse(node)
        if text in sizes:
            return sizes[text]
        raise RuntimeError(f"size '{text}' of an engine's output isn't known from its inputs")

    if text in sizes:
        return sizes[text]
    return value(ast.parse(text, mode="eval"))


def calls(delegates, make_val, taken_names):
    """What the native side makes of a delegate's calls, one entry per delegate.

    Returns the entries and the payloads as constants by name.
    """
    entries, constants = [], {}
    for d in delegates:
        if any(t is None for t in (*d["inputs"], *d["outputs"])):
            fail("D-5", d["name"], "an engine gets or gives a scalar, which tenon::engine_call can't pass")
        stated = {k: d[k] for k in ("name", "backend", "inputs", "outputs", "input_names", "output_names", "writes")}
        fqn = base = "payload_" + "".join(c if c.isalnum() else "_" for c in d["name"])
        count = 0
        while fqn in taken_names or fqn in constants:
            count += 1
            fqn = f"{base}_{count}"
        data = bytearray(d["payload"])
        payload = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
        constants[fqn] = payload
        val = make_val(torch.uint8, list(payload.shape), [1], "cpu", False)
        entries.append((torch.ops.tenon.engine_call.default, json.dumps(stated), fqn, val))
    return entries, constants
