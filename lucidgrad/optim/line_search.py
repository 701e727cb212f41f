"""A line search for the strong Wolfe conditions: enough descent, and a slope that became flat enough."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

#: Parts of the first slope: how much descent is enough, and how flat is flat enough.
DESCENT, FLATNESS = 1e-4, 0.9


class _Point(NamedTuple):
    """A place along the direction: its distance, the loss, the gradient and the slope there."""

    at: float
    loss: float
    grad: Any
    slope: float


def _cubic_minimum(a: _Point, b: _Point, least: float, most: float) -> float:
    """Where the cubic through two points with these slopes is least, between limits; their middle if nowhere."""
    if a.at == b.at:
        return (least + most) / 2
    one, two = (a, b) if a.at <= b.at else (b, a)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.at - b.at)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    d2 = math.sqrt(square)
    below = two.slope - one.slope + 2 * d2
    if below == 0:
        return (least + most) / 2
    place = two.at - (two.at - one.at) * ((two.slope + d2 - d1) / below)
    return min(max(place, least), most)


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Any]],
    length: float,
    longest: float,
    loss: float,
    grad: Any,
    slope: float,
    slope_of: Callable[[Any], float],
    *,
    max_steps: int = 25,
    tolerance: float = 1e-9,
) -> tuple[float, Any, float, int]:
    """How far to go along a direction.

    Parameters
    ----------
    evaluate
        ``evaluate(length) -> (loss, gradient)`` there.
    length
        What to try first.
    longest
        The largest element of the direction: the search ends when its interval times this is below ``tolerance``.
    loss, grad, slope
        At the start.
    slope_of
        The slope along the direction that a gradient means.
    max_steps
        Steps of the search at most.
    tolerance
        See ``longest``.

    Returns
    -------
    tuple
        The loss, the gradient and the length at the end, and the number of evaluations.

    Examples
    --------
    >>> from lucidgrad.optim.line_search import strong_wolfe
    >>> found = strong_wolfe(lambda t: ((t - 3) ** 2, 2 * (t - 3)), 1.0, 1.0, 9.0, -6.0, -6.0, lambda g: g)
    >>> found[2]
    1.0
    >>> strong_wolfe(lambda t: ((t - 3) ** 2, 2 * (t - 3)), 10.0, 1.0, 9.0, -6.0, -6.0, lambda g: g)[2]
    3.0
    """

    def point(at: float) -> _Point:
        value, gradient = evaluate(at)
        return _Point(at, value, gradient, slope_of(gradient))

    start = _Point(0.0, loss, grad, slope)
    before, now, evaluations, steps = start, point(length), 1, 0
    ends = [start, now]
    while steps < max_steps:
        if now.loss > loss + DESCENT * now.at * slope or (steps > 1 and now.loss >= before.loss):
            ends = [before, now]
            break
        if abs(now.slope) <= -FLATNESS * slope:
            return now.loss, now.grad, now.at, evaluations
        if now.slope >= 0:
            ends = [before, now]
            break
        further = _cubic_minimum(before, now, now.at + 0.01 * (now.at - before.at), 10 * now.at)
        before, now = now, point(further)
        evaluations, steps = evaluations + 1, steps + 1
    else:
        ends = [start, now]
    low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
    stuck = False
    while steps < max_steps:
        near, far = sorted((ends[0].at, ends[1].at))
        if (far - near) * longest < tolerance:
            break
        t = _cubic_minimum(ends[0], ends[1], near, far)
        margin = 0.1 * (far - near)
        if min(far - t, t - near) < margin:  # too near an end: once is allowed
            inside = not (stuck or t >= far or t <= near)
            if not inside:
                t = far - margin if abs(t - far) < abs(t - near) else near + margin
            stuck = inside
        else:
            stuck = False
        now = point(t)
        evaluations, steps = evaluations + 1, steps + 1
        if now.loss > loss + DESCENT * now.at * slope or now.loss >= ends[low].loss:
            ends[high] = now
            low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
            continue
        if abs(now.slope) <= -FLATNESS * slope:
            ends[low] = now
            break
        if now.slope * (ends[high].at - ends[low].at) >= 0:
            ends[high] = ends[low]
        ends[low] = now
    best = ends[low]
    return best.loss, best.grad, best.at, evaluations
