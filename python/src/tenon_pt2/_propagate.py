"""Values for nodes that state none, by running the graph on fake tensors."""

import operator

import torch
import torch.fx as fx
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from . import _specs
from ._errors import TenonError, fail


def propagate(gm, args, kwargs, in_spec, dynamic_shapes):
    """({node: val} for all graphs, {symbol name: (min, max)} as asked for)."""
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    leaves = _leaves(gm, placeholders, args, kwargs, in_spec)
    shapes = [None] * len(leaves)
    if dynamic_shapes is not None:
        wanted = _dynamic(placeholders, args, kwargs, dynamic_shapes)
        shapes = _leaves(gm, placeholders, *wanted, in_spec, of_shapes=True)
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    dims = _Dims()
    fakes = [dims.fake(mode, n, leaf, shape) for n, leaf, shape in zip(placeholders, leaves, shapes)]
    dims.relate()
    vals = {}
    _run(gm, fakes, mode, vals, "", (gm,))
    return vals, dims.ranges()


class _Shape:
    """A tensor's entry of dynamic_shapes: one leaf, whatever it holds."""

    def __init__(self, dims):
        self.dims = dims


def _dynamic(placeholders, args, kwargs, shapes):
    """dynamic_shapes in the structure of (args, kwargs), with _Shape leaves."""
    if isinstance(shapes, dict):
        names = [n.target for n in placeholders]
        of_args = [shapes.get(names[i]) if i < len(names) else None for i in range(len(args))]
        of_kwargs = {k: shapes.get(k) for k in kwargs}
        unknown = set(shapes) - set(names[: len(args)]) - set(kwargs)
        if unknown:
            fail("S-2", "", f"dynamic_shapes has entries for no argument: {sorted(unknown)}")
    else:
        if len(shapes) != len(args) + len(kwargs):
            fail("S-2", "", f"dynamic_shapes has {len(shapes)} entries for {len(args) + len(kwargs)} arguments")
        of_args = list(shapes[: len(args)])
        of_kwargs = dict(zip(kwargs, shapes[len(args) :]))

    def match(value, shape):
        if not isinstance(value, (tuple, list, dict)):
            return _Shape(shape)
        if shape is None:
            return pytree.tree_map(lambda _: _Shape(None), value)
        if isinstance(value, dict):
            return {k: match(v, shape.get(k)) for k, v in value.items()}
        return type(value)(match(v, s) for v, s in zip(value, shape))

    return (
        tuple(match(v, s) for v, s in zip(args, of_args)),
        {k: match(v, of_kwargs[k]) for k, v in kwargs.items()},
    )


def _leaves(gm, placeholders, args, kwargs, in_spec, of_shapes=False):
    """One leaf per placeholder, in their order."""
    if in_spec is not None:
        try:
            return _specs.by_spec((args, kwargs), in_spec)
        except (KeyError, TypeError) as e:
            fail("S-5", "", f"the example isn't a call of this graph: {e}")
    flat = pytree.tree_leaves(args)
    by_target = {}
    for key, value in kwargs.items():
        for path, leaf in pytree.tree_flatten_with_path(value)[0]:
            parts = [str(getattr(p, "key", getattr(p, "idx", p))) for p in path]
            by_target["_".join([key, *parts])] = leaf
    out = list(flat)
    for n in placeholders[len(flat) :]:
        if n.target in by_target:
            out.append(by_target[n.target])
        elif n.args:
            out.append(n.args[0])
        elif not of_shapes:
            fail("S-2", n.name, f"the example has no value for placeholder '{n.target}'")
    return out


class _Dims:
    """Dimensions that vary, by the caller's names."""

    def __init__(self):
        self.sizes = {}  # Dim by name: (Dim, [SymInt])

    def fake(self, mode, node, value, shape):
        if not isinstance(value, torch.Tensor):
            return value
        dims = {} if shape is None or shape.dims is None else shape.dims
        if not isinstance(dims, dict):
            dims = dict(enumerate(dims))
        dims = {i: d for i, d in dims.items() if d is not None and not isinstance(d, int) and d != Dim.STATIC}
        if not dims:
            return mode.from_tensor(value, static_shapes=True)
        kinds = [DimDynamic.DYNAMIC if i in dims else DimDynamic.STATIC for i in range(value.dim())]
        out = mode.from_tensor(value, symbolic_context=StatelessSymbolicContext(kinds))
        for i, dim in dims.items():
            if isinstance(dim, type(Dim.AUTO)):
                continue
            self.sizes.setdefault(dim.__name__, (dim, []))[1].append((node, i, out.shape[i]))
        return out

    def relate(self):
        """Equal names are one size; a derived dimension follows from its root."""
        for dim, uses in self.sizes.values():
            for node, i, size in uses[1:]:
                self._check(node, i, size == uses[0][2])
            root = getattr(dim, "root", None)
            if root is not None and root.__name__ in self.sizes:
                wanted = dim.fn(self.sizes[root.__name__][1][0][2])
                self._check(uses[0][0], uses[0][1], uses[0][2] == wanted)

    @staticmethod
    def _check(node, i, condition):
        try:
            torch._check(condition)
        except RuntimeError:
            fail("S-5", node.name, f"size {i} isn't what dynamic_shapes says about equal or derived dimensions")

    def ranges(self):
        out = {}
        for dim, uses in self.sizes.values():
            node, i, size = uses[0]
            expr = size.node.expr
            if expr.is_number:
                fail("S-5", node.name, f"dynamic_shapes lets size {i} vary, but the graph fixes it to {expr}")
            if expr.is_Symbol and getattr(dim, "root", None) is None:
                out[str(expr)] = (dim.min, dim.max)
        return out


def _run(module, inputs, mode, vals, path, open_modules):
    values = {}
    given = iter(inputs)
    for node in module.graph.nodes:
        place = f"{path}{node.name}"

        def look(a):
            return fx.node.map_arg(a, values.__getitem__)

        if node.op == "placeholder":
            value = next(given)
        elif node.op == "get_attr":
            value = operator.attrgetter(node.target)(module)
            if isinstance(value, torch.Tensor):
                value = mode.from_tensor(value, static_shapes=True)
        elif node.op == "output":
            return look(node.args[0])
        else:
            value = _call(module, node, look(node.args), look(node.kwargs), mode, vals, place, open_modules)
        values[node] = value
        if not isinstance(value, torch.nn.Module):
            vals[node] = value
    return None


def _call(module, node, args, kwargs, mode, vals, place, open_modules):
    try:
        if node.op == "call_module":
            child = operator.attrgetter(node.target)(module)
            if isinstance(child, fx.GraphModule):
                if any(child is m for m in open_modules):
                    fail("J-7", place, f"child '{node.target}' reaches itself")
                bound = _bound(child, args, kwargs, place)
                return _run(child, bound, mode, vals, place + "/", (*open_modules, child))
            if "val" in node.meta:
                return node.meta["val"]
            with mode:
                return child(*args, **kwargs)
        with mode:
            return node.target(*args, **kwargs)
    except TenonError:
        raise
    except Exception as e:
        fail("V-OP-05", place, f"torch refuses the call: {e}")


def _bound(child, args, kwargs, place):
    out, rest = list(args), dict(kwargs)
    placeholders = [n for n in child.graph.nodes if n.op == "placeholder"]
    for n in placeholders[len(out) :]:
        if n.target in rest:
            out.append(rest.pop(n.target))
        elif n.args:
            out.append(n.args[0])
        else:
            fail("J-1", place, f"parameter '{n.target}' is not passed")
    if len(out) != len(placeholders) or rest:
        fail("J-1", place, f"{len(out) + len(rest)} arguments for {len(placeholders)} parameters")
    return out
