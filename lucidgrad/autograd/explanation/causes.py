"""What a walk's figures say about a gradient that is zero, not finite or huge; and what to do about it."""

from collections.abc import Iterator
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.items import Input, Inputs, Item, Own, Result
from lucidgrad.core.primitive import registry
from lucidgrad.core.tape import Leaf
from lucidgrad.levels.layer import Layer

from .provenance import site_of

#: What to do, by cause.
ADVICE = {
    "amplified": "look at the values at this line: clip gradients, scale the input, or bound the slope",
    "bad_forward": "keep the argument inside the function's domain, e.g. with clip or where before the call",
    "bad_input": "clean the data: lg.isfinite tells which entries are NaN or infinite",
    "cancelled": "the terms cancel: check signs, and whether the same tensor was meant twice",
    "custom": "look at the backward of this custom function",
    "dead_relu": "use leaky_relu, a smaller learning rate, or another initialisation",
    "degenerate": "break the tie (add a little noise), or use a loss that depends on the values, not on their vectors",
    "detach": "leave out the detach() (or .data), or differentiate with respect to the detached tensor",
    "division_by_zero": "add a small number to the denominator, or mask zeros before the division",
    "exploding": "clip gradients, normalise, or make the chain contract: many operations amplify a little each",
    "flat": "use a smooth function instead, or a straight-through estimator (lg.custom_vjp)",
    "freed": "call explain before backward, or backward(retain_graph=True)",
    "hook": "look at the hooks that were registered with register_hook",
    "host": "compute with tensors instead of .item(), .numpy(), .tolist() or float()",
    "ignored": "check the targets: every one of them is ignore_index",
    "inference_mode": "leave the inference_mode block, and compute again",
    "infinite_slope": "keep the argument away from the edge of the domain, e.g. lg.sqrt(x + 1e-12), or mask it before",
    "integer": "keep the values in a floating-point dtype",
    "log_of_zero": "use lg.xlogy(x, y) for x * log(y), or choose before the log: lg.log(lg.where(x > 0, x, 1.0))",
    "never_chosen": "the condition never picks this branch: check it, or the mask",
    "no_grad": "compute it outside the no_grad block, or inside enable_grad()",
    "no_path": "use x in the computation of the loss; run the forward inside lg.autograd.explaining() to see more",
    "non_leaf": "call x.retain_grad() before backward, or use lg.autograd.grad(loss, x)",
    "not_attained": "x is never the one that is picked; use a smooth maximum (logsumexp) if all are to learn",
    "not_differentiable": "use a differentiable function instead, or lg.custom_vjp to give it a derivative",
    "not_selected": "the loss uses only parts of the joined tensor that do not come from x: check the index",
    "overflow": "scale the argument down, subtract the maximum before exp (logsumexp, log_softmax), or use float64",
    "overwritten": "the values were overwritten in place before the loss used them: write elsewhere",
    "rebound": "differentiate with respect to the tensor that was used, and keep a name for it",
    "requires_grad": "call x.requires_grad_() before the forward, or make x with requires_grad=True",
    "requires_grad_late": "call x.requires_grad_() before the forward, and compute the loss again",
    "returned_none": "let the custom function's backward return a gradient for this input",
    "saturated": "the function is flat here in this precision: scale its argument down, or use a form with logits",
    "saturated_clip": "all values are at or beyond the bounds: widen them, or use a smooth function",
    "seed": "check the seed (grad_outputs)",
    "stationary": "the slope is zero at this point: start elsewhere",
    "times_zero": "a factor is exactly zero: check weights that were initialised with zeros, masks and scales",
    "underflow": "the product is too small for this precision: scale the loss, or use a wider dtype",
    "zero_rule": "look at the values that went into this operation",
}  # fmt: skip

_FAMILIES = {
    "dead_relu": "relu leaky_relu",
    "saturated_clip": "clip hardtanh hardsigmoid hardswish",
    "saturated": "sigmoid tanh softmax log_softmax erf erfc ndtr log_ndtr atan logsigmoid softplus exp exp2 expm1 "
    "silu gelu mish elu celu asinh logsumexp logaddexp logaddexp2 cross_entropy_rows attention "
    "rnn_sequence lstm_sequence gru_sequence",
    "never_chosen": "where",
    "not_attained": "maximum minimum max min",
    "flat": "floor ceil round trunc sign heaviside floor_divide copysign nextafter",
    "overwritten": "overwrite",
    "stationary": "square abs cos cosh hypot var std vector_norm sinc mean_squared_error",
    "times_zero": "multiply matmul linear affine across divide pair_einsum prod convolution convolution_input "
    "convolution_weight remainder fmod thin cumulative_prod layer_norm batch_norm scale",
}
_ZERO = {op: cause for cause, ops in _FAMILIES.items() for op in ops.split()}
_SLOPES = frozenset(
    "sqrt rsqrt log log2 log10 log1p pow asin acos acosh atanh reciprocal divide vector_norm hypot std "
    "xlogy erfinv erfcinv ndtri log_odds entr".split()
)
_SPECTRAL = frozenset(("eigh", "eig", "svd", "qr"))
_LOGARITHMS = frozenset(("log", "log2", "log10", "log1p"))
_DIVIDES = frozenset(("divide", "reciprocal", "rsqrt", "remainder"))

_WORDS = {
    "dead_relu": "all its inputs are at or below zero",
    "saturated_clip": "all values are at or beyond its bounds",
    "saturated": "it is saturated: its slope is zero in this precision",
    "log_of_zero": "use lg.xlogy(x, y) for x * log(y), or choose before the log: lg.log(lg.where(x > 0, x, 1.0))",
    "never_chosen": "the condition never chooses this input where the loss looks",
    "not_attained": "this input never holds the value that is picked",
    "flat": "it is constant between jumps, so its derivative is zero everywhere",
    "overwritten": "these values were overwritten in place",
    "stationary": "its slope is zero at this point",
    "times_zero": "the other factor is exactly zero where the loss looks",
    "underflow": "the product is too small for this precision",
    "not_selected": "the loss uses only parts that do not come from this input",
    "cancelled": "its terms cancel exactly",
    "ignored": "all targets are ignored",
    "custom": "the custom backward returned zeros",
    "zero_rule": "its derivative is zero at these values",
}

Found = tuple[str, str, str, Any, str | None, dict[str, Any]]  # status, cause, message, where, op, counts


def _kept(node: Any) -> list[tuple[type[Item], Any, Any]]:
    """What a node keeps: (kind, which input or keyword, value)."""
    saved = node.saved
    if node.extras is not None and node.extras.unpack is not None:
        saved = node.extras.unpack(saved)
    items = getattr(node.recipe, "items", ())
    return [(type(item), item.at, value) for item, value in zip(items, saved, strict=False)]


def host(value: Any) -> Any:
    """The values of an array (without tangents), or a number; None for anything else."""
    while isinstance(value, Layer):
        value = value.front
    if type(value) in device.by_array:
        return device.by_array[type(value)].to_numpy(value)
    return value if isinstance(value, (int, float, complex)) else None


def _any(condition: Any) -> bool:
    return bool(condition.any() if hasattr(condition, "any") else condition)


def _is_custom(node: Any) -> bool:
    return registry.get(node.recipe.primitive.name) is not node.recipe.primitive


# -- zero ----------------------------------------------------------------------------------------
def vanished(visits: list[Any], node: Any) -> Found:
    """Why all of a gradient is zero: who turned the last values that weren't into zeros."""
    killers = [
        (visit, i)
        for visit in visits
        if not visit.given.all_zero
        for parent, i, sent in visit.sent
        if sent.size and sent.all_zero
    ]
    if not killers:
        if not visits or visits[0].given.all_zero:
            return "zero", "seed", "the seed is zero", None, None, {}
        return _cancelled(visits, node)
    visit, i = killers[0]
    cause, visit = _zero_cause(visit, i, visits)
    message = f"backward of {visit.op} gives zeros only: {_WORDS[cause]}"
    if len(killers) > 1:
        message += f" (and {len(killers) - 1} more operations on the ways to x do the same)"
    return "zero", cause, message, visit.site, visit.op, {}


def _zero_cause(visit: Any, i: int, visits: list[Any]) -> tuple[str, Any]:
    node = visit.node
    if _is_custom(node):
        return "custom", visit
    cause = _ZERO.get(visit.op)
    if cause == "times_zero":
        cause = _product_cause(visit, i)
    if visit.op in ("softmax", "log_softmax") and not _is_saturated(node, visit.op):
        cause = "cancelled"  # the shares always add up to one
    if visit.op == "cross_entropy_rows":
        parts = {at: host(value) for kind, at, value in _kept(node)}
        cause = "ignored" if _all(parts[1] == parts["ignore_index"]) else cause
    if visit.op == "pow":
        exponents = [host(value) for kind, at, value in _kept(node) if kind is Input and at == 1]
        cause = "flat" if exponents and exponents[0] is not None and _any(exponents[0] == 0) else "stationary"
    if visit.op == "astype":
        cause = "underflow"
    if cause is not None:
        return cause, visit
    if not node.recipe.keeps_arrays:  # it only moves values: who made those zero that it passes on to x?
        for other in reversed(visits[: visits.index(visit)]):
            if any(sent.zeros > 0 for _, _, sent in other.sent) and not other.given.zeros:
                cause = _ZERO.get(other.op, "not_selected")
                return (cause, visit) if cause == "not_selected" else (cause, other)
        return "not_selected", visit
    return "zero_rule", visit


def _product_cause(visit: Any, i: int) -> str:
    """Why a product gives zeros: a factor is zero, or the terms of a sum cancel, or they are too small."""
    kept = [(at, host(value)) for kind, at, value in _kept(visit.node) if kind is Input]
    known = [(at, other) for at, other in kept if at != i and other is not None and getattr(other, "size", 1)]
    if not known:
        return "times_zero"
    if any(_any(other == 0) for _, other in known):
        inputs = visit.node.inputs
        return "stationary" if any(inputs[at] is inputs[i] for at, _ in known) else "times_zero"
    small = 1e-4 if any(getattr(other, "dtype", None) == "float16" for _, other in known) else 1e-30
    return "underflow" if min(_largest(other) for _, other in known) * visit.given.largest < small else "cancelled"


def _is_saturated(node: Any, op: str) -> bool:
    """Whether all shares of a softmax are zero or one."""
    shares = [host(value) for kind, _, value in _kept(node) if kind is Result]
    low = 0 if op == "softmax" else -float("inf")
    high = 1 if op == "softmax" else 0
    return not shares or _all((shares[0] == low) | (shares[0] == high) | (abs(shares[0] - low) < 1e-30))


def _largest(values: Any) -> float:
    return float(abs(values).max() if hasattr(values, "max") else abs(values))


def _all(condition: Any) -> bool:
    return bool(condition.all() if hasattr(condition, "all") else condition)


def _cancelled(visits: list[Any], node: Any) -> Found:
    givers = [visit for visit in visits for parent, _, sent in visit.sent if parent is node and not sent.all_zero]
    if not givers:
        zero = next((visit for visit in visits if visit.given.all_zero), None)
        into = zero.node if zero is not None else node
        givers = [visit for visit in visits for parent, _, sent in visit.sent if parent is into and not sent.all_zero]
    names = " and ".join(sorted({visit.op for visit in givers})) or "several operations"
    site = givers[0].site if givers else None
    message = f"the gradients that arrive from {names} cancel exactly"
    return "zero", "cancelled", message, site, givers[0].op if givers else None, {}


# -- not finite ----------------------------------------------------------------------------------
def not_finite(result: Any, visits: list[Any]) -> Found:
    """Which operation's backward made the first NaN or infinity, and why."""
    status = "nan" if result.nans else "inf"
    if visits and visits[0].given.bad:
        return status, "seed", "the seed is not finite", None, None, {}
    for visit in visits:
        bad = next((sent for _, _, sent in visit.sent if sent.bad), None)
        if bad is None or visit.given.bad:
            continue
        kind = "NaN" if bad.nans else "infinite"
        message = (
            f"backward of {visit.op} makes {bad.bad} of {bad.size} values {kind}, "
            f"the first that do so on the way from the loss: "
        )
        cause, why, site, op = _bad_cause(visit, visits)
        return status, cause, message + why, site or visit.site, op, {"offending": bad.bad, "of": bad.size}
    return status, "overflow", "the sum of the gradients that arrive is not finite", None, None, {}


def _bad_cause(visit: Any, visits: list[Any]) -> tuple[str, str, Any, str]:
    node, op = visit.node, visit.op
    kept = [(at, host(value)) for kind, at, value in _kept(node) if kind is Input]
    clean = not any(_bad(values) for _, values in kept)
    if op in _DIVIDES and clean and (op != "divide" or _has(kept, 1, 0)):
        return "division_by_zero", "it divides by zero", None, op
    if op in _SLOPES and clean:
        results = [(0, host(value)) for kind, _, value in _kept(node) if kind is Result]
        if (op == "pow" and _has(kept, 0, 0)) or (op not in ("pow", "divide") and _has(kept + results, None, 0, 1, -1)):
            return "infinite_slope", "its slope is infinite there", None, op
    for old in sorted((s.node for s in visits), key=lambda n: n.when):  # oldest first: as the forward ran
        found = _bad_kept(old)
        if found is not None:
            return found
    if _is_custom(node):
        return "custom", "it is a custom function, and what it kept is finite", None, op
    if op in _SPECTRAL:
        why = "some of its eigenvalues or singular values are equal (or zero), and their vectors have no derivative"
        return "degenerate", why, None, op
    return "overflow", "what it kept is finite, and the product is too large for this precision", None, op


def _has(kept: list[tuple[Any, Any]], which: int | None, *edges: int) -> bool:
    """Whether an input that is kept (or any) has one of these values."""
    values = [v for at, v in kept if v is not None and which in (None, at)]
    return any(_any(v == edge) for v in values for edge in edges)


def _bad(values: Any, nan_only: bool = False) -> bool:
    if values is None or getattr(getattr(values, "dtype", None), "kind", "f") not in "fc":
        return False
    return _any(values != values) or (not nan_only and _any(abs(values) == float("inf")))


def _bad_kept(node: Any) -> tuple[str, str, Any, str] | None:
    """Who made a value that is not finite and that a node keeps from the forward."""
    op = node.recipe.primitive.name
    for values, maker in _values(node):
        if not _bad(values):
            continue
        kind = "NaN" if _any(values != values) else "infinite"
        if maker is None or type(maker) is Leaf:
            whose = "a constant" if maker is None else "a leaf tensor"
            return "bad_input", f"{whose} that goes into {op} has {kind} values", site_of(node), op
        maker = getattr(maker, "fork", maker)
        name = maker.recipe.primitive.name
        cause = "bad_forward" if kind == "NaN" else "division_by_zero" if name in _DIVIDES else "overflow"
        cause = "log_of_zero" if kind == "infinite" and name in _LOGARITHMS else cause
        return cause, f"the forward of {name} made {kind} values already", site_of(maker), name
    return None


def _values(node: Any) -> Iterator[tuple[Any, Any]]:
    inputs = node.inputs
    for kind, at, value in _kept(node):
        if kind is Input:
            yield host(value), inputs[at]
        elif kind is Inputs:
            yield from ((host(part), parent) for part, parent in zip(value, inputs, strict=True))
        elif kind in (Result, Own):
            for part in value if type(value) is tuple else (value,):
                yield host(part), node


# -- huge ----------------------------------------------------------------------------------------
def amplified(result: Any, visits: list[Any]) -> Found:
    """Which operation's backward makes a gradient grow most."""
    grown = [
        (sent.largest / visit.given.largest, visit, sent)
        for visit in visits
        if visit.given.largest
        for _, _, sent in visit.sent
    ]
    total = result.largest / (visits[0].given.largest or 1) if visits else 1.0
    if not visits or total <= 1e3:
        return "huge", "seed", f"the seed is as large as {result.largest:.3g}", None, None, {}
    ratio, visit, sent = max(grown, key=lambda entry: entry[0])
    several = sum(entry[0] > 1.1 for entry in grown)
    message = (
        f"backward of {visit.op} amplifies most: the norm grows from {visit.given.norm:.3g} to {sent.norm:.3g} "
        f"(largest element {ratio:.3g} times as large); the gradient's norm is {result.norm:.3g}"
    )
    if ratio < total**0.5:
        message += f"; {several} operations amplify"
    cause = "amplified" if ratio >= total**0.5 else "exploding"
    return (
        "huge",
        cause,
        message,
        visit.site,
        visit.op,
        {"before": visit.given.norm, "after": sent.norm, "ratio": ratio},
    )
