"""An ExportedProgram around what the native side built."""

import torch
import torch.fx as fx
from torch._export.verifier import TrainingIRVerifier
from torch.export import ExportedProgram, ExportGraphSignature
from torch.export.exported_program import (
    ModuleCallEntry,
    ModuleCallSignature,
    _convert_guards_to_code,
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


class _Checked(ExportedProgram):
    """A program that the native side verified and proved, while it is made.

    ExportedProgram's constructor checks each node again, and has the getitems
    looked through; that costs more than all else together. The result is a plain
    ExportedProgram, and its validate() passes.
    """

    def validate(self):
        pass


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


def program(module, graph_signature, state_dict, constants, ranges, in_spec, out_spec, names, example):
    skeleton = fx.Graph()
    skeleton.output(())
    ep = _Checked.__new__(_Checked)
    ExportedProgram.__init__(
        ep,
        root=torch.nn.Module(),
        graph=skeleton,
        graph_signature=graph_signature,
        state_dict=state_dict,
        range_constraints=ranges,
        module_call_graph=[
            ModuleCallEntry(
                fqn="",
                signature=ModuleCallSignature(
                    inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec, forward_arg_names=names
                ),
            )
        ],
        example_inputs=example,
        constants=constants,
        verifiers=[TrainingIRVerifier],
    )
    ep.__class__ = ExportedProgram
    ep._graph_module = module
    if ranges:
        ep._guards_code = _convert_guards_to_code(module)
    return ep
