"""Symbolic sizes: ranges for the native side, and new values on the way back.

A fake tensor's constructor costs several times what the tensor does, and there is
one for each weight. So from the second of a device on they are made directly where
this torch's are built as expected: a probe makes one that way, once, and compares.
"""

import functools
import json
import warnings

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy import functions as sympy_functions
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges


def _make_fake(elem, attributes):
    """What FakeTensor's constructor does of a meta tensor."""
    made = torch.Tensor._make_subclass(
        FakeTensor,
        elem,
        elem.requires_grad,
        dispatch_device=True,
        device_for_backend_keys=attributes["_fake_device"],
    )
    if attributes["fake_mode"]._allow_unsafe_data_ptr_access:
        torch._C._set_warn_deprecated_on_mutable_data_ptr(made)
    else:
        torch._C._set_throw_on_mutable_data_ptr(made)
    vars(made).update(attributes)
    return made


@functools.lru_cache(maxsize=None)
def _is_direct():
    def meta():
        return torch.empty_strided((2, 3), (1, 2), dtype=torch.float64, device="meta", requires_grad=True)

    def facts(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the first such pointer only
            try:
                t.data_ptr()
                touched = None
            except Exception as error:
                touched = f"{type(error).__name__}: {error}"
        return (
            type(t),
            vars(t),
            (t.dtype, t.device, t.shape, t.stride(), t.requires_grad, t.is_leaf, t.fake_mode, t.layout),
            str(torch._C._dispatch_keys(t)),
            touched,
        )

    try:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        usual = FakeTensor(mode, meta(), torch.device("cpu"))
        direct = _make_fake(meta(), dict(vars(usual)))
        return facts(usual) == facts(direct)
    except Exception:  # whatever this torch does differently
        return False


def fake_mode_of(vals):
    """The mode of the first fake tensor among `vals`, else a new one."""
    for val in vals:
        for leaf in val if isinstance(val, (tuple, list)) else (val,):
            if isinstance(leaf, FakeTensor):
                return leaf.fake_mode
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())


def symbols_in(symbolic):
    """{name: (symbol, shape_env)} of all symbols in the expressions."""
    found = {}
    for sym in symbolic.values():
        for symbol in sym.node.expr.free_symbols:
            found.setdefault(str(symbol), (symbol, sym.node.shape_env))
    return dict(sorted(found.items()))


def range_of(symbol, shape_env, given):
    low, high = given.get(str(symbol), (None, None))
    if low is None and high is None:
        known = shape_env.var_to_range.get(symbol)
        if known is not None:
            low, high = known.lower, known.upper
    return _finite(low), _finite(high)


def _finite(bound):
    return int(bound) if getattr(sympy.sympify(bound), "is_Integer", False) else None


def dims_text(symbols, given):
    """The document's `dims`: ranges, and values in the example where known."""
    dims = {}
    for name, (symbol, shape_env) in symbols.items():
        low, high = range_of(symbol, shape_env, given)
        dim = {"min": low, "max": high}
        name_of_values = "backed_var_to_val" if hasattr(shape_env, "backed_var_to_val") else "var_to_val"
        hint = getattr(shape_env, name_of_values).get(symbol)
        if hint is not None and getattr(hint, "is_Integer", False):
            dim["hint"] = int(hint)
        dims[name] = {k: v for k, v in dim.items() if v is not None}
    return json.dumps(dims)


def range_constraints(ranges, symbols):
    out = {}
    for key, low, high in ranges:
        if key in symbols:
            lower = -int_oo if low is None else low
            upper = int_oo if high is None else high
            out[symbols[key][0]] = ValueRanges(lower, upper)
    return out


class ValueMaker:
    """Values for nodes that have none, or one of another shape.

    Called with (dtype, sizes, strides, device, requires_grad) for a tensor and
    (kind, expression) for a scalar; sizes are ints or expressions.
    """

    def __init__(self, mode, symbolic, symbols):
        self.mode = mode
        self.templates = {}  # attributes of a fresh fake tensor, by device
        self.symbolic = symbolic
        self.symbols = symbols

    def __call__(self, *what):
        if len(what) == 2:
            return self.scalar(*what)
        dtype, sizes, strides, device, requires_grad = what
        if str in map(type, (*sizes, *strides)):
            sizes = [self.size(s) for s in sizes]
            strides = [self.size(s) for s in strides]
            with self.mode:
                return torch.empty_strided(sizes, strides, dtype=dtype, device=device, requires_grad=requires_grad)
        elem = torch.empty_strided(sizes, strides, dtype=dtype, device="meta", requires_grad=requires_grad)
        template = self.templates.get(device)
        if template is not None:
            return _make_fake(elem, template)
        made = FakeTensor(self.mode, elem, torch.device(device))
        if _is_direct():
            self.templates[device] = dict(vars(made))
        return made

    def size(self, s):
        return s if isinstance(s, int) else self.scalar("int", s)

    def scalar(self, kind, text):
        if isinstance(text, int):
            return text
        known = self.symbolic.get(text)
        if known is not None:
            return known
        names = {name: symbol for name, (symbol, _) in self.symbols.items()}
        for name in ("FloorDiv", "Mod", "PythonMod", "Max", "Min", "CeilToInt", "FloorToInt", "IntTrueDiv", "CleanDiv"):
            if hasattr(sympy_functions, name):
                names[name] = getattr(sympy_functions, name)
        expr = sympy.sympify(_floor_divisions(text), locals=names)
        shape_env = self.mode.shape_env
        if kind == "float":
            return shape_env.create_symfloatnode(expr, hint=None)
        if kind == "bool":
            return shape_env.create_symboolnode(expr)
        return shape_env.create_symintnode(expr, hint=None)


def _floor_divisions(text):
    """`a//b` as FloorDiv(a, b): sympy would read another division."""
    import ast

    class Rewrite(ast.NodeTransformer):
        def visit_BinOp(self, node):
            self.generic_visit(node)
            if isinstance(node.op, ast.FloorDiv):
                return ast.Call(ast.Name("FloorDiv", ast.Load()), [node.left, node.right], [])
            return node

    return ast.unparse(ast.fix_missing_locations(Rewrite().visit(ast.parse(text, mode="eval"))))
