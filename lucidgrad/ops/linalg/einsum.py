"""Einstein summation: a formula becomes stages, and every stage is differentiable by itself.

Repeated letters are diagonals, letters that stretch are dropped where they have size 1, and letters that
only one operand has are summed. What is left are contractions of pairs, and the derivative of such a
contraction is another one: "ij,jk->ik" gives "ik,jk->ij" and "ij,ik->jk".
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, count
from typing import Any, NamedTuple

from lucidgrad.core import device
from lucidgrad.core.dispatch import dtype_of, halves
from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.ops import reduction
from lucidgrad.ops.axes import product
from lucidgrad.ops.jvp_rules import bilinear
from lucidgrad.ops.precision import in_single
from lucidgrad.ops.shape import layout
from lucidgrad.ops.shape.diagonals import diagonal


# -- the contraction of a pair -------------------------------------------------------------------
class Roles(NamedTuple):
    """The letters of a pair by what they do: kept in all three terms, in the first, summed, in the second."""

    batch: str
    left: str
    summed: str
    right: str


@lru_cache(maxsize=4096)
def terms_of(subscripts: str) -> tuple[str, str, str]:
    """The three terms of a pair's formula."""
    inputs, _, output = subscripts.partition("->")
    first, _, second = inputs.partition(",")
    return first, second, output


@lru_cache(maxsize=4096)
def roles(subscripts: str) -> Roles:
    """Sort the letters of a pair; those that stay are in the order of the output."""
    first, second, output = terms_of(subscripts)
    return Roles(
        "".join(c for c in output if c in first and c in second),
        "".join(c for c in output if c not in second),
        "".join(c for c in first if c in second and c not in output),
        "".join(c for c in output if c not in first),
    )


@lru_cache(maxsize=4096)
def _turned(subscripts: str, argument: int) -> str:
    """The formula of one cotangent: output and input change places."""
    first, second, output = terms_of(subscripts)
    return f"{output},{second}->{first}" if argument == 0 else f"{first},{output}->{second}"


def _pair_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """One more letter, first in what is batched and in the output."""
    first, second, output = terms_of(keywords["subscripts"])
    new = _fresh(first + second + output)
    first, second = (new + term if b else term for term, b in zip((first, second), batched, strict=True))
    return call(*values, subscripts=f"{first},{second}->{new}{output}")


def _fresh(used: str) -> str:
    """A letter that is not in use."""
    return next(c for k in count() if (c := letter(k)) not in used)


def letter(k: int) -> str:
    """The k-th letter: A to Z, a to z, then beyond ASCII; their order is that of the numbers."""
    return chr(65 + k if k < 26 else 71 + k if k < 52 else 204 + k)


@primitive(
    MATRIX,
    vjp=(
        lambda xp, g, x2, *, subscripts: xp.pair_einsum(g, x2, subscripts=_turned(subscripts, 0)),
        lambda xp, g, x1, *, subscripts: xp.pair_einsum(x1, g, subscripts=_turned(subscripts, 1)),
    ),
    jvp=bilinear("pair_einsum"),
    batch=_pair_batch,
    precision="low",
)
def pair_einsum(xp: Any, x1: Any, x2: Any, /, *, subscripts: str) -> Any:
    """Contract two arrays; every letter occurs once per term and in two of the three terms at least.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 3), requires_grad=True)
    >>> lg.einsum("ij,j->i", x, lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    first, second, output = terms_of(subscripts)
    batch, left, summed, right = roles(subscripts)
    sizes = dict(zip(first + second, (*x1.shape, *x2.shape)))
    if not summed:
        return _lined_up(xp, x1, first, output) * _lined_up(xp, x2, second, output)
    rows, inner, columns = (product([sizes[c] for c in part]) for part in (left, summed, right))
    many = tuple(sizes[c] for c in batch)
    x1 = xp.reshape(_ordered(xp, x1, first, batch + left + summed), shape=(*many, rows, inner))
    x2 = xp.reshape(_ordered(xp, x2, second, batch + summed + right), shape=(*many, inner, columns))
    kept = batch + left + right
    y = xp.reshape(xp.matmul(x1, x2), shape=tuple(sizes[c] for c in kept))
    return _ordered(xp, y, kept, output)


def _ordered(xp: Any, x: Any, term: str, wanted: str) -> Any:
    """Axes in the order of the wanted letters."""
    return x if term == wanted else xp.permute_dims(x, axes=tuple(term.index(c) for c in wanted))


def _lined_up(xp: Any, x: Any, term: str, wanted: str) -> Any:
    """Axes in the order of the wanted letters, with ones for those that the term lacks."""
    sizes = dict(zip(term, x.shape))
    x = _ordered(xp, x, term, "".join(c for c in wanted if c in term))
    return xp.reshape(x, shape=tuple(sizes.get(c, 1) for c in wanted))


# -- reading a formula ---------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def _parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """The terms and the output of a formula, with letters for the axes that an ellipsis stands for."""
    formula = "".join(subscripts.split())
    who = f"einsum {subscripts!r}"
    inputs, arrow, output = formula.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"{who}: given {len(ranks)} operands, expected {len(terms)}")
    for term in (*terms, output):
        for c in term.replace("...", "", 1):
            if not c.isalpha():
                raise ValueError(f"{who}: given {c!r}, expected letters, ',', '->' and one '...' per term")
    spare = (c for k in count() if (c := letter(k)) not in formula)
    hidden = [next(spare) for _ in range(max(ranks, default=0))]  # of which an ellipsis takes the last ones
    used = 0
    for n, (term, rank) in enumerate(zip(terms, ranks)):
        covered = rank - len(term.replace("...", ""))
        if covered < 0 or (covered and "..." not in term):
            raise ValueError(
                f"{who}: operand {n + 1} has {rank} dimensions, expected {rank - covered} for {term!r}"
                + (" at least" if "..." in term else "; an ellipsis can stand for more")
            )
        if "..." in term:
            used = max(used, covered)
            terms[n] = term.replace("...", "".join(hidden[len(hidden) - covered :]))
    wide = "".join(hidden[len(hidden) - used :])
    if arrow:
        output = output.replace("...", wide)
    else:
        letters = "".join(terms)
        output = wide + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in wide))
    for c in output:
        if output.count(c) > 1:
            raise ValueError(f"{who}: letter {c!r} occurs {output.count(c)} times in the output, expected once")
        if not any(c in term for term in terms):
            raise ValueError(f"{who}: letter {c!r} of the output is in no operand")
    return terms, output


def _sizes(subscripts: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of every letter: within an operand they agree, between operands a 1 stretches."""
    who = f"einsum {subscripts!r}"
    sizes: dict[str, int] = {}
    seen: dict[str, int] = {}
    for n, (term, sides) in enumerate(zip(terms, shapes)):
        for axis, (c, size) in enumerate(zip(term, sides)):
            twin = sides[term.index(c)]
            known = sizes.setdefault(c, size)
            if size != twin:
                raise ValueError(
                    f"{who}: letter {c!r} is repeated in operand {n + 1} of shape {sides}, with sizes "
                    f"{twin} (axis {term.index(c)}) and {size} (axis {axis})"
                )
            if size != known and 1 not in (size, known):
                what = f"letter {c!r}" if c in subscripts else "an axis of '...'"
                raise ValueError(
                    f"{who}: {what} has size {known} in operand {seen[c] + 1} of shape {shapes[seen[c]]} "
                    f"and size {size} in operand {n + 1} of shape {sides}"
                )
            if size != 1 or c not in seen:
                sizes[c], seen[c] = size, n
    return sizes


def _from_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """The string form of ``einsum(x1, [0, 1], x2, [1, 2], [0, 2])``."""

    def text(axes: Any) -> str:
        return "".join("..." if a is Ellipsis else letter(a) for a in axes)

    operands, lists = list(arguments[0 : len(arguments) // 2 * 2 : 2]), arguments[1::2]
    formula = ",".join(map(text, lists))
    return (f"{formula}->{text(arguments[-1])}" if len(arguments) % 2 else formula), operands


# -- from a formula to stages --------------------------------------------------------------------
class Stage(NamedTuple):
    """Call an op on the operands at these places; the result goes to the end, a single one's to its place."""

    op: Callable[..., Any]
    at: tuple[int, ...]
    keywords: dict[str, Any]


@lru_cache(maxsize=1024)
def _stages(subscripts: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> list[Stage]:
    """What to do for a formula on operands of these shapes."""
    parsed, output = _parse(subscripts, tuple(map(len, shapes)))
    terms = list(parsed)
    sizes = _sizes(subscripts, terms, shapes)
    stages: list[Stage] = []
    for n, sides in enumerate(shapes):
        own = dict(zip(terms[n], sides))
        for c in own:
            while terms[n].count(c) > 1:
                first = terms[n].index(c)
                pair = (first, terms[n].index(c, first + 1))
                stages.append(Stage(diagonal, (n,), dict(axis1=pair[0], axis2=pair[1])))
                terms[n] = "".join(b for i, b in enumerate(terms[n]) if i not in pair) + c
        _drop(stages, terms, n, layout.squeeze, [c for c in terms[n] if own[c] == 1 != sizes[c]])
    for n, term in enumerate(terms):
        others = output + "".join(terms[:n] + terms[n + 1 :])
        _drop(stages, terms, n, _sum, [c for c in term if c not in others])
    for at in _path(terms, output, sizes, optimize):
        _contract(stages, terms, output, at)
    (term,) = terms
    if term != output or not stages:
        stages.append(Stage(layout.permute_dims, (0,), dict(axes=tuple(term.index(c) for c in output))))
    return stages


def _drop(stages: list[Stage], terms: list[str], n: int, op: Callable[..., Any], letters: list[str]) -> None:
    """Remove letters from an operand, by an op that takes their axes."""
    if letters:
        stages.append(Stage(op, (n,), dict(axis=tuple(terms[n].index(c) for c in letters))))
        terms[n] = "".join(c for c in terms[n] if c not in letters)


def _sum(x: Any, axis: tuple[int, ...]) -> Any:
    """Sum over axes in the operand's own dtype, as products are."""
    return reduction.sum(x, axis=axis, dtype=x.dtype)


def _contract(stages: list[Stage], terms: list[str], output: str, at: Sequence[int]) -> None:
    """Contract the operands at these places, two at a time."""
    at = sorted(at)
    while len(at) > 1:
        i, j, *rest = at
        second, first = terms.pop(j), terms.pop(i)
        wanted = output + "".join(terms)
        kept = "".join(dict.fromkeys(c for c in first + second if c in wanted))
        if terms:  # as a product of matrices gives them
            kept = "".join(c for c in kept if c in first and c in second) + "".join(
                c for c in kept if not (c in first and c in second)
            )
        else:
            kept = output
        terms.append(kept)
        stages.append(Stage(pair_einsum, (i, j), dict(subscripts=f"{first},{second}->{kept}")))
        at = [*(k - 2 for k in rest), len(terms) - 1]


# -- the order of contractions -------------------------------------------------------------------
def _path(terms: list[str], output: str, sizes: dict[str, int], optimize: Any) -> Sequence[tuple[int, ...]]:
    """Which operands to contract first: places to take away, results going to the end."""
    if len(terms) < 3:
        return [(0, 1)] if len(terms) == 2 else []
    if not optimize:
        return [(0, 1), *((0, k) for k in range(len(terms) - 2, 0, -1))]
    if isinstance(optimize, tuple):
        return _checked([step for step in optimize if step != "einsum_path"], len(terms))
    try:
        import opt_einsum
    except ImportError:
        return _greedy(terms, output, sizes)
    shapes = [tuple(sizes[c] for c in term) for term in terms]
    strategy = "auto" if optimize is True else optimize
    formula = f"{','.join(terms)}->{output}"
    path, _ = opt_einsum.contract_path(formula, *shapes, shapes=True, optimize=strategy)
    return path


def _checked(path: list[Any], left: int) -> list[tuple[int, ...]]:
    """A path from the user."""
    for at in path:
        if not isinstance(at, tuple) or len(set(at)) != len(at) or not all(0 <= k < left for k in at):
            raise ValueError(f"einsum: step {at} of the path given as optimize doesn't fit {left} operands")
        left -= len(at) - 1
    return path + [tuple(range(left))] * (left > 1)


def _greedy(terms: list[str], output: str, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """The pair whose result adds least to what is in memory comes first."""

    def size(letters: set[str]) -> int:
        return product([sizes[c] for c in letters])

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        first, second = (left[k] for k in pair)
        return size(result(pair)) - size(first) - size(second), size(first | second)

    def result(pair: tuple[int, int]) -> set[str]:
        wanted = set(output).union(*(term for k, term in enumerate(left) if k not in pair))
        return (left[pair[0]] | left[pair[1]]) & wanted

    left, path = [set(term) for term in terms], []
    while len(left) > 1:
        best = min(combinations(range(len(left)), 2), key=cost)
        left = [term for k, term in enumerate(left) if k not in best] + [result(best)]
        path.append(best)
    return path


# -- the function --------------------------------------------------------------------------------
def einsum(*arguments: Any, optimize: Any = True) -> Any:
    """Sums of products of arrays by Einstein's convention: ``einsum("ij,jk->ik", x1, x2)``.

    Parameters
    ----------
    *arguments
        A formula and its operands, or each operand followed by a list of integers that name its axes, and
        such a list for the output. Without an output, the letters that occur once are it, in alphabetical
        order. ``...`` stands for any axes; they broadcast. A letter twice in one operand is its diagonal.
    optimize
        The order in which more than two operands are contracted: True finds a good one (by opt_einsum if it
        is installed, whose strategies can be named here), False goes from left to right, and a list of
        tuples is a path as ``numpy.einsum_path`` gives it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> y = lg.einsum("ij,jk,ki->", x, x, x)  # the trace of x @ x @ x
    >>> y.backward()
    >>> x.grad.tolist()
    [[21.0, 45.0], [30.0, 66.0]]
    """
    if arguments and isinstance(arguments[0], str):
        subscripts, operands = arguments[0], list(arguments[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)) and _all_arrays(operands[0]):
            operands = list(operands[0])
    elif len(arguments) > 1:
        subscripts, operands = _from_lists(arguments)
    else:
        raise TypeError("einsum: expected a formula such as 'ij,jk->ik', then its operands")
    if not operands:
        raise ValueError(f"einsum {subscripts!r}: given no operands, expected one per term")
    operands = [x if hasattr(x, "shape") else device.backend_named("cpu").asarray(x) for x in operands]
    if len(operands) > 2 and dtype_of(operands[0]) in halves:
        return in_single(einsum, (subscripts, *operands), {"optimize": optimize})
    path = tuple(tuple(s) if isinstance(s, list) else s for s in optimize) if isinstance(optimize, list) else optimize
    for op, at, keywords in _stages(subscripts, tuple(tuple(x.shape) for x in operands), path):
        if len(at) == 1:
            operands[at[0]] = op(operands[at[0]], **keywords)
        else:
            x2, x1 = operands.pop(at[1]), operands.pop(at[0])
            operands.append(op(x1, x2, **keywords))
    return operands[0]


def _all_arrays(values: Sequence[Any]) -> bool:
    return all(hasattr(x, "shape") for x in values)
