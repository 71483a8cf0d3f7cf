"""The whole hybrid corpus through join and save: accepted programs compute what
eager execution computed, over several calls, and pass torch's own verifier; broken
ones are refused with a rule."""

import copy
import io

import hybrid_lib
import pytest
import torch
import torch.fx as fx
import torch.utils._pytree as pytree
from conftest import cases, first_call, load

import tenon_pt2


def copied(value):
    return pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, value)


def states(mod):
    """State of a module by full path, buffers that aren't persistent included."""
    return {**dict(mod.named_parameters()), **dict(mod.named_buffers())}


def check_runs(case, tensors, mod):
    for run in case["runs"]:
        args, kwargs = copied(hybrid_lib.run_io(run, tensors))
        got = mod(*args, **kwargs)
        expected = hybrid_lib.dec(run["result"], tensors)
        assert hybrid_lib.same(got, expected, case.get("tol", 0.0)), f"{got} instead of {expected}"
        leaves = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        for i, key in run.get("inputs_after", []):
            assert torch.equal(leaves[i], tensors[key]), f"argument {i} after the call"
        now = states(mod)
        for fqn, key in run.get("state_after", {}).items():
            if fqn in now:
                assert torch.equal(now[fqn].detach(), tensors[key]), f"{fqn} after the call"


def check_eager(case, gm, tensors, mod):
    """The same calls on the hybrid graph itself, run by its meaning."""
    eager = copy.deepcopy(gm) if hybrid_lib.has_codegen(gm) else gm
    for run in case["runs"]:
        call = hybrid_lib.run_io(run, tensors)
        got = mod(*copied(call[0]), **copied(call[1]))
        assert hybrid_lib.same(got, hybrid_lib.interpret(eager, *copied(call)), case.get("tol", 0.0))


@pytest.mark.parametrize("name", cases("ok"))
def test_joined_program_computes_what_was_recorded(name):
    case, gm, tensors = load(name)
    before = [(n.name, n.args, n.kwargs) for n in gm.graph.nodes]
    ep = tenon_pt2.join(gm, *first_call(case, tensors))
    assert type(ep) is torch.export.ExportedProgram
    ep.validate()
    assert not any(n.op == "call_module" for n in ep.graph.nodes)
    assert before == [(n.name, n.args, n.kwargs) for n in gm.graph.nodes], "the hybrid graph was changed"
    given = {id(t) for m in gm.modules() if isinstance(m, torch.nn.Module) for t in (*m._parameters.values(), *m._buffers.values())}
    assert all(id(t) in given for t in ep.state_dict.values()), "a weight was copied"
    check_runs(case, tensors, ep.module())


@pytest.mark.parametrize("name", cases("ok"))
def test_joined_program_computes_what_eager_does(name):
    case, gm, tensors = load(name)
    mod = tenon_pt2.join(copy.deepcopy(gm) if hybrid_lib.has_codegen(gm) else load(name)[1], *first_call(case, tensors)).module()
    check_eager(case, gm, tensors, mod)


# torch.export.save itself can't write these, whoever made them.
TORCH_CANNOT_SAVE = {
    "ret_empty_tuple": "a program without outputs",
    "state_empty_tensor": "a weight without elements",
}


@pytest.mark.parametrize("name", cases("ok"))
def test_torch_saves_and_loads_the_joined_program(name, request):
    if name in TORCH_CANNOT_SAVE:
        request.applymarker(pytest.mark.xfail(reason=TORCH_CANNOT_SAVE[name], strict=True))
    case, gm, tensors = load(name)
    ep = tenon_pt2.join(gm, *first_call(case, tensors))
    file = io.BytesIO()
    torch.export.save(ep, file)
    file.seek(0)
    check_runs(case, tensors, torch.export.load(file).module())


@pytest.mark.parametrize("name", cases("ok"))
def test_saved_file_is_loaded_by_torch(name, tmp_path):
    case, gm, tensors = load(name)
    path = tmp_path / "program.pt2"
    digest = tenon_pt2.save(gm, path, *first_call(case, tensors))
    assert len(digest) == 32 and path.stat().st_size > 0
    engines = [m for m in gm.modules() if isinstance(m, fx.GraphModule) and hasattr(m, "tenon_backend")]
    if engines:  # PyTorch has no operator for them
        return
    check_runs(case, tensors, torch.export.load(str(path)).module())


# A module whose fault can't be built in torch at all is no module.
UNBUILDABLE = {
    "err_duplicate_name_child",
    "err_duplicate_name_parent",
    "err_ref_into_child",
    "err_ref_into_parent",
    "err_ref_unknown",
    "err_same_as_unknown",
    "err_self_reference",
    "err_state_without_tensor",
    "err_use_before_definition",
}


@pytest.mark.parametrize("name", [n for n in cases("error") if n not in UNBUILDABLE])
def test_broken_graph_is_refused_with_a_rule(name, tmp_path):
    if name == "err_recursive_module":
        case, gm, tensors = None, recursive(), None
        call = ((torch.zeros(2),), {})
    else:
        case, gm, tensors = load(name, with_vals=False)
        call = first_call(case, tensors)
    for attempt in (
        lambda: tenon_pt2.join(gm, *call),
        lambda: tenon_pt2.save(gm, tmp_path / "none.pt2", *call),
    ):
        with pytest.raises(tenon_pt2.TenonError) as caught:
            attempt()
        assert caught.value.rule and caught.value.findings
        assert all(f.rule in str(caught.value) for f in caught.value.findings)
    assert not (tmp_path / "none.pt2").exists()


@pytest.mark.parametrize("name", sorted(UNBUILDABLE))
def test_unbuildable_case_stays_unbuildable(name):
    with pytest.raises(Exception):
        load(name, with_vals=False)


def recursive():
    """A child that calls itself."""
    g = hybrid_lib.G()
    x = g.ph("x")
    g.out(g.mod("self", x))
    child = hybrid_lib.module(g)
    h = hybrid_lib.G()
    y = h.ph("y")
    h.out(h.mod("child", y))
    root = hybrid_lib.module(h, {"child": child})
    child._modules["self"] = child  # now: generating code would never end
    return root
