"""From bytecode to Numba's IR, keeping the value of `(name := expression)` for the expression around it."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import FunctionPass, Interpreter, ir, register_pass

__all__ = ["TranslateKernel"]


class _KernelInterpreter(Interpreter):
    """Numba's interpreter of bytecode, which takes a temporary that is assigned to a name for used up."""

    def _remove_unused_temporaries(self) -> None:
        body: list[Any] = []
        statements = self.current_block.body
        for position, statement in enumerate(statements):
            value: Any = getattr(statement, "value", None)
            is_copy = isinstance(statement, ir.Assign) and isinstance(value, ir.Var) and value.is_temp
            if is_copy and any(_reads(later, value.name) for later in statements[position + 1 :]):
                # What stands between the two assignments keeps Numba from making them one.
                between = ir.Const(None, statement.loc)
                name = f"$kapi_kept.{statement.loc.line}.{position}"
                self.definitions[name] = [between]
                target = self.current_scope.get_or_define(name, statement.loc)
                body.append(ir.Assign(between, target, statement.loc))
            body.append(statement)
        self.current_block.body = body
        super()._remove_unused_temporaries()


def _reads(statement: Any, name: str) -> bool:
    """Whether a statement reads a variable other than to give it another name, which Numba follows by itself."""
    if isinstance(statement, ir.Assign):
        value = statement.value
        return isinstance(value, ir.Expr) and value.op != "exhaust_iter" and _has(value.list_vars(), name)
    if isinstance(statement, (ir.SetItem, ir.SetAttr)):
        return False
    return _has(statement.list_vars(), name)


def _has(variables: list[Any], name: str) -> bool:
    return any(variable.name == name for variable in variables)


@register_pass(mutates_CFG=True, analysis_only=False)
class TranslateKernel(FunctionPass):
    """Makes Numba's IR of a function's bytecode."""

    _name = "kapi_translate_kernel"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state["func_ir"] = _KernelInterpreter(state["func_id"]).interpret(state["bc"])
        return True
