"""An ExportedProgram around what the native side built."""

import copy
import functools

import torch
import torch.fx as fx
import torch.utils._pytree as pytree
from torch._export.verifier import TrainingIRVerifier
from torch.export import ExportedProgram, ExportGraphSignature
from torch.export.exported_program import (
    ModuleCallEntry,
    ModuleCallSignature,
)
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx.experimental.symbolic_shapes import ShapeGuardPythonPrinter

_INPUT_KINDS = {
    "user": InputKind.USER_INPUT,
    "parameter": InputKind.PARAMETER,
    "buffer": InputKind.BUFFER,
    "constant": InputKind.CONSTANT_TENSOR,
}
_OUTPUT_KINDS = {
    "user": OutputKind.USER_OUTPUT,
    "buffer_mutation": OutputKind.BUFFER_MUTATION,
    "user_input_mutation": OutputKind.USER_INPUT_MUTATION,
}
if hasattr(OutputKind, "PARAMETER_MUTATION"):
    _OUTPUT_KINDS["parameter_mutation"] = OutputKind.PARAMETER_MUTATION


def _argument(node):
    val = node.meta["val"]
    if isinstance(val, torch.SymInt):
        return SymIntArgument(name=node.name)
    if isinstance(val, torch.SymFloat):
        return SymFloatArgument(name=node.name)
    if isinstance(val, torch.SymBool):
        return SymBoolArgument(name=node.name)
    return TensorArgument(name=node.name)


def signature(graph, inputs, outputs):
    input_specs = []
    for node, (kind, name, fqn, persistent, literal) in zip(graph.find_nodes(op="placeholder"), inputs):
        arg = _argument(node) if literal is None else ConstantArgument(name=name, value=literal[0])
        input_specs.append(InputSpec(_INPUT_KINDS[kind], arg, fqn, persistent))
    output_specs = []
    for kind, value, target in outputs:
        arg = _argument(value) if isinstance(value, fx.Node) else ConstantArgument(name="", value=value)
        output_specs.append(OutputSpec(_OUTPUT_KINDS[kind], arg, target))
    return ExportGraphSignature(input_specs, output_specs)


@functools.lru_cache(maxsize=None)
def _empty():
    """A program without anything, made and checked by torch's constructor."""
    graph = fx.Graph()
    graph.output(())
    spec = pytree.tree_structure(((), {}))
    signature = ModuleCallSignature(inputs=[], outputs=[], in_spec=spec, out_spec=pytree.tree_structure(()))
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=graph,
        graph_signature=ExportGraphSignature([], []),
        state_dict={},
        range_constraints={},
        module_call_graph=[ModuleCallEntry(fqn="", signature=signature)],
        constants={},
        verifiers=[TrainingIRVerifier],
    )


_PARTS = {
    "_graph_module",
    "_graph_signature",
    "_state_dict",
    "_range_constraints",
    "_module_call_graph",
    "_example_inputs",
    "_constants",
    "_verifiers",
    "_guards_code",
}


def program(module, graph_signature, state_dict, constants, ranges, in_spec, out_spec, names, example):
    """The program of these parts.

    ExportedProgram's constructor generates code for the graph and checks each node
    again; that costs more than all else together, and the native side has verified
    and proved the program. So the parts are put into a copy of an empty program.
    validate() passes on the result. A torch whose programs have other parts gets
    the constructor.
    """
    signature = ModuleCallSignature(
        inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec, forward_arg_names=names
    )
    calls = [ModuleCallEntry(fqn="", signature=signature)]
    if set(vars(_empty())) != _PARTS:
        return ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=graph_signature,
            state_dict=state_dict,
            range_constraints=ranges,
            module_call_graph=calls,
            example_inputs=example,
            constants=constants,
            verifiers=[TrainingIRVerifier],
        )
    ep = copy.copy(_empty())
    ep._graph_module = module
    ep._graph_signature = graph_signature
    ep._state_dict = state_dict
    ep._range_constraints = ranges
    ep._module_call_graph = calls
    ep._example_inputs = example
    ep._constants = constants
    ep._verifiers = [TrainingIRVerifier]
    ep._guards_code = _guards(_users(module.graph, graph_signature), in_spec, names) if ranges else []
    return ep


def _users(graph, graph_signature):
    kinds = [spec.kind for spec in graph_signature.input_specs]
    return [n for n, kind in zip(graph.find_nodes(op="placeholder"), kinds) if kind == InputKind.USER_INPUT]


def _guards(users, in_spec, names):
    """What the example's shapes were assumed to satisfy, as torch.export writes it.

    A size that is a symbol is told by the argument that has it, as `L['x']`.
    """
    paths = []
    for path, _ in pytree.tree_leaves_with_path(pytree.tree_unflatten([0] * len(users), in_spec)):
        # (args or kwargs, argument, ...)
        if path[0].idx == 1:
            argument = path[1].key
        else:
            argument = names[path[1].idx] if names else f"args_{path[1].idx}"
        paths.append(f"[{str(argument)!r}]{pytree.keystr(path[2:])}")
    shape_env, sources = None, {}
    for node, path in zip(users, paths):
        for i, size in enumerate(getattr(node.meta["val"], "shape", ())):
            if isinstance(size, torch.SymInt):
                shape_env = size.node.shape_env
                place = f"L{path}.size()[{i}]"
                sources.setdefault(size.node.expr, place)
    if shape_env is None:
        return []
    named = {symbol: [place] for symbol, place in sources.items() if symbol.is_Symbol}
    printer = ShapeGuardPythonPrinter(named, lambda place: place, named)
    return [
        printer.doprint(guard.expr)
        for guard in shape_env.guards
        if guard.expr.free_symbols and guard.expr.free_symbols.issubset(named)
    ]
