"""`explain`: why a gradient is None, zero, not finite or huge, in words."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.box import INFERENCE
from lucidgrad.core.dispatch import floats, node_of
from lucidgrad.core.engine import Walk
from lucidgrad.core.errors import GradArgError
from lucidgrad.core.items import meta_of
from lucidgrad.core.modes import plain_nodes, state
from lucidgrad.core.plan import Plan
from lucidgrad.core.tape import FREED, Leaf, storage
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from .causes import ADVICE, amplified, host, not_finite, vanished
from .provenance import Reason, Site, explaining, note_of, reads, reasons_of, site_of

__all__ = ["Explanation", "explain", "explaining"]


class Explanation:
    """What `explain` found.

    Attributes
    ----------
    status
        What the gradient is: ``"ok"``, ``"none"``, ``"zero"``, ``"nan"``, ``"inf"`` or ``"huge"``.
    cause
        Why, in a word: ``"detach"``, ``"dead_relu"``, ``"infinite_slope"``...; ``"ok"`` if nothing is wrong.
    message
        Why, in words.
    where
        The line to blame (``file``, ``line``, ``function``), or None if it is not known.
    op
        The operation to blame, or None.
    advice
        What to do about it.
    notes
        What else was seen.
    counts
        Numbers: of elements, zeros, NaNs and infinities in the gradient, norms...

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, -2.0], requires_grad=True)
    >>> found = lg.autograd.explain(lg.relu(x).sum(), x)
    >>> found.status, found.cause, found.op
    ('zero', 'dead_relu', 'relu')
    """

    def __init__(
        self, status: str, cause: str, message: str, where: Site | None = None, op: str | None = None, **counts: Any
    ) -> None:
        self.status, self.cause, self.message, self.where, self.op = status, cause, message, where, op
        self.advice = ADVICE.get(cause, "")
        self.notes: list[str] = []
        self.counts: dict[str, Any] = counts

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return self.status == "ok"

    def __str__(self) -> str:
        lines = [f"{_STATUS[self.status]}: {self.message}"]
        if self.where is not None:
            lines.append(f"  at {self.where}" + (f":  {self.where.source}" if self.where.source else ""))
        if self.advice:
            lines.append(f"  What to do: {self.advice}")
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = __str__


_STATUS = {
    "ok": "The gradient is fine",
    "none": "The gradient is None",
    "zero": "The gradient is zero",
    "nan": "The gradient has NaNs",
    "inf": "The gradient has infinities",
    "huge": "The gradient is huge",
}


def explain(loss: Tensor, x: Tensor, grad_outputs: Any = None, *, huge: float = 1e6) -> Explanation:
    """Say why the gradient of ``loss`` with respect to ``x`` is None, zero, not finite or huge; or that it is fine.

    It walks the graph as `grad` does (hooks of tensors run), changes no ``.grad`` and frees nothing. Call it before
    ``backward``, which frees the graph. Run the forward inside `explaining` for the lines to blame.

    Parameters
    ----------
    loss
        The result that was differentiated, or was to be.
    x
        The tensor whose gradient is in question.
    grad_outputs
        The seed, as in `grad`; None means ones, for any shape.
    huge
        The modulus from which on an element of the gradient counts as huge.

    Returns
    -------
    Explanation
        Print it to read it; ``status``, ``cause``, ``where``, ``op``, ``advice`` are for programs.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 4.0], requires_grad=True)
    >>> with lg.autograd.explaining():
    ...     loss = lg.sqrt(x).sum()
    >>> print(lg.autograd.explain(loss, x))
    The gradient has infinities: backward of sqrt makes 1 of 2 values infinite, the first that do so on the way \
from the loss: its slope is infinite there
      at ...
      What to do: keep the argument away from the edge of the domain...
    """
    for name, given in (("loss", loss), ("x", x)):
        if not isinstance(given, Tensor):
            raise TypeError(f"explain: {name} is a {type(given).__name__}, expected a Tensor")
    with plain_nodes():
        return _explained(loss, x, grad_outputs, huge)


def _explained(loss: Tensor, x: Tensor, seed: Any, huge: float) -> Explanation:
    found = _off_tape(loss, x)
    if found is not None:
        return found
    node, root = node_of(x), node_of(loss)
    plan = Plan([root], [node])
    if node not in plan.reached:
        return _unreached(loss, x, plan)
    if any(n.saved is FREED for n in plan.order if plan.runs(n)):
        found = _from_grad(x, huge)
    else:
        found = _walked(loss, plan, node, seed, huge)
    _check_loss(loss, found)
    if type(node) is not Leaf and not x.retains_grad:
        if found.healthy:
            found = Explanation(
                "none",
                "non_leaf",
                "x.grad stays None: x was computed and is no leaf, and only leaves keep their gradient; "
                "the gradient itself arrives and is fine",
                site_of(node),
                _op(node),
                **found.counts,
            )
        else:
            found.notes.append("x is no leaf: x.grad stays None without x.retain_grad()")
    return found


def _op(node: Any) -> str | None:
    recipe = getattr(getattr(node, "fork", node), "recipe", None)
    return None if recipe is None else recipe.primitive.name


# -- no gradient ---------------------------------------------------------------------------------
_CUTS: dict[str, str] = {
    "detach": "{op}() cut x off from the loss: its result has no history",
    "no_grad": "{op} was computed under no_grad, so nothing was recorded",
    "inference_mode": "{op} was computed in inference mode, so nothing was recorded",
    "integer": "{op} made integers, which carry no gradient",
    "not_differentiable": "{op} has no derivative with respect to this input",
    "host": "the loss does not depend on x on the tape, but x (or what was made of it) was read as numbers here, "
    "and numbers carry no gradient",
}


def _cut(reason: Reason, what: str = "") -> Explanation:
    return Explanation("none", reason.cause, what + _CUTS[reason.cause].format(op=reason.op), reason.site, reason.op)


def _pick(reasons: Iterable[Reason], x: Tensor) -> Explanation | None:
    """The latest of the reasons that concern x; the others as notes."""
    node = node_of(x)
    mine = sorted({r for r in reasons if r.concerns(x, node)}, key=lambda r: (r.constant is None, r.order))
    if not mine:
        return None
    if mine[-1].constant is not None:
        return _late()
    found = _cut(mine[-1])
    found.notes = [f"also cut by {r.op} at {r.site}" for r in reversed(mine[:-1]) if r.constant is None]
    return found


def _late() -> Explanation:
    return Explanation(
        "none", "requires_grad_late", "x was used before it required grad: the loss has its value as a constant"
    )


def _off_tape(loss: Tensor, x: Tensor) -> Explanation | None:
    """What is wrong where x or the loss has no place on the tape."""
    if x.array.dtype not in floats:
        return Explanation("none", "integer", f"x has dtype {x.dtype}, and only floating-point values have gradients")
    if node_of(x) is None:
        cuts = [reason for reason in reasons_of(x) if reason.constant is None]
        if cuts:
            return _cut(cuts[-1], "x does not require grad: ")
        if x._alias is INFERENCE:
            return Explanation("none", "inference_mode", "x was made in inference mode, so it has no gradient")
        return Explanation("none", "requires_grad", "x.requires_grad is False, so nothing is recorded for it")
    if node_of(loss) is not None:
        return None
    found = _pick(reasons_of(loss), x) or _pick(reads(), x)
    if found is not None:
        return found
    if loss.array.dtype not in floats:
        return Explanation("none", "integer", f"the loss has dtype {loss.dtype}, and integers carry no gradient")
    if loss._alias is INFERENCE:
        return Explanation("none", "inference_mode", "the loss was computed in inference mode: nothing was recorded")
    if loss._alias is not None and loss._alias.barrier is not None:
        return Explanation("none", "no_grad", f"the loss {loss._alias.barrier}: nothing was recorded")
    return Explanation(
        "none",
        "no_path",
        "the loss is not on the tape: no value it was computed from carried a gradient (detached, computed under "
        "no_grad, converted to integers or numbers, or never made from x)",
    )


def _unreached(loss: Tensor, x: Tensor, plan: Plan) -> Explanation:
    """Both are on the tape, but nothing leads from the loss to x."""
    node = node_of(x)
    found = _pick(_fed(loss, plan), x)
    if found is not None:
        return found
    kept = list(_kept(plan))
    constant = any(array is storage(x.array) for array in kept)
    if node.when > node_of(loss).when:  # younger than the loss
        if constant and type(node) is Leaf:
            return _late()
        return Explanation(
            "none",
            "rebound",
            "x was made after the loss: the loss was computed from another tensor, "
            "perhaps one that had the same name before",
            site_of(node),
        )
    if constant:
        return Explanation("none", "detach", "the loss has the value of x as a constant: x was detached")
    found = _pick((read for read in reads() if read.order < node_of(loss).when), x)
    if found is not None:
        return found
    found = Explanation("none", "no_path", "the loss does not depend on x: no operation leads from x to it")
    form = meta_of(x.array)
    alike = sum(type(n) is Leaf and n.meta == form for n in plan.reached)
    if alike:
        found.notes.append(f"it depends on {alike} other leaf tensors of the same shape: was x copied or replaced?")
    if type(node) is not Leaf and not plan.reached.isdisjoint(Plan([node]).reached):
        found.notes.append("it depends on tensors that x was computed from, by another way")
    return found


def _fed(loss: Tensor, plan: Plan) -> Iterator[Reason]:
    """Why constants and leaves of the graph carry no gradient further back."""
    for node in plan.reached:
        noted = note_of(node)
        if noted is not None:
            yield from noted.fed
    yield from reasons_of(loss)


def _kept(plan: Plan) -> Iterator[Any]:
    """The memory of the arrays that the graph keeps."""
    for node in plan.reached:
        for value in node.saved:
            for array in value if type(value) is tuple else (value,):
                if type(array) in device.by_array:
                    yield storage(array)


# -- the values ----------------------------------------------------------------------------------
class Figures:
    """What is told of a cotangent."""

    __slots__ = ("infinite", "largest", "nans", "norm", "size", "zeros")

    def __init__(self, array: Any) -> None:
        values = host(array)
        values = abs(values.astype("complex128" if values.dtype.kind == "c" else "float64"))
        self.size = int(values.size)
        self.nans = int((values != values).sum())
        self.infinite = int((values == float("inf")).sum())
        self.zeros = int((values == 0).sum())
        self.largest = float(values.max()) if self.size else 0.0
        self.norm = float((values * values).sum() ** 0.5) if self.largest < 1e150 else self.largest

    @property
    def all_zero(self) -> bool:
        return self.zeros == self.size

    @property
    def bad(self) -> int:
        return self.nans + self.infinite


class Visit:
    """What one node did: the cotangent that came in, and those that went on."""

    __slots__ = ("given", "node", "sent")

    def __init__(self, node: Any, given: Figures, sent: list[tuple[Any, int, Figures]]) -> None:
        self.node, self.given, self.sent = node, given, sent  # sent: (the node it goes to, the input's index, figures)

    @property
    def op(self) -> str:
        return self.node.recipe.primitive.name

    @property
    def site(self) -> Site | None:
        return site_of(self.node)


def _joined(parts: list[Figures]) -> Figures:
    total = parts[0]
    for part in parts[1:]:
        for name in ("infinite", "nans", "size", "zeros"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
        total.largest = max(total.largest, part.largest)
        total.norm = (total.norm**2 + part.norm**2) ** 0.5
    return total


class _Watch:
    """Sees every visit of a walk."""

    def __init__(self) -> None:
        self.visits: list[Visit] = []

    def before(self, node: Any, g: Any) -> None:
        pass

    def after(self, node: Any, g: Any, cts: Any) -> None:
        given = _joined([Figures(part) for part in (g if type(g) is tuple else (g,)) if part is not None])
        sent = [
            (parent, i, Figures(ct))
            for i, (parent, ct) in enumerate(zip(node.inputs, cts, strict=True))
            if ct is not None
        ]
        self.visits.append(Visit(node, given, sent))


class _Passive(Walk):
    """A walk that keeps nothing, and notes hooks that change a gradient."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, create_graph=False, retain_graph=True)
        self.changes: list[tuple[Figures, Figures]] = []

    def _hooked(self, extras: Any, g: Any) -> Any:
        changed = super()._hooked(extras, g)
        if changed is not g:
            self.changes.append((Figures(g), Figures(changed)))
        return changed


def _walked(loss: Tensor, plan: Plan, node: Any, seed: Any, huge: float) -> Explanation:
    walk, watch = _Passive(plan), _Watch()
    before = state.observers
    state.observers = (watch,)
    try:
        walk.run([(node_of(loss), _seed(loss, seed))])
    finally:
        state.observers = before
    g = walk.arrived.get(node)
    if g is None:
        return Explanation(
            "none", "returned_none", "a backward on the way gave None for x: a custom function or a rule without result"
        )
    result = Figures(g)
    return _judged(result, watch.visits, walk.changes, node, huge)


def _seed(loss: Tensor, seed: Any) -> Any:
    shape, dtype, where = meta_of(loss.array)
    backend = device.backend_named(where)
    if seed is None or isinstance(seed, (int, float, complex)):
        return backend.full(shape, 1 if seed is None else seed, dtype, where)
    array = seed.array if isinstance(seed, Tensor) else backend.asarray(seed, where=where)
    if tuple(array.shape) != tuple(shape):
        raise GradArgError(f"explain: grad_outputs has shape {tuple(array.shape)}, the loss {tuple(shape)}")
    return array


def _judged(
    result: Figures, visits: list[Visit], changes: list[tuple[Figures, Figures]], node: Any, huge: float
) -> Explanation:
    symptom: Callable[[Figures], Any]
    if result.bad:
        symptom, found = (lambda f: f.bad), not_finite(result, visits)
    elif result.size and result.all_zero:
        symptom, found = (lambda f: f.all_zero), vanished(visits, node)
    elif result.largest > huge:
        symptom, found = (lambda f: f.largest > huge), amplified(result, visits)
    else:
        return _ok(result)
    status, cause, message, site, op, counts = found
    if any(symptom(after) and not symptom(before) for before, after in changes):
        message = "a hook that was registered on a tensor changed the gradient to this"
        cause, site, op, counts = "hook", None, None, {}
    return Explanation(status, cause, message, site, op, **_counts(result), **counts)


def _counts(result: Figures) -> dict[str, Any]:
    return {
        "elements": result.size, "zeros": result.zeros, "nans": result.nans, "infinities": result.infinite,
        "norm": result.norm,
    }  # fmt: skip


def _ok(result: Figures) -> Explanation:
    message = f"{result.size} elements, {result.zeros} of them zero, norm {result.norm:.4g}"
    return Explanation("ok", "ok", message if result.size else "x has no elements", **_counts(result))


def _from_grad(x: Tensor, huge: float) -> Explanation:
    """The graph was freed: what .grad says."""
    if x.grad is None:
        return Explanation("none", "freed", "the graph was freed by an earlier backward, and x.grad was not kept")
    found = _judged(Figures(x.grad.array), [], [], None, huge)
    if not found.healthy:
        found.cause, found.advice = "freed", ADVICE["freed"]
        found.message = (
            "that is what x.grad holds; the graph was freed by backward, so where it came from can't be told"
        )
    return found


def _check_loss(loss: Tensor, found: Explanation) -> None:
    figures = Figures(loss.array)
    if figures.bad:
        found.notes.append("the loss itself is not finite")


_guard(__name__, __all__)
