"""Translation of bytecode to Numba's IR, with what Numba's own functions do not need and kernels do.

The value of `(name := expression)` is kept for the expression around it. The names of a call's keywords are no values
of the kernel. An end that Python's compiler wrote several times is one.
"""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import ByteCode, FunctionPass, Interpreter, canonicalize_cfg, ir, register_pass
from kapi_types.kernel_typing.passes.shared_exits import with_shared_exits

__all__ = ["TranslateKernel"]


class _KernelBytecode(ByteCode):
    """A function's bytecode, whose variables name temporaries unambiguously.

    Numba calls what is loaded from `v` at 1704, and from `v1` at 704, both `$v1704.0`: here names end with a dot.
    """

    def __init__(self, identity: Any) -> None:
        super().__init__(identity)
        self.co_varnames: tuple[str, ...] = tuple(f"{name}." for name in self.co_varnames)


class _KernelInterpreter(Interpreter):
    """Numba's interpreter of bytecode, which takes a temporary that is assigned to a name for used up."""

    @property
    def code_locals(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.func_id.code.co_varnames
        return names

    def op_CALL_KW(self, inst: Any, func: str, args: list[str], kw_names: str, res: str) -> None:
        # Python 3.13 loads the names right before the call. Numba gives them to the call and leaves what loads them, a
        # tuple of texts that nothing reads: there are no texts in kernels.
        self._forget_names()
        super().op_CALL_KW(inst, func, args, kw_names, res)

    def _forget_names(self) -> None:
        """Take back what was translated last: texts, and the tuple of them."""
        body = self.current_block.body
        made = body[-1].value
        assert getattr(made, "op", "") == "build_tuple", body[-1]
        for statement in body[-1 - len(made.items) :]:
            self.definitions[statement.target.name].pop()
        del body[-1 - len(made.items) :]

    def _remove_unused_temporaries(self) -> None:
        body: list[Any] = []
        statements = self.current_block.body
        last_read = {
            variable.name: position for position, statement in enumerate(statements) for variable in _read(statement)
        }
        for position, statement in enumerate(statements):
            value: Any = getattr(statement, "value", None)
            is_copy = isinstance(statement, ir.Assign) and isinstance(value, ir.Var) and value.is_temp
            if is_copy and last_read.get(value.name, -1) > position:
                # What stands between the two assignments keeps Numba from making them one.
                between = ir.Const(None, statement.loc)
                name = f"$kapi_kept.{statement.loc.line}.{position}"
                self.definitions[name] = [between]
                target = self.current_scope.get_or_define(name, statement.loc)
                body.append(ir.Assign(between, target, statement.loc))
            body.append(statement)
        self.current_block.body = body
        super()._remove_unused_temporaries()


def _read(statement: Any) -> list[Any]:
    """The variables that a statement reads other than to give them another name, which Numba follows by itself."""
    if isinstance(statement, ir.Assign):
        value = statement.value
        return value.list_vars() if isinstance(value, ir.Expr) and value.op != "exhaust_iter" else []
    if isinstance(statement, (ir.SetItem, ir.SetAttr)):
        return []
    return list(statement.list_vars())


@register_pass(mutates_CFG=True, analysis_only=False)
class TranslateKernel(FunctionPass):
    """Makes Numba's IR of a function's bytecode."""

    _name = "kapi_translate_kernel"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        identity = state["func_id"]
        identity.code = with_shared_exits(identity.code)
        state["bc"] = _KernelBytecode(identity)
        func_ir = state["func_ir"] = _KernelInterpreter(identity).interpret(state["bc"])
        func_ir.blocks = canonicalize_cfg(func_ir.blocks)
        return True
