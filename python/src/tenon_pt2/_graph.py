"""How the native side makes fx objects.

Graph.create_node costs several times what the node itself does, so nodes are
made directly where this torch's Graph is built as expected: a probe makes a
small graph that way, once, and has torch check it. Where it fails, nodes are
made by create_node.
"""

import functools

import torch
import torch.fx as fx
from torch.fx.graph import _illegal_names

try:
    from torch.fx._lazy_graph_module import _LazyGraphModule as LazyGraphModule
except ImportError:  # its code is generated when it is made
    LazyGraphModule = fx.GraphModule

ILLEGAL_NAMES = set(_illegal_names)


def new_module(graph, modules):
    """A module for the graph; its Python code is generated when it is called."""
    # The constructor walks over a graph's nodes for the attributes that they mention.
    made = LazyGraphModule({}, fx.Graph())
    for name, module in modules.items():
        made.add_module(name, module)
    graph._codegen = fx.graph.CodeGen()
    made.graph = graph
    return made


@functools.lru_cache(maxsize=None)
def is_direct():
    try:
        graph = fx.Graph()
        x = _make(graph, "placeholder", "x", (), "x")
        y = _make(graph, "call_function", torch.ops.aten.neg.default, (x,), "neg")
        _make(graph, "output", "output", ((y,),), "output")
        graph._len += 3
        graph.lint()
        usual = graph.create_node("call_function", torch.ops.aten.neg.default, (x,), name="neg")
        same = fx.Graph()
        same.graph_copy(graph, {})
        return (
            usual.name != "neg"
            and list(x.users) == [y, usual]
            and y.args == (x,)
            and len(graph.nodes) == 4
            and graph.find_nodes(op="placeholder") == [x]
            and graph.find_nodes(op="call_function", target=torch.ops.aten.neg.default) == [y, usual]
        )
    except Exception:  # whatever this torch does differently
        return False


def _make(graph, op, target, args, name):
    """What FxGraphBuilder::NewNode does natively."""
    base = torch._C._NodeBase
    node = fx.Node.__new__(fx.Node)
    base.__init__(node, graph, name, op, target, None)
    node._update_args_kwargs(args, {})
    graph._graph_namespace._used_names.add(name)
    graph._graph_namespace._obj_to_name[node] = name
    graph._find_nodes_lookup_table.table[(op, target if op == "call_function" else None)][node] = None
    graph._root._prepend(node)
    return node
