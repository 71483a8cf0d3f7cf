"""Calling conventions between torch's pytrees and the native side."""

import functools
import json

import torch.utils._pytree as pytree
from torch.fx.graph import _PyTreeCodeGen


def specs_of(gm):
    """(in_spec, out_spec) that the module states, or (None, None)."""
    codegen = gm.graph._codegen
    if not isinstance(codegen, _PyTreeCodeGen):
        return None, None
    return codegen.pytree_info.in_spec, codegen.pytree_info.out_spec


def argument_names(gm):
    """The names of forward's arguments, where the module states them."""
    info = gm.graph._codegen.pytree_info
    args, kwargs = info.in_spec.children()
    count = len(list(args.children())) + len(list(kwargs.children()))
    names = [n for n in info.orig_args if n != "self"]
    return names if len(names) == count else None


def spec_text(spec):
    """A TreeSpec as the document writes it; leaf i is placeholder or output i."""
    count = 0

    def write(s):
        nonlocal count
        if s.is_leaf():
            count += 1
            return {"leaf": count - 1}
        children = list(s.children())
        if s.type in (tuple, list):
            return {s.type.__name__: [write(c) for c in children]}
        if s.type is dict and all(isinstance(k, str) for k in s.context):
            return {"dict": [[k, write(c)] for k, c in zip(s.context, children)]}
        # Any other container verbatim, as torch.export serialises it.
        leaf = pytree.tree_structure(0)
        bare = pytree.TreeSpec(s.type, s.context, [leaf] * len(children))
        stated = json.loads(pytree.treespec_dumps(bare))[1]
        return {"node": [stated["type"], stated["context"], [write(c) for c in children]]}

    return json.dumps(write(spec))


@functools.lru_cache(maxsize=256)
def spec_of(stated):
    """A TreeSpec from what the native side built. Specs aren't changed by anybody."""

    def fill(s):
        if s is None:
            return 0
        kind, keys, children = s
        values = [fill(c) for c in children]
        if kind == "builtins.tuple":
            return tuple(values)
        if kind == "builtins.list":
            return values
        return dict(zip(keys, values))

    return pytree.tree_structure(fill(stated))


def by_spec(value, spec):
    """Leaves of `value` in the order of `spec`; entries of dicts by key."""
    if spec.is_leaf():
        return [value]
    if spec.type is dict:
        if not isinstance(value, dict) or set(value) != set(spec.context):
            raise KeyError(f"expected a dict with keys {list(spec.context)}")
        pairs = [(value[k], c) for k, c in zip(spec.context, spec.children())]
    elif spec.type in (tuple, list):
        if len(value) != len(list(spec.children())):
            raise KeyError(f"expected {spec.num_children} elements, found {len(value)}")
        pairs = zip(value, spec.children())
    else:
        leaves, found = pytree.tree_flatten(value)
        if found != spec:
            raise KeyError(f"expected {spec}, found {found}")
        return leaves
    return [leaf for v, c in pairs for leaf in by_spec(v, c)]


def in_order_of(value, spec):
    """`value` with its dicts in the order of `spec`."""
    return pytree.tree_unflatten(by_spec(value, spec), spec)
