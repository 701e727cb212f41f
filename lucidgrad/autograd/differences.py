"""A function's derivatives at one point against differences.

Everything is seen as real functions of real numbers: a complex output is its real and its imaginary part,
a complex input entry can move in two directions, and its gradient is ``dL/dRe + i dL/dIm``.
"""

import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from lucidgrad.core.engine import tape_namespace
from lucidgrad.creation import asarray
from lucidgrad.tensor import Tensor

from . import forward_ad
from .gradient import grad


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise when a derivative is wrong."""


# -- real numbers from tensors, and back -----------------------------------------------------------
def as_tuple(values: Any) -> tuple[Any, ...]:
    """One tensor or several, as a tuple."""
    return (values,) if isinstance(values, Tensor) else tuple(values)


def is_checked(x: Any) -> bool:
    """Whether derivatives with respect to an input are asked for."""
    return isinstance(x, Tensor) and x.requires_grad


def leaf(x: Tensor) -> Tensor:
    """A leaf of the same values and memory layout, apart from the user's graph."""
    return x.detach().requires_grad_(True)


def outputs_of(result: Any) -> list[Tensor]:
    """The tensors in what a function returned."""
    return [y for y in as_tuple(result) if isinstance(y, Tensor)]


def _is_complex(x: Tensor) -> bool:
    return "complex" in str(x.dtype)


def _is_inexact(x: Tensor) -> bool:
    return "float" in str(x.dtype) or _is_complex(x)


def _numbers(x: Tensor) -> list[Any]:
    return x.detach().reshape((-1,)).tolist()


def _tensor(numbers: Sequence[Any], like: Tensor) -> Tensor:
    made = asarray(list(numbers), dtype=like.dtype, device=like.device)
    return made.reshape(tuple(like.shape))


def _parts(x: Tensor) -> list[float]:
    """The real numbers in a tensor: all real parts, then all imaginary parts."""
    numbers = _numbers(x)
    if not _is_complex(x):
        return numbers
    return [z.real for z in numbers] + [z.imag for z in numbers]


def _from_parts(parts: Sequence[float], like: Tensor) -> Tensor:
    if _is_complex(like):
        half = len(parts) // 2
        parts = [complex(a, b) for a, b in zip(parts[:half], parts[half:])]  # type: ignore[misc]
    return _tensor(parts, like)


def random_like(x: Tensor, draw: random.Random, gaps: bool = False) -> Tensor:
    """Random numbers in a tensor like x; with gaps between them in memory if asked for."""
    n = len(_parts(x))
    made = _from_parts([draw.gauss(0.0, 1.0) for _ in range(n)], x)
    if gaps:
        pair = [number for number in _numbers(made) for _ in range(2)]
        wide = asarray(pair, dtype=x.dtype, device=x.device).reshape((*x.shape, 2))
        made = wide[..., 0]
    return made


def _entry(x: Tensor, part: int) -> str:
    """Where in a tensor one of its real numbers is."""
    size = math.prod(x.shape)
    place, index = part % size if size else 0, []
    for n in reversed(x.shape):
        index.append(place % n)
        place //= n
    which = "" if not _is_complex(x) else "the real part of " if part < size else "the imaginary part of "
    return f"{which}entry {tuple(reversed(index))}"


# -- the check -------------------------------------------------------------------------------------
class Tolerance(NamedTuple):
    """The step of differences, and how far derivatives may be off."""

    eps: float
    atol: float
    rtol: float
    nondet: float

    def allows(self, found: complex, expected: complex) -> bool:
        """Whether two numbers agree."""
        return abs(found - expected) <= self.atol + self.rtol * abs(expected)  # never true of NaN

    def __str__(self) -> str:
        return f"atol {self.atol:g} + rtol {self.rtol:g} * |numerical|"


#: How many random projections of a Jacobian stand for all of it.
_PROJECTIONS = 3


class _Wrong(NamedTuple):
    """The worst difference between an analytical and a numerical derivative."""

    excess: float
    output: int
    row: int
    input: int
    column: int
    analytical: float
    numerical: float


class Ways(NamedTuple):
    """What is checked, and how."""

    fast: bool
    undefined: bool
    dtypes: bool
    batched: bool
    backward: bool
    forward: bool
    batched_forward: bool


class Check:
    """One function at one point."""

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, tolerance: Tolerance) -> None:
        self.name, self.func, self.tolerance = name, func, tolerance
        self.inputs = as_tuple(inputs)
        self.checked = [i for i, x in enumerate(self.inputs) if is_checked(x)]
        if not self.checked:
            raise ValueError(f"{name}: none of the inputs requires grad, expected at least one that does")
        for i in self.checked:
            if str(self.inputs[i].dtype) not in ("float64", "complex128"):
                warnings.warn(
                    f"{name}: input {i} requires grad and has dtype {self.inputs[i].dtype}; differences need float64 "
                    f"or complex128, so the check will likely fail",
                    stacklevel=3,
                )
        self.leaves = {i: leaf(self.inputs[i]) for i in self.checked}
        outputs = outputs_of(func(*self._arguments(self.leaves)))
        self.places = [k for k, y in enumerate(outputs) if _is_inexact(y)]
        self.outputs = [outputs[k] for k in self.places]
        self.base = [_parts(y) for y in self.outputs]
        self.point = {i: _parts(self.inputs[i]) for i in self.checked}

    def run(self, ways: "Ways") -> None:
        """Raise `GradcheckError` if anything is wrong."""
        self._check_repeatable()
        if ways.backward:
            self._check_gradients(ways.fast, ways.undefined, ways.dtypes, ways.batched)
        if ways.forward or ways.batched_forward:
            self._check_tangents(ways.fast, ways.batched_forward)

    def _check_gradients(self, fast: bool, undefined: bool, dtypes: bool, batched: bool) -> None:
        wrong = self._fast() if fast else self._full()
        if wrong is not None:
            self._report(wrong)
        live = [k for k, y in enumerate(self.outputs) if y.requires_grad]
        for k in live:
            self._check_backward(k, dtypes)
            if undefined and len(live) > 1:
                self._check_undefined(k, live)
            if batched:
                self._check_batched(k)

    # -- evaluating
    def _arguments(self, instead: dict[int, Tensor]) -> list[Any]:
        return [instead.get(i, x) for i, x in enumerate(self.inputs)]

    def _evaluate(self, i: int, shift: dict[int, float]) -> list[list[float]]:
        """The outputs' real numbers with some of those of input i moved; the user's tensors are not written."""
        parts = list(self.point[i])
        for part, by in shift.items():
            parts[part] += by
        moved = {j: leaf(self.inputs[j]) for j in self.checked}
        moved[i] = _from_parts(parts, self.inputs[i]).requires_grad_(True)
        outputs = outputs_of(self.func(*self._arguments(moved)))
        if len(outputs) <= max(self.places, default=-1):
            raise GradcheckError(
                f"{self.name}: the function returned {len(outputs)} outputs near a point where it had more"
            )
        return [_parts(outputs[k]) for k in self.places]

    def _gradients(self, k: int, seed: Tensor) -> dict[int, list[float]]:
        """The analytical gradients of one output, as real numbers; zeros where there is none."""
        leaves = [self.leaves[i] for i in self.checked]
        found: Sequence[Any] = [None] * len(leaves)
        if self.outputs[k].requires_grad:
            found = grad(self.outputs[k], leaves, seed, retain_graph=True, allow_unused=True)
        for i, g in zip(self.checked, found, strict=True):
            if g is not None and g.shape != self.leaves[i].shape:
                raise GradcheckError(
                    f"{self.name}: the gradient of input {i} has shape {g.shape}, the input {self.leaves[i].shape}"
                )
        return {
            i: [0.0] * len(self.point[i]) if g is None else _parts(g) for i, g in zip(self.checked, found, strict=True)
        }

    # -- comparing
    def _full(self) -> _Wrong | None:
        """Every entry of every Jacobian."""
        numerical = {
            (i, part): self._difference(i, {part: 1.0}) for i in self.checked for part in range(len(self.point[i]))
        }
        worst = None
        for k, y in enumerate(self.outputs):
            for row, seed in self._unit_seeds(y):
                found = self._gradients(k, seed)
                for i in self.checked:
                    for column, analytical in enumerate(found[i]):
                        expected = numerical[i, column][k][row]
                        worst = self._worse(worst, k, row, i, column, analytical, expected)
        return worst

    def _fast(self) -> _Wrong | None:
        """Random projections, which must agree but for rounding; the whole Jacobian if one does not."""
        draw = random.Random(0)
        for _ in range(_PROJECTIONS):
            seeds = [random_like(y, draw) for y in self.outputs]
            found = [self._gradients(k, seed) for k, seed in enumerate(seeds)]
            for i in self.checked:
                if not self._agree(i, seeds, found, draw):
                    return self._full()
        return None

    def _agree(
        self, i: int, seeds: Sequence[Tensor], found: Sequence[dict[int, list[float]]], draw: random.Random
    ) -> bool:
        """Whether differences along a random direction in input i are what the gradients for random seeds say."""
        direction = [draw.gauss(0.0, 1.0) for _ in self.point[i]]
        length = math.hypot(*direction) or 1.0
        shift = {part: a / length for part, a in enumerate(direction)}
        try:
            slopes = self._difference(i, shift)
        except GradcheckError:
            self._full()  # says at which entry
            raise
        for k, seed in enumerate(seeds):
            weights = _parts(seed)
            expected = math.fsum(a * b for a, b in zip(weights, slopes[k], strict=True))
            analytical = math.fsum(a * b for a, b in zip(found[k][i], shift.values(), strict=True))
            noise = math.fsum(abs(a) * self._noise(k, row, self.tolerance.eps) for row, a in enumerate(weights))
            if not abs(analytical - expected) <= noise + 1e-6 * abs(expected):  # never true of NaN
                return False
        return True

    def _worse(
        self, worst: _Wrong | None, k: int, row: int, i: int, column: int, analytical: float, numerical: float
    ) -> _Wrong | None:
        if self.tolerance.allows(analytical, numerical):
            return worst
        excess = abs(analytical - numerical) / (self.tolerance.atol + self.tolerance.rtol * abs(numerical) or 1e-300)
        if worst is not None and not (excess > worst.excess or math.isnan(excess)):
            return worst
        return _Wrong(excess, k, row, i, column, analytical, numerical)

    def _unit_seeds(self, y: Tensor) -> Iterator[tuple[int, Tensor]]:
        n = len(_parts(y))
        for row in range(n):
            yield row, _from_parts([1.0 if part == row else 0.0 for part in range(n)], y)

    def _difference(self, i: int, direction: dict[int, float]) -> list[list[float]]:
        """Central differences of all outputs along one direction in input i; raises at a kink."""
        step = self.tolerance.eps
        left, right = self._two_sides(i, direction, step)
        for k in range(len(self.outputs)):
            for row, (a, b) in enumerate(zip(left[k], right[k], strict=True)):
                if self._apart(a, b, k, row, step):
                    self._check_kink(i, direction, k, row, a, b)
        return [[(a + b) / 2 for a, b in zip(*sides, strict=True)] for sides in zip(left, right, strict=True)]

    def _two_sides(
        self, i: int, direction: dict[int, float], step: float
    ) -> tuple[list[list[float]], list[list[float]]]:
        """Left and right difference quotients."""
        before = self._evaluate(i, {part: -step * a for part, a in direction.items()})
        after = self._evaluate(i, {part: step * a for part, a in direction.items()})
        left = [[(b - a) / step for a, b in zip(*pair, strict=True)] for pair in zip(before, self.base, strict=True)]
        right = [[(b - a) / step for a, b in zip(*pair, strict=True)] for pair in zip(self.base, after, strict=True)]
        return left, right

    def _apart(self, left: float, right: float, k: int, row: int, step: float) -> bool:
        """Whether two one-sided derivatives differ by more than rounding and the tolerance explain."""
        if math.isfinite(left) != math.isfinite(right):
            return True
        largest = max(abs(left), abs(right))
        return abs(right - left) > self._noise(k, row, step) + self.tolerance.atol + self.tolerance.rtol * largest

    def _noise(self, k: int, row: int, step: float) -> float:
        """How far rounding may move a difference quotient."""
        double = str(self.outputs[k].dtype) in ("float64", "complex128")
        return 32 * (2.0**-53 if double else 2.0**-24) * max(1.0, abs(self.base[k][row])) / step

    def _check_kink(self, i: int, direction: dict[int, float], k: int, row: int, left: float, right: float) -> None:
        """Raise if left and right derivative stay apart while the step shrinks."""
        first = abs(right - left)
        for shrink in (8, 64):
            step = self.tolerance.eps / shrink
            lefts, rights = self._two_sides(i, direction, step)
            left, right = lefts[k][row], rights[k][row]
            if not self._apart(left, right, k, row, step) or abs(right - left) < first / 2:
                return
        x = self.inputs[i]
        if len(direction) == 1:
            (part,) = direction
            where = f"{_entry(x, part)} of input {i}, which is {self.point[i][part]:.6g},"
        else:
            where = f"input {i}, along a random direction,"
        raise GradcheckError(
            f"{self.name}: {_entry(self.outputs[k], row)} of output {self.places[k]} is not differentiable at {where} "
            f"(left derivative {left:.6g}, right derivative {right:.6g}); check it at another point"
        )

    def _report(self, wrong: _Wrong) -> None:
        y, x = self.outputs[wrong.output], self.inputs[wrong.input]
        numbers = (
            f"analytical {wrong.analytical:.10g}, numerical {wrong.numerical:.10g}, a difference of "
            f"{abs(wrong.analytical - wrong.numerical):.3g} where {self.tolerance} are allowed"
        )
        places = (
            f"{_entry(y, wrong.row)} of output {self.places[wrong.output]} with respect to "
            f"{_entry(x, wrong.column)} of input {wrong.input}"
        )
        if not y.requires_grad:
            raise GradcheckError(
                f"{self.name}: output {self.places[wrong.output]} does not require grad, yet it changes with input "
                f"{wrong.input}: its history was lost. The derivative of {places}: {numbers}"
            )
        raise GradcheckError(f"{self.name}: the derivative of {places} is wrong: {numbers}")

    # -- forward mode
    def _tangents(self, i: int, direction: Tensor) -> list[Tensor | None]:
        """The tangents of the outputs for one of input i, by dual numbers; None where there is none."""
        with forward_ad.dual_level():
            moved = {j: leaf(self.inputs[j]) for j in self.checked}
            moved[i] = forward_ad.make_dual(moved[i], direction)
            outputs = outputs_of(self.func(*self._arguments(moved)))
            return [forward_ad.unpack_dual(outputs[k]).tangent for k in self.places]

    def _check_tangents(self, fast: bool, batched: bool) -> None:
        draw = random.Random(5)
        for i in self.checked:
            x, n = self.inputs[i], len(self.point[i])
            along = [random_like(x, draw)] if fast else [seed for _, seed in self._unit_seeds(x)]
            for column, direction in enumerate(along):
                parts = _parts(direction)
                slopes = self._difference(i, {part: a for part, a in enumerate(parts) if a})
                where = f"a random direction in input {i}" if fast else f"{_entry(x, column)} of input {i}"
                for k, tangent in enumerate(self._tangents(i, direction)):
                    found = [0.0] * len(slopes[k]) if tangent is None else _parts(tangent)
                    self._compare_tangents(k, found, slopes[k], where)
            if batched and n:
                self._check_batched_tangents(i, [random_like(x, draw) for _ in range(3)])

    def _compare_tangents(self, k: int, found: Sequence[float], expected: Sequence[float], where: str) -> None:
        for row, (a, b) in enumerate(zip(found, expected, strict=True)):
            if not self.tolerance.allows(a, b):
                raise GradcheckError(
                    f"{self.name}: the tangent of {_entry(self.outputs[k], row)} of output {self.places[k]} along "
                    f"{where} is wrong: forward mode {a:.10g}, expected {b:.10g}, where {self.tolerance} are allowed"
                )

    def _check_batched_tangents(self, i: int, directions: Sequence[Tensor]) -> None:
        """One call with a batch of tangents must give what one call per tangent gives."""
        batch = tape_namespace.stack(*directions, axis=0)
        zeros = [_from_parts([0.0] * len(base), y) for base, y in zip(self.base, self.outputs, strict=True)]

        def tangents(direction: Tensor) -> tuple[Tensor, ...]:
            found = self._tangents(i, direction)
            return tuple(z if t is None else t for t, z in zip(found, zeros, strict=True))

        try:
            together = tape_namespace.public.func.vmap(tangents)(batch)
        except Exception as error:
            raise GradcheckError(
                f"{self.name}: a batch of tangents of input {i} fails with {type(error).__name__}: {error}"
            ) from error
        for number, direction in enumerate(directions):
            where = f"tangent {number} of a batch of input {i}"
            for k, alone in enumerate(tangents(direction)):
                self._compare_tangents(k, _parts(together[k][number]), _parts(alone), where)

    # -- what else can be wrong
    def _check_repeatable(self) -> None:
        again = self._evaluate(self.checked[0], {})
        for k, (first, second) in enumerate(zip(self.base, again, strict=True)):
            self._check_same(
                first,
                second,
                f"two evaluations of the function at the same point differ in output {self.places[k]}",
            )

    def _check_same(self, first: Sequence[float], second: Sequence[float], message: str) -> None:
        for a, b in zip(first, second, strict=True):
            if abs(a - b) > self.tolerance.nondet:
                raise GradcheckError(
                    f"{self.name}: {message}: {a:.10g} and {b:.10g}, where a difference of nondet_tol = "
                    f"{self.tolerance.nondet:g} is allowed"
                )

    def _check_backward(self, k: int, dtypes: bool) -> None:
        seed = random_like(self.outputs[k], random.Random(2))
        first, second = self._gradients(k, seed), self._gradients(k, seed)
        for i in self.checked:
            message = f"two backward passes from output {self.places[k]} differ in the gradient of input {i}"
            self._check_same(first[i], second[i], message)
        leaves = [self.leaves[i] for i in self.checked]
        found = grad(self.outputs[k], leaves, seed, retain_graph=True, allow_unused=True)
        for i, g in zip(self.checked, found, strict=True):
            if dtypes and g is not None and g.dtype != self.leaves[i].dtype:
                raise GradcheckError(
                    f"{self.name}: the gradient of input {i} has dtype {g.dtype}, the input {self.leaves[i].dtype}"
                )

    def _check_undefined(self, k: int, live: Sequence[int]) -> None:
        """An output that is left out counts as one with a gradient of zeros."""
        leaves = [self.leaves[i] for i in self.checked]
        seed = random_like(self.outputs[k], random.Random(3))
        seeds = [seed if j == k else _from_parts([0.0] * len(self.base[j]), self.outputs[j]) for j in live]
        filled = grad([self.outputs[j] for j in live], leaves, seeds, retain_graph=True, allow_unused=True)
        alone = self._gradients(k, seed)
        for i, g in zip(self.checked, filled, strict=True):
            parts = [0.0] * len(self.point[i]) if g is None else _parts(g)
            for a, b in zip(alone[i], parts, strict=True):
                if not self.tolerance.allows(a, b):
                    raise GradcheckError(
                        f"{self.name}: the gradient of input {i} from output {self.places[k]} alone is not the one "
                        f"where the other outputs have gradients of zeros: {a:.10g} and {b:.10g}"
                    )

    def _check_batched(self, k: int) -> None:
        """One call with a batch of seeds must give what one call per seed gives."""
        leaves = [self.leaves[i] for i in self.checked]
        y, draw = self.outputs[k], random.Random(4)
        seeds = [random_like(y, draw) for _ in range(3)]
        numbers = [number for seed in seeds for number in _numbers(seed)]
        batch = asarray(numbers, dtype=y.dtype, device=y.device).reshape((len(seeds), *y.shape))
        try:
            found = grad(y, leaves, batch, retain_graph=True, allow_unused=True, is_grads_batched=True)
        except Exception as error:
            raise GradcheckError(
                f"{self.name}: a batch of seeds for output {self.places[k]} fails with {type(error).__name__}: {error}"
            ) from error
        for number, seed in enumerate(seeds):
            alone = self._gradients(k, seed)
            for i, g in zip(self.checked, found, strict=True):
                parts = [0.0] * len(self.point[i]) if g is None else _parts(g[number])
                for a, b in zip(parts, alone[i], strict=True):
                    if not self.tolerance.allows(a, b):
                        raise GradcheckError(
                            f"{self.name}: for seed {number} of a batch for output {self.places[k]}, the gradient of "
                            f"input {i} is {a:.10g}; by itself that seed gives {b:.10g}"
                        )
