"""Engines from outside: a payload, bindings, aliases."""

import io
import operator
import zipfile

import hybrid_lib as H
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import tenon_pt2

A = torch.ops.aten


class Scaler(torch.nn.Module):
    """Multiplies by the number in its payload, and gives the negative, too."""

    tenon_backend = "scaler"
    tenon_input_names = ("x", "y")
    tenon_output_names = ("scaled", "negative")

    def __init__(self, factor, aliases=()):
        super().__init__()
        self.tenon_payload = bytes([factor])
        self.tenon_aliases = aliases


@tenon_pt2.register_engine("scaler")
def run_scaler(payload, inputs, engine):
    x, y = inputs
    assert engine["input_names"] == ["x", "y"]
    return [x * int(payload[0]), -y]


def graph(engine, val_size=2, **call):
    mode = FakeTensorMode()
    fake = mode.from_tensor(torch.zeros(val_size))
    g = H.G()
    a, b = g.ph("a"), g.ph("b")
    out = g.mod("engine", **{k: {"a": a, "b": b}[v] for k, v in (call or {"y": "b", "x": "a"}).items()})
    first, second = g.get(out, 0), g.get(out, 1)
    total = g.op(A.sub.Tensor, first, second)
    g.out((total, second))
    for n in (a, b, first, second, total):
        n.meta["val"] = fake
    out.meta["val"] = (fake, fake)
    return H.module(g, {"engine": engine})


def test_engine_runs_in_the_joined_program():
    ep = tenon_pt2.join(graph(Scaler(3)))
    ep.validate()
    total, negative = ep.module()(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))
    assert total.tolist() == [8.0, 13.0] and negative.tolist() == [-5.0, -7.0]


def test_engine_program_survives_torch_save_and_load():
    file = io.BytesIO()
    torch.export.save(tenon_pt2.join(graph(Scaler(3))), file)
    file.seek(0)
    total, _ = torch.export.load(file).module()(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))
    assert total.tolist() == [8.0, 13.0]


def test_saved_file_holds_the_raw_payload(tmp_path):
    path = tmp_path / "engine.pt2"
    engine = Scaler(3)
    engine.tenon_payload = b"raw payload bytes"
    tenon_pt2.save(graph(engine), path)
    with zipfile.ZipFile(path) as archive:
        (name,) = [n for n in archive.namelist() if "tenon/payload" in n]
        assert archive.read(name) == b"raw payload bytes"


def test_engine_that_nothing_runs_says_so():
    engine = Scaler(3)
    engine.tenon_backend = "unheard_of"
    mod = tenon_pt2.join(graph(engine)).module()
    with pytest.raises(RuntimeError, match="register_engine"):
        mod(torch.zeros(2), torch.zeros(2))


def test_unknown_binding_is_refused():
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(graph(Scaler(3), x="a", z="b"))
    assert caught.value.rule in ("J-1", "V-REGION-01")
    assert "z" in str(caught.value)


def test_alias_becomes_a_mutation():
    """Output 1 is input y's storage: y is written by the call."""
    ep = tenon_pt2.join(graph(Scaler(3, aliases=[("negative", "y", "user")])))
    ep.validate()
    assert list(ep.graph_signature.user_inputs_to_mutate.values()) == ["b"]
    b = torch.tensor([5.0, 7.0])
    ep.module()(torch.tensor([1.0, 2.0]), b)
    assert b.tolist() == [-5.0, -7.0]


def test_alias_of_no_binding_is_refused():
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(graph(Scaler(3, aliases=[("negative", "nowhere", "user")])))
    assert caught.value.rule == "V-REGION-07"


def test_child_with_payload_and_graph_is_its_graph_in_torch_and_an_engine_in_the_file(tmp_path):
    child = H.G()
    x, y = child.ph("x"), child.ph("y")
    child.out((child.op(A.mul.Tensor, x, 3), child.op(A.neg.default, y)))
    engine = H.module(child)
    engine.tenon_backend, engine.tenon_payload = "scaler", b"\x03"
    gm = graph(engine)
    H.propagate(gm, [torch.zeros(2), torch.zeros(2)])
    ep = tenon_pt2.join(gm)
    assert {n.target for n in ep.graph.nodes if n.op == "call_function"} >= {A.mul.Tensor, A.neg.default}
    total, _ = ep.module()(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))
    assert total.tolist() == [8.0, 13.0]
    tenon_pt2.save(gm, tmp_path / "both.pt2")
    with zipfile.ZipFile(tmp_path / "both.pt2") as archive:
        assert any("tenon/source" in n for n in archive.namelist())


def test_getitem_is_no_output_of_an_engine_that_gives_fewer():
    gm = graph(Scaler(3))
    for n in gm.graph.nodes:
        if n.target is operator.getitem and n.args[1] == 1:
            n.args = (n.args[0], 5)
    with pytest.raises(tenon_pt2.TenonError) as caught:
        tenon_pt2.join(gm)
    assert caught.value.rule == "J-4" and caught.value.node == "getitem_1"
