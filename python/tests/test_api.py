"""Shapes that vary, conventions, metadata, errors of use."""

import collections

import hybrid_lib as H
import pytest
import torch
import torch.fx as fx
import torch.utils._pytree as pytree

import tenon_pt2

A = torch.ops.aten


def doubling():
    child = H.G()
    x = child.ph("x")
    child.out((child.op(A.mul.Tensor, x, 2), child.op(A.sum.default, x)))
    g = H.G()
    x = g.ph("x")
    call = g.mod("child", x)
    g.out({"double": g.get(call, 0), "all": (g.get(call, 1), x)})
    return H.module(g, {"child": H.module(child)})


def test_values_are_found_from_the_example():
    ep = tenon_pt2.join(doubling(), (torch.ones(3),))
    got = ep.module()(torch.ones(3))
    assert list(got) == ["double", "all"] and got["all"][0].item() == 3
    with pytest.raises(Exception):
        ep.module()(torch.ones(4))


def test_dynamic_shapes():
    n = torch.export.Dim("n", min=2, max=64)
    ep = tenon_pt2.join(doubling(), (torch.ones(3),), dynamic_shapes={"x": {0: n}})
    ep.validate()
    assert [(int(r.lower), int(r.upper)) for r in ep.range_constraints.values()] == [(2, 64)]
    for size in (2, 3, 17):
        assert ep.module()(torch.ones(size))["double"].shape == (size,)
    with pytest.raises(Exception):
        ep.module()(torch.ones(65))


def test_dynamic_shapes_that_the_graph_fixes_are_an_error():
    g = H.G()
    g.out(g.op(A.view.default, g.ph("x"), [1, 3]))
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(H.module(g), (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert caught.value.findings


Point = collections.namedtuple("Point", ["a", "b"])


def test_registered_containers_keep_their_type():
    """A convention that the module states goes through as it is."""
    pytree._register_namedtuple(Point, serialized_type_name="test_api.Point")
    g = H.G()
    a, b = g.ph("p_a"), g.ph("p_b")
    g.out((g.op(A.sub.Tensor, a, b),))
    gm = H.with_spec(H.module(g), (Point(torch.ones(2), torch.ones(2)),), {}, (0,))
    point = Point(torch.tensor([5.0]), torch.tensor([3.0]))
    ep = tenon_pt2.join(gm, (point,))
    assert ep.module()(point)[0].item() == 2


def test_metadata_is_kept(tmp_path):
    gm = doubling()
    H.propagate(gm, [torch.ones(3)])
    stack = {"child": ("child", "test_api.Child")}
    for n in gm.child.graph.nodes:
        n.meta["nn_module_stack"] = stack
        n.meta["stack_trace"] = "line 1"
    ep = tenon_pt2.join(gm)
    (mul,) = ep.graph.find_nodes(op="call_function", target=A.mul.Tensor)
    assert mul.meta["nn_module_stack"] == stack and mul.meta["stack_trace"] == "line 1"
    tenon_pt2.save(gm, tmp_path / "p.pt2")
    (mul,) = torch.export.load(tmp_path / "p.pt2").graph.find_nodes(op="call_function", target=A.mul.Tensor)
    assert mul.meta["stack_trace"] == "line 1" and list(mul.meta["nn_module_stack"]) == ["child"]


def test_tied_weights_and_views_stay_one_storage():
    base = torch.arange(6, dtype=torch.float32)
    g = H.G()
    x = g.ph("x")
    g.out((g.op(A.add.Tensor, x, g.attr("whole")), g.op(A.add.Tensor, g.attr("part"), 1)))
    gm = H.module(g, state=[("whole", base, "buffer", True), ("part", base[1:5:2], "buffer", True)])
    ep = tenon_pt2.join(gm, (torch.zeros(6),))
    whole, part = ep.module()(torch.zeros(6))
    assert whole.tolist() == base.tolist() and part.tolist() == [2, 4]
    assert ep.state_dict["part"].untyped_storage()._cdata == base.untyped_storage()._cdata


@pytest.mark.parametrize("make", ["function", "method", "module"])
def test_what_is_no_operator_is_named(make):
    g = fx.Graph()
    x = g.placeholder("x")
    y = {
        "function": lambda: g.call_function(torch.relu, (x,)),
        "method": lambda: g.call_method("relu", (x,)),
        "module": lambda: g.call_module("layer", (x,)),
    }[make]()
    g.output(y)
    root = torch.nn.Module()
    root.layer = torch.nn.ReLU()
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(fx.GraphModule(root, g), (torch.ones(2),))
    assert caught.value.node in ("relu", "layer")


def test_errors_name_the_node_in_the_child():
    child = H.G()
    x = child.ph("x")
    child.out(child.get((x, x), 7, name="beyond"))
    g = H.G()
    g.out(g.mod("child", g.ph("x")))
    gm = H.module(g, {"child": H.module(child)})
    gm.graph.find_nodes(op="placeholder")[0].meta["val"] = torch.zeros(2)
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(gm)
    assert caught.value.rule == "J-4" and caught.value.node == "child/beyond"


def test_not_a_graph_module():
    with pytest.raises(tenon_pt2.TenonError):
        tenon_pt2.join(torch.nn.Linear(2, 2))


def test_direct_nodes_are_those_of_create_node(monkeypatch):
    """Both ways of making nodes give one program."""
    from tenon_pt2 import _graph

    gm = doubling()
    assert _graph.is_direct()
    direct = tenon_pt2.join(gm, (torch.ones(3),))
    monkeypatch.setattr(_graph, "is_direct", lambda: False)
    usual = tenon_pt2.join(gm, (torch.ones(3),))
    assert str(direct.graph) == str(usual.graph)
    direct.graph.lint()
    assert len(direct.graph.nodes) == len(usual.graph.nodes)
