"""The package's two functions."""

import gc
import os

import torch
import torch.fx as fx

from . import _engines, _graph, _native, _program, _propagate, _specs, _symbols
from ._errors import fail


def join(gm, args=(), kwargs=None, *, dynamic_shapes=None):
    """The hybrid graph as one program.

    `gm` calls GraphModules and engine modules as children. Each child is put where
    it is called, by position; state becomes part of the signature; what is written
    in place is declared; and the result has been proved to have the hybrid graph's
    wiring digest. `gm` is not changed, and no weight is copied.

    `args` and `kwargs` are an example call. Needed where `gm` states no calling
    convention of its own and is to have another than one positional argument per
    placeholder, or where its nodes have no meta["val"]. With `dynamic_shapes`, as
    torch.export.export takes them, sizes vary.

    Raises TenonError, with the rule and the node, when `gm` breaks a rule.
    """
    # Thousands of objects are made and all are kept: looking for garbage among them
    # meanwhile would take longer than making them.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        document, ranges = _document(gm, args, kwargs, dynamic_shapes)
        return _exported(gm, document, ranges, args, kwargs)
    finally:
        if was_collecting:
            gc.enable()


def save(gm, path, args=(), kwargs=None, *, dynamic_shapes=None):
    """Joins like `join` and writes the program as .pt2, without building it in Python.

    Engines stay engines: payloads lie in the file as they are, and a child that has
    both payload and graph keeps the graph as the engine's meaning. A file without
    engines is opened by torch.export.load. The file is read back and proved before
    it gets its name. Returns the wiring digest.
    """
    document, _ = _document(gm, args, kwargs, dynamic_shapes)
    joined = _native.Joined(document, False)
    joined.write(os.fspath(path), _metadata(), torch.__version__.split("+")[0])
    return joined.digest


def _document(gm, args, kwargs, dynamic_shapes):
    if not isinstance(gm, fx.GraphModule):
        fail("T-USAGE", "", f"expected a torch.fx.GraphModule, found {type(gm).__name__}")
    args, kwargs = tuple(args), dict(kwargs or {})
    in_spec, out_spec = _specs.specs_of(gm)
    has_example = bool(args or kwargs)
    document, vals, ranges = None, None, {}
    if dynamic_shapes is None:
        document = _native.Document(gm, None)
    if document is None or (document.num_missing_vals > 0 and has_example):
        vals, ranges = _propagate.propagate(gm, args, kwargs, in_spec, dynamic_shapes)
        document = _native.Document(gm, vals)
    if in_spec is not None:
        document.add_member("in_spec", _specs.spec_text(in_spec))
        document.add_member("out_spec", _specs.spec_text(out_spec))
    elif has_example:
        document.add_example(args, kwargs)
    symbolic = document.symbolic
    if symbolic:
        document.add_member("dims", _symbols.dims_text(_symbols.symbols_in(symbolic), ranges))
    document.finish()
    document.vals = vals
    return document, ranges


def _exported(gm, document, ranges, args, kwargs):
    joined = _native.Joined(document, True)
    symbolic = document.symbolic
    symbols = _symbols.symbols_in(symbolic)
    mode = _symbols.fake_mode_of(_vals_of(gm, document.vals))
    make_val = _symbols.ValueMaker(mode, symbolic, symbols)
    state_dict, constants = {}, {}
    for fqn, kind, tensor in joined.state:
        (state_dict if kind in ("parameter", "buffer") else constants)[fqn] = tensor
    engines, payloads = (), {}
    delegates = joined.delegates()
    if delegates:
        engines, payloads = _engines.calls(delegates, make_val, state_dict.keys() | constants.keys())
    graph, modules, inputs, outputs = joined.build(
        fx.Graph, _graph.new_module, make_val, _graph.ILLEGAL_NAMES, _graph.is_direct(), engines
    )
    constants.update(payloads)
    in_spec, out_spec = _specs.specs_of(gm)
    names = joined.forward_arg_names
    if in_spec is not None:
        names = _specs.argument_names(gm)
    else:
        in_spec, out_spec = _specs.spec_of(joined.in_spec), _specs.spec_of(joined.out_spec)
    example = None
    if args or kwargs:
        example = _specs.in_order_of((tuple(args), dict(kwargs or {})), in_spec)
    return _program.program(
        _graph.new_module(graph, modules),
        _program.signature(graph, inputs, outputs),
        state_dict,
        constants,
        _symbols.range_constraints(joined.ranges, symbols),
        in_spec,
        out_spec,
        names,
        example,
    )


def _vals_of(gm, vals):
    """meta["val"] of the nodes, inputs first."""
    if vals:
        yield from vals.values()
    for module in gm.modules():
        if isinstance(module, fx.GraphModule):
            for node in module.graph.nodes:
                yield node.meta.get("val")


def _metadata():
    """What torch.export.save keeps of a node's metadata, as text by key."""
    from torch._export.serde.serialize import GraphModuleSerializer

    serializer = GraphModuleSerializer.__new__(GraphModuleSerializer)
    return lambda node: serializer.serialize_metadata(node)
