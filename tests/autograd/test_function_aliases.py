"""Functions whose outputs share memory with one another, with inputs or with what they save, and writes after them.

Random programs run here and in PyTorch: both give the same numbers, or one of them refuses; never two numbers.
"""

import random

import pytest
from golden import peer
from thoroughness import seeds

import lucidgrad as lg

#: How an output is made of ``h`` (what forward computed), ``x`` (the input) or ``a`` (another input).
PIECES = ["h", "h[:2]", "h[1:]", "h", "x", "x[:2]", "a", "h*3", "h.reshape(3, 1)", "k[1:]", "k[:2]", "h.detach()"]
WRITES = ["{t}.mul_(2.0)", "{t}.add_(1.0)", "{t}[:1].mul_(3.0)", "{t}[:1] = 5.0", "{t}.copy_({t} * 2)"]


def draw_program(seed):
    """A random Function, and what is done with its outputs, as text."""
    rng = random.Random(seed)
    pieces = [rng.choice(PIECES) for _ in range(rng.choice([1, 1, 2, 2, 2, 3]))]
    dirty = rng.random() < 0.25
    if dirty and "x" not in pieces:
        pieces[rng.randrange(len(pieces))] = "x"
    fixed = [k for k in range(len(pieces)) if rng.random() < 0.12]
    names = [f"o{k}" for k in range(len(pieces))]
    saved = [rng.choice(["x", "a", *names]) for _ in range(rng.choice([0, 0, 1, 2]))]
    forward = ["x.mul_(2.0)", "ctx.mark_dirty(x)"] if dirty else []
    forward += ["h, k = x * 2.0 + a, x * 3.0"]
    made = {}
    for name, piece in zip(names, pieces, strict=True):  # the same piece twice: the same object, or another view
        same = piece in made and rng.random() < 0.5
        forward.append(f"{name} = {made[piece] if same else piece}")
        made[piece] = name
    forward += [f"ctx.mark_non_differentiable({', '.join(names[k] for k in fixed)})"] if fixed else []
    forward += [f"ctx.save_for_backward({', '.join(saved)})"] if saved else []
    forward.append(f"return {', '.join(names)}")
    backward = ["scale = 1.0", "for s in ctx.saved_tensors:", "    scale = scale + s.sum()"]
    backward += ["gx = ga = lib.zeros(3, dtype=lib.float64)"]
    for k, piece in enumerate(pieces):  # every output has a weight of its own, so that none is mistaken for another
        backward.append(f"g{k} = spread(g{k}, {piece!r}) * ({k} + 2.0)")
        backward += [f"gx, ga = gx + g{k} * scale, ga + g{k} * 0.5"]
    backward.append("return gx, ga")
    after, tensors = [], [*names, "x", "a"]
    for i in range(rng.choice([0, 1, 1, 2, 3])):
        t = rng.choice(tensors if rng.random() < 0.85 else ["b"])
        if rng.random() < 0.3:
            after.append(f"v{i} = {t}[1:]")
            tensors.append(f"v{i}")
        elif rng.random() < 0.15:
            after += ["with lib.no_grad():", f"    {rng.choice(WRITES).format(t=t)}"]
        else:
            after.append(rng.choice(WRITES).format(t=t))
    used = rng.sample(tensors, rng.randint(1, min(3, len(tensors))))
    once = "@once_differentiable\n    " if rng.random() < 0.15 else ""
    weights = [f"({t} * {t} * {k + 2}.0 + {t}).sum()" for k, t in enumerate(used)]
    parameters = ", ".join(f"g{k}" for k in range(len(pieces)))
    source = rng.choice(["b * 1.5", "b * 1.5", "b", "(b * 1.5)[:3]"])
    lines = [
        "class Drawn(Function):",
        "    @staticmethod",
        "    def forward(ctx, x, a):",
        *(f"        {line}" for line in forward),
        f"    @staticmethod\n    {once}def backward(ctx, {parameters}):",
        *(f"        {line}" for line in backward),
        f"x, a = {source}, c * 0.5",
        f"{', '.join(names)}{',' if len(names) == 1 else ''} = as_tuple(Drawn.apply(x, a))",
        *after,
        f"loss = {' + '.join(weights)}",
    ]
    return "\n".join(lines)


def as_tuple(ys, x=None):
    """The outputs, without shared memory where the input is given, too."""
    ys = ys if isinstance(ys, tuple) else (ys,)
    return ys if x is None else tuple(y if y is x else y.clone() for y in ys)


def spread(lib):
    """The adjoint of the piece that an output is."""

    def back(g, piece):
        zero = lib.zeros(1, dtype=lib.float64)
        g = g.reshape(-1)
        return lib.cat([g, zero]) if "[:2]" in piece else lib.cat([zero, g]) if "[1:]" in piece else g

    return back


def run(lib, program, second):
    """The gradients of a program, or the error that it raises."""
    function = lib.autograd.Function
    once = lib.autograd.function.once_differentiable
    b, c = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([1.0, 2.0, 3.0], [0.5, -1.0, 2.0]))
    names = dict(lib=lib, Function=function, once_differentiable=once, spread=spread(lib), b=b, c=c)
    names["as_tuple"] = as_tuple
    try:
        exec(program, names)
        found = lib.autograd.grad(names["loss"], (b, c), create_graph=second, allow_unused=True)
        if second:
            total = sum(((g * g).sum() for g in found if g is not None), (b + c).sum())
            found += lib.autograd.grad(total, (b, c), allow_unused=True)
    except RuntimeError as error:
        return error
    return [names["loss"].item(), *(None if g is None else g.tolist() for g in found)]


def compare(torch, program, second):
    """What both libraries say: "same", "different", or who refuses."""
    ours, theirs = run(lg, program, second), run(torch, program, second)
    if isinstance(ours, Exception):
        return "both refuse" if isinstance(theirs, Exception) else "we refuse", ours, theirs
    alone = isinstance(theirs, Exception)
    if alone:  # then the numbers are those without shared memory, unless the loss tells that it is shared
        program = program.replace("Drawn.apply(x, a))", "Drawn.apply(x, a), x)").replace("(b * 1.5)[:3]", "b * 1.5")
        theirs = run(torch, program, second)
        if isinstance(theirs, Exception) or not is_close(ours[0], theirs[0]):
            return "unknown", ours, theirs
    same = len(ours) == len(theirs) and all(is_close(a, b) for a, b in zip(ours, theirs, strict=True))
    return ("we compute" if alone else "same") if same else "different", ours, theirs


def is_close(a, b):
    zero = [0.0, 0.0, 0.0]
    return pytest.approx(zero if b is None else b, rel=1e-12, abs=1e-12) == (zero if a is None else a)


#: Why we refuse where PyTorch computes.
REASONS = {
    "marked with @once_differentiable": "PyTorch leaves the second derivative of such a function out of the sum",
    "several outputs of Drawn that share memory": "o and o.detach(): PyTorch's gradient is that of the old value",
    "is a view of an input that Drawn returned": "a stale view is refused under no_grad, too",
}


def test_numbers_are_pytorchs_or_there_is_none():
    torch, found = peer("torch"), {}
    for seed in seeds(600, 20_000):
        program = draw_program(seed)
        verdict, ours, theirs = compare(torch, program, second=seed % 4 == 0)
        assert verdict != "different", f"{seed}: {ours} and PyTorch's {theirs}\n{program}"
        if verdict == "we refuse":
            assert any(reason in str(ours) for reason in REASONS), f"{seed}: {ours}\n{program}"
        found[verdict] = found.get(verdict, 0) + 1
    assert found["same"] > 10 * found["we refuse"]


class Twice(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        return y, y

    @staticmethod
    def backward(ctx, g1, g2):
        return 10 * g1 + g2


class Part(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        return y, y[:1]

    @staticmethod
    def backward(ctx, g1, g2):
        return 2 * g1 + lg.concat([2 * g2, lg.zeros(2)])


class Halves(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        return y[:2], y[1:]

    @staticmethod
    def backward(ctx, g1, g2):
        zero = lg.zeros(1)
        return lg.concat([2 * g1, zero]) + lg.concat([zero, 2 * g2])


@pytest.fixture
def x():
    return lg.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_an_output_that_is_returned_twice_is_one_tensor(x):
    a, b = Twice.apply(x)
    assert a is b
    assert a.output_nr == 1  # the last place, as PyTorch's
    a.mul_(3)
    (b * lg.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [3.0, 30.0, 300.0]


def test_a_view_of_another_output_is_stale_after_a_write(x):
    whole, part = Part.apply(x)
    (whole.sum() + part.sum()).backward()
    assert x.grad.tolist() == [4.0, 2.0, 2.0]
    whole, part = Part.apply(x)
    whole.mul_(3)
    assert lg.autograd.grad(whole.sum(), x)[0].tolist() == [6.0, 6.0, 6.0]
    with pytest.raises(RuntimeError, match="shares memory with one that was modified in place"):
        part.sum()
    _, part = Part.apply(x)
    with pytest.raises(RuntimeError, match="several outputs of Part that share memory"):
        part.mul_(3)


def test_views_of_what_only_forward_knows_cannot_be_written(x):
    left, right = Halves.apply(x)
    for half in (left, right, right[1:]):
        with pytest.raises(RuntimeError, match="several outputs of Halves that share memory"):
            half.add_(1)
    (left * right).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 8.0]


def test_a_view_of_a_view_without_steps_has_no_other_history(x):
    y = x * 1
    parts = y[1:].unbind(0)
    piece = (x * 1).reshape(3, 1)[1:].unbind(1)[0][1:]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="several views"):
        parts[0].sum()
    assert lg.autograd.grad(piece.sum(), x)[0].tolist() == [0.0, 0.0, 1.0]


def test_a_marked_input_that_was_changed_keeps_its_history(x):
    class Changes(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x

    y = x * 1
    z = Changes.apply(y)
    assert z is not y
    assert not z.requires_grad
    assert z.tolist() == y.tolist() == [2.0, 4.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_marked_output_that_is_saved_is_a_constant(x):
    class Sign(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, s = x * x, x * 3
            ctx.mark_non_differentiable(s)
            ctx.save_for_backward(s)
            ctx.s = s
            return y, s

        @staticmethod
        def backward(ctx, g, never):
            (s,) = ctx.saved_tensors
            return g * (s + ctx.s) + 100 * never

    y, s = Sign.apply(x)
    (g,) = lg.autograd.grad((y * y).sum(), x, create_graph=True)
    assert not s.requires_grad
    (second,) = lg.autograd.grad(g.sum(), x)  # of 2 y * 6 x0, with x0 held
    assert second.tolist() == [72.0, 288.0, 648.0]
