"""`retain_grad` and hooks beside writes: hooks stay with the value they were registered on, `.grad` goes to the newest.

Random programs run here and in PyTorch. They don't write under `no_grad`: here that is no new value of the graph, for
views as for any other tensor; PyTorch gives views a new history then, without the hooks.
"""

import random

import pytest
from golden import peer
from thoroughness import seeds

import lucidgrad as lg

VIEWS = ["[1:]", "[:2]", "[...]", ".reshape(-1)", "[::2]", ".unsqueeze(0)", ".squeeze()", "[0]", "[-1:]"]
WRITES = ["mul_(2.0)", "add_(3.0)", "mul_(w.sum())", "zero_()", "add_(t{other}.sum())", "fill_(0.5)", "exp_()"]
WRITES = [*(f".{write}" for write in WRITES), "[..., :1] = w.sum()", "[...] = t{other}.sum() * 2.0"]


def draw_program(seed):
    """Random views, writes, retain_grad and hooks, as text."""
    rng = random.Random(seed)
    lines, count, hooks = ["t0 = x * 2.0"], 1, 0
    for _ in range(rng.randint(2, 9)):
        i, kind = rng.randrange(count), rng.random()
        if kind < 0.3:
            lines.append(f"t{count} = t{i}{rng.choice(VIEWS)}")
            count += 1
        elif kind < 0.4:
            lines.append(f"t{count} = t{i} * w.sum()")
            count += 1
        elif kind < 0.65:
            lines.append(f"t{i}{rng.choice(WRITES)}".format(other=rng.randrange(count)))
        elif kind < 0.8:
            lines.append(f"t{i}.retain_grad()")
        elif kind < 0.94:
            change = rng.choice(["None", "None", "g * 2.0"])
            lines.append(f"t{i}.grad_fn")  # or PyTorch crashes where a stale view gets a hook
            lines.append(f"t{i}.register_hook(lambda g: (seen.append(({hooks}, g.tolist())), {change})[1])")
            hooks += 1
        else:
            lines.append(f"loss = loss + (t{i} * t{i}).sum()")
    used = rng.sample(range(count), rng.randint(1, count))
    lines += [f"loss = loss + (t{i} * t{i} * {k + 2}.0).sum()" for k, i in enumerate(used)]
    lines.append("loss.backward()")
    return "\n".join(lines), count


def run(lib, program, count):
    """All that can be seen of the gradients of a program, or the error that it raises."""
    x, w = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([1.0, 2.0, 0.5], [0.3, 0.2]))
    names = dict(lib=lib, x=x, w=w, seen=[], loss=0.0)
    try:
        exec(program, names)
    except (RuntimeError, IndexError, ValueError) as error:
        return error
    tensors = [x, w, *(names[f"t{i}"] for i in range(count))]
    retains = [bool(t.retains_grad) for t in tensors]
    return [None if t.grad is None else t.grad.tolist() for t in tensors], sorted(names["seen"]), retains


def is_close(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(is_close, a, b))
    return a == b if a is None or b is None else a == pytest.approx(b, rel=1e-12, abs=1e-300)


def test_gradients_and_what_hooks_see_are_pytorchs():
    torch, same = peer("torch"), 0
    tried = seeds(1500, 30_000)
    for seed in tried:
        program, tensors = draw_program(seed)
        ours, theirs = run(lg, program, tensors), run(torch, program, tensors)
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            assert isinstance(ours, Exception) and isinstance(theirs, Exception), f"{seed}\n{program}\n{ours}\n{theirs}"
        else:
            assert is_close(ours, theirs), f"{seed}\n{program}\n{ours}\n{theirs}"
            same += 1
    assert same > len(tried) / 2


@pytest.fixture
def x():
    return lg.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_the_gradient_of_a_base_is_that_of_its_newest_value(x):
    b = x * 2
    b.retain_grad()
    b[1:].mul_(2)
    assert b.retains_grad
    (b * lg.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert b.grad.tolist() == [1.0, 10.0, 100.0]  # of the old value: 1, 20, 200
    assert x.grad.tolist() == [2.0, 40.0, 400.0]


def test_a_view_keeps_its_mark_when_its_base_is_written(x):
    b = x * 2
    v = b[1:]
    v.retain_grad()
    b.mul_(3)
    assert v.retains_grad
    (v * v).sum().backward()
    assert v.grad.tolist() == [24.0, 36.0]
    assert b.grad is None


def test_a_mark_that_is_set_again_counts_once(x):
    b = x * 2
    b.retain_grad()
    b[:1].add_(1)
    b.retain_grad()
    b.sum().backward()
    assert b.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("again", [lambda v: None, lambda v: v.retain_grad(), lambda v: v.retains_grad])
def test_marking_or_asking_again_changes_nothing_for_a_stale_view(x, again):
    b = x * 2
    v = b[0]
    v.retain_grad()
    b[...] = v.sum() * 2
    again(v)
    (b * b * 2).sum().backward()
    assert v.grad.item() == 96.0  # of the value that was marked, as in PyTorch: the newest is used nowhere
    assert v.retains_grad


def test_hooks_of_a_view_do_not_hear_of_writes_into_it(x):
    b, seen = x * 2, []
    v, whole = b[1:], b[...]
    v.register_hook(lambda g: seen.append("v"))
    whole.register_hook(lambda g: g * 1000)
    inner = whole[:1]
    v.mul_(5)
    inner[0] = 7.0
    b.sum().backward()
    assert seen == []
    assert x.grad.tolist() == [0.0, 10.0, 10.0]


def test_a_hook_sees_the_gradient_of_the_value_it_was_registered_on(x):
    b, seen = x * 2, []
    b.register_hook(lambda g: seen.append(g.tolist()))
    b[1:].mul_(5)
    b.register_hook(lambda g: seen.append(g.tolist()))
    b.sum().backward()
    assert seen == [[1.0, 1.0, 1.0], [1.0, 5.0, 5.0]]


def test_a_write_that_fails_leaves_the_marks(x):
    b = x * 2
    v = b[1:]
    b.retain_grad()
    v.retain_grad()

    def refuse(t):
        raise ValueError("no room")

    with lg.autograd.graph.saved_tensors_hooks(refuse, lambda t: t), pytest.raises(ValueError, match="no room"):
        v.mul_(v)
    assert b.retains_grad
    assert v.retains_grad
    (b.sum() + (v * v).sum()).backward()
    assert b.grad.tolist() == [1.0, 9.0, 13.0]
    assert v.grad.tolist() == [8.0, 12.0]
