"""The five failures of a name-matching joiner. Each test also runs a joiner with
that very fault, which must fail it: a test that can't fail proves nothing."""

import operator

import hybrid_lib as H
import pytest
import torch
import torch.fx as fx

import tenon_pt2

A = torch.ops.aten


def vector(*values):
    return torch.tensor(values, dtype=torch.float32)


def run(gm, *args, **kwargs):
    ep = tenon_pt2.join(gm, args, kwargs)
    ep.validate()
    return ep.module()(*args, **kwargs)


def join_by_name(gm, reverse_kwargs=False, drop_outputs=False):
    """A joiner with the faults: a child's input becomes the parent's node of the
    same name; keyword arguments are taken in the order of writing; of several
    outputs only the first survives a name that is taken."""
    flat = fx.Graph()
    env = {}
    for node in gm.graph.nodes:
        if node.op != "call_module":
            env[node] = flat.node_copy(node, lambda n: env[n])
            continue
        child = gm.get_submodule(node.target)
        parent_by_name = {n.name: env[n] for n in gm.graph.nodes if n in env}
        given = list(node.args) + list(node.kwargs.values())
        inner, i = {}, 0
        for n in child.graph.nodes:
            if n.op == "placeholder":
                if n.name in parent_by_name and not reverse_kwargs:
                    inner[n] = parent_by_name[n.name]
                else:
                    inner[n] = env[given[i]]
                i += 1
            elif n.op == "output":
                out = fx.node.map_arg(n.args[0], lambda v: inner[v])
            else:
                inner[n] = flat.node_copy(n, lambda v: inner[v])
        if isinstance(out, tuple) and drop_outputs:
            out = (out[0],) * len(out)
        env[node] = out
        for user in list(node.users):
            if user.target is operator.getitem and isinstance(out, (tuple, list)):
                env[user] = out[user.args[1]]
    for node in list(flat.nodes):
        if node.op == "call_function" and node.target is operator.getitem and isinstance(node.args[0], (tuple, list)):
            node.replace_all_uses_with(node.args[0][node.args[1]])
            flat.erase_node(node)
    return fx.GraphModule(gm, flat)


def collision():
    """child(x) = -x, called with y; the parent has an unrelated node called x."""
    child = H.G()
    x = child.ph("x")
    child.out(child.op(A.neg.default, x))
    g = H.G()
    x = g.ph("x")
    y = g.ph("y")
    g.out(g.op(A.sub.Tensor, x, g.mod("child", y)))
    return H.module(g, {"child": H.module(child)})


def test_child_input_named_like_an_unrelated_producer():
    """x - child(y) with x = 5, y = 12 is 17; by name it's 5 - (-5) = 10."""
    gm = collision()
    x, y = vector(5), vector(12)
    assert run(gm, x, y).item() == 17
    assert join_by_name(gm)(x, y).item() != 17


def test_minus_seventeen():
    """The child's input b is called like the parent's a, and the other way round."""
    child = H.G()
    b, a = child.ph("b"), child.ph("a")
    child.out(child.op(A.sub.Tensor, b, a))
    g = H.G()
    a, b = g.ph("a"), g.ph("b")
    g.out(g.mod("child", a, b))
    gm = H.module(g, {"child": H.module(child)})
    assert run(gm, vector(20), vector(3)).item() == 17
    assert join_by_name(gm)(vector(20), vector(3)).item() == -17


def test_all_outputs_of_a_child_are_kept_under_the_collision():
    child = H.G()
    x, y = child.ph("x"), child.ph("y")
    child.out((child.op(A.neg.default, x), child.op(A.add.Tensor, x, y), y))
    g = H.G()
    y, x = g.ph("y"), g.ph("x")
    call = g.mod("child", y, x)
    g.out((g.get(call, 0), g.get(call, 1), g.get(call, 2), x))
    gm = H.module(g, {"child": H.module(child)})
    got = run(gm, vector(1), vector(10))
    assert [t.item() for t in got] == [-1, 11, 10, 10]
    wrong = join_by_name(gm, reverse_kwargs=True, drop_outputs=True)(vector(1), vector(10))
    assert [t.item() for t in wrong] != [-1, 11, 10, 10]


def minus():
    child = H.G()
    a, b = child.ph("a"), child.ph("b")
    child.out(child.op(A.sub.Tensor, a, b))
    return H.module(child)


def test_reversed_keyword_arguments():
    g = H.G()
    p, q = g.ph("p"), g.ph("q")
    g.out(g.mod("child", b=q, a=p))
    gm = H.module(g, {"child": minus()})
    assert run(gm, vector(10), vector(3)).item() == 7
    assert join_by_name(gm, reverse_kwargs=True)(vector(10), vector(3)).item() == -7


def test_reversed_keyword_arguments_of_the_example():
    g = H.G()
    a, b = g.ph("a"), g.ph("b")
    g.out(g.mod("child", a, b))
    gm = H.module(g, {"child": minus()})
    ep = tenon_pt2.join(gm, (), {"b": vector(3), "a": vector(10)})
    assert ep.module()(b=vector(3), a=vector(10)).item() == 7
    assert ep.module()(a=vector(10), b=vector(3)).item() == 7
    # What an exporter gets that keeps the order of writing.
    assert list(ep.call_spec.in_spec.children()[1].context) == ["a", "b"]


def test_reversed_nested_keyword_arguments():
    g = H.G()
    a, b = g.ph("k_a"), g.ph("k_b")
    g.out(g.mod("child", a, b))
    gm = H.module(g, {"child": minus()})
    ep = tenon_pt2.join(gm, (), {"k": {"b": vector(3), "a": vector(10)}})
    got = ep.module()(k={"b": vector(3), "a": vector(10)})
    assert got.item() == 7
    wrong = join_by_name(gm, reverse_kwargs=True)(vector(3), vector(10))
    assert wrong.item() == -7


def test_nested_keyword_arguments_that_cannot_be_told_are_an_error():
    g = H.G()
    a, b = g.ph("first"), g.ph("second")
    g.out(g.mod("child", a, b))
    gm = H.module(g, {"child": minus()})
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(gm, (), {"k": {"b": vector(3), "a": vector(10)}})
    assert caught.value.rule == "S-2"


@pytest.mark.parametrize("persistent", [True, False])
def test_persistence_of_lifted_buffers(persistent):
    child = H.G()
    x = child.ph("x")
    child.out(child.op(A.add.Tensor, x, child.attr("table")))
    g = H.G()
    g.out(g.mod("child", g.ph("x")))
    state = [("table", vector(1, 2), "buffer", persistent, False)]
    gm = H.module(g, {"child": H.module(child, state=state)})
    ep = tenon_pt2.join(gm, (vector(1, 1),))
    ep.validate()
    (spec,) = [s for s in ep.graph_signature.input_specs if s.kind.name == "BUFFER"]
    assert spec.persistent is persistent
    assert ("child.table" in ep.state_dict) is persistent
    assert ("child.table" in ep.constants) is not persistent
    # The fault: no statement, which torch refuses.
    spec.persistent = None
    with pytest.raises(Exception):
        ep.validate()


def test_in_spec_without_example_inputs():
    gm = collision()
    for n in gm.graph.nodes:
        n.meta.pop("val", None)
    H.propagate(gm, [vector(5), vector(12)])
    ep = tenon_pt2.join(gm)
    assert ep.example_inputs is None
    assert ep.call_spec.in_spec.num_leaves == 2
    assert ep.module()(vector(5), vector(12)).item() == 17
    # The fault: a convention without arguments.
    ep.module_call_graph[0].signature.in_spec = torch.utils._pytree.tree_structure(((), {}))
    with pytest.raises(Exception):
        ep.module()(vector(5), vector(12))
