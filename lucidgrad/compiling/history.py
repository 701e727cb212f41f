"""Results that have a history: a program that runs backwards.

The equations of the gradients are traced together with the rest. What they need of the run forwards are *residuals*,
which the program gives besides its outputs; the program of gradients begins with those and with the cotangents.

With ``create_graph`` the function itself runs once more, on the tape: a program does not know what was detached on the
way, or has derivatives of its own, so only the function can say what the derivatives of its gradients are.
"""

from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd.function import Function
from lucidgrad.core import device
from lucidgrad.core.dispatch import box
from lucidgrad.core.primitive import registry
from lucidgrad.levels.program import Equation, Program, Variable, alive, variables

from .passes import dead

__all__ = ["Backward", "grown"]


class Backward:
    """How gradients of a program's outputs come to be.

    Parameters
    ----------
    joint
        The program whose outputs are ``made``, then ``grads``; its last inputs are the cotangents ``seeds``.
    made
        How many outputs come before the gradients.
    seeds
        The cotangents.
    growing
        Which outputs have a history.
    targets
        Which inputs get gradients.
    written
        Which inputs are written by the run.
    """

    def __init__(
        self,
        joint: Program,
        made: int,
        seeds: Sequence[Variable],
        growing: Sequence[int],
        targets: Sequence[int],
        written: set[int],
    ) -> None:
        self.growing, self.targets = list(growing), list(targets)
        inputs = [v for v in joint.inputs if v not in set(seeds)]
        places = {v: i for i, v in enumerate(inputs)}
        later, earlier = set(seeds), list[Equation]()  # what processes do together backwards waits for the cotangents
        for equation in joint.equations:
            if later.isdisjoint(equation.variables):
                earlier.append(equation)
            else:
                later.update(equation.results)
        equations, _ = alive(Program(inputs, earlier, joint.outputs[:made], joint.constants))
        ran = {id(equation) for equation in equations}
        rest = [equation for equation in joint.equations if id(equation) not in ran]
        own = {v for equation in rest for v in equation.results} | set(seeds) | set(joint.constants)
        asked = [v for equation in rest for v in equation.variables] + list(joint.outputs[made:])
        residuals = list(dict.fromkeys(v for v in asked if v not in own))
        highest = max((v.number for v in variables(joint)), default=0)
        kept: list[Variable] = []
        for n, v in enumerate(residuals, 1):  # an input that is written in place must be kept as it was
            if v in places and places[v] in written:
                copy = Variable(highest + n, v.shape, v.dtype, v.device)
                equations.append(Equation(registry["clone"], (v,), dict(registry["clone"].keywords), (copy,)))
                v = copy
            kept.append(v)
        #: Of each residual: the place of the input that it is, or None where the program gives it.
        self.sources = [places.get(v) for v in kept]
        extra = [v for v, source in zip(kept, self.sources, strict=True) if source is None]
        self.given = made
        outputs = [*joint.outputs[:made], *extra]
        self.forward = dead(Program(inputs, equations, outputs, joint.constants))
        self.backward = dead(Program([*residuals, *seeds], rest, joint.outputs[made:], joint.constants))


class _Kept:
    """What a run left behind for its gradients. Derivatives of those don't ask for it: they compute it anew."""

    __slots__ = ("again", "back", "residuals", "run", "values")

    def __init__(self, back: Backward, run: Any, residuals: Any, values: Any, again: Any) -> None:
        self.back, self.run, self.residuals, self.values, self.again = back, run, residuals, values, again


class _Grown(Function):
    """The results of a run that have a history, whose gradients another program gives."""

    @staticmethod
    def forward(ctx: Any, kept: _Kept, made: Any, *tensors: Any) -> Any:
        ctx.kept, ctx.count = kept, len(tensors)
        ctx.save_for_backward(*tensors)
        return tuple(box(made[k]) for k in kept.back.growing)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        kept, tensors = ctx.kept, ctx.saved_tensors  # which raises if one was written since
        back = kept.back
        if lg.is_grad_enabled():
            found = kept.again(cotangents)
        else:
            own = iter(kept.residuals)
            values = [next(own) if i is None else kept.values[i] for i in back.sources]
            values += [g.array for g in cotangents]
            layered = any(type(value) in device.layers for value in values)
            found = list(map(box, (back.backward.run if layered else kept.run)(values)))
        grads: list[Any] = [None] * len(tensors)
        for i, g in zip(back.targets, found, strict=True):
            grads[i] = g
        return None, None, *grads


def grown(
    back: Backward, run: Any, made: Sequence[Any], values: Sequence[Any], tensors: Sequence[Any], again: Any
) -> list[Any]:
    """The tensors of the outputs that have a history; ``again(cotangents)`` gives their gradients on the tape."""
    found = _Grown.apply(_Kept(back, run, made[back.given :], values, again), made, *tensors)
    return list(found) if isinstance(found, tuple) else [found]
