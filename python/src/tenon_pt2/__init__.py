"""Joins hybrid graphs: a torch.fx.GraphModule that calls child graphs and
engines becomes one program, natively and with proof. See README.md."""

from ._engines import register_engine
from ._errors import Finding, TenonError
from ._join import join, save

__all__ = ["Finding", "TenonError", "join", "register_engine", "save"]
