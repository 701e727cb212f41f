"""`GradScaler`: the scale, the steps that are left out, and the order of calls; beside PyTorch's where it is there."""

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad.amp import GradScaler, autocast


def ones(*shape, **options):
    return lg.ones(() if shape == ((),) else shape, **options)


class Counting:
    """The least that a scaler asks of an optimiser."""

    def __init__(self, *parameters):
        self.param_groups, self.steps = [{"params": list(parameters)}], 0

    def step(self, *args):
        self.steps += 1
        return "done"


def run(module, scaler, optimizer, parameter, gradient):
    """A step with a given gradient, in either library."""
    scaler.scale(module.ones(1))
    parameter.grad = module.tensor([gradient])
    made = scaler.step(optimizer)
    scaler.update()
    return made


SEQUENCE = [1.0, 1.0, float("inf"), 1.0, 1.0, 1.0, float("nan"), float("-inf"), 1.0, 1.0]


def test_the_scale_follows_pytorchs():
    torch = peer("torch")
    histories = []
    for module, make in ((lg, GradScaler), (torch, torch.amp.GradScaler)):
        p = module.ones(1).requires_grad_()
        optimizer = module.optim.SGD([p], lr=0.125)
        scaler = make("cpu", init_scale=8.0, growth_interval=2, growth_factor=4.0, backoff_factor=0.25)
        history = []
        for gradient in SEQUENCE:
            run(module, scaler, optimizer, p, gradient)
            history.append((scaler.get_scale(), p.tolist(), scaler.state_dict()))
        histories.append(history)
    assert histories[0] == histories[1]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_scale(device):
    p = ones(1, device=device, requires_grad=True)
    optimizer, scaler = Counting(p), GradScaler(device, init_scale=8.0, growth_interval=2)
    scales = []
    for gradient in [1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0]:
        loss = scaler.scale(ones((), device=device))
        assert loss.item() == scaler.get_scale()
        p.grad = lg.full((1,), gradient * scaler.get_scale(), device=device)
        made = scaler.step(optimizer)
        assert made == ("done" if np.isfinite(gradient) else None)
        if np.isfinite(gradient):
            assert p.grad.item() == gradient
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [8, 16, 8, 8, 4, 4, 8]
    assert optimizer.steps == 5


def test_the_scale_stays_finite():
    p = ones(1, requires_grad=True)
    scaler = GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    for _ in range(3):
        run(lg, scaler, Counting(p), p, 1.0)
    assert scaler.get_scale() == 2.0**127


def test_several_optimisers():
    a, b = ones(1, requires_grad=True), ones(1, requires_grad=True)
    one, two = Counting(a), Counting(b)
    scaler = GradScaler("cpu", init_scale=4.0)
    losses = scaler.scale([ones(()), (ones(()), ones(()))])
    assert isinstance(losses, list) and isinstance(losses[1], tuple) and losses[1][0].item() == 4
    a.grad, b.grad = lg.tensor([float("inf")]), lg.tensor([8.0])
    scaler.unscale_(two)
    assert b.grad.item() == 2
    scaler.step(one)
    scaler.step(two)
    assert (one.steps, two.steps) == (0, 1)
    assert b.grad.item() == 2  # not divided twice
    scaler.update()
    assert scaler.get_scale() == 2


def test_errors_are_pytorchs():
    torch = peer("torch")

    def cases(module, make):
        p = module.ones(1).requires_grad_()
        optimizer, scaler = Counting(p), make("cpu")

        def fresh():
            made = make("cpu")
            made.scale(module.ones(1))
            p.grad = module.ones(1)
            return made

        yield lambda: scaler.step(optimizer)
        yield lambda: scaler.update()
        s = fresh()
        yield lambda: s.update()
        s.unscale_(optimizer)
        yield lambda: s.unscale_(optimizer)
        s.step(optimizer)
        yield lambda: s.unscale_(optimizer)
        yield lambda: s.step(optimizer)
        yield lambda: fresh().step(optimizer, closure=lambda: 0)
        yield lambda: fresh().load_state_dict({})
        yield lambda: fresh().scale(3)
        empty = fresh()
        yield lambda: empty.step(Counting(module.ones(1).requires_grad_()))
        half = module.ones(1, dtype=module.float16).requires_grad_()
        half.grad = module.ones(1, dtype=module.float16)
        yield lambda: fresh().unscale_(Counting(half))
        yield lambda: make("cpu", growth_factor=1.0)
        yield lambda: make("cpu", backoff_factor=1.0)

    def outcomes(module, make):
        found = []
        for case in cases(module, make):
            try:
                case()
            except Exception as error:
                found.append(type(error).__name__)
            else:
                found.append(None)
        return found

    ours, theirs = outcomes(lg, GradScaler), ask(torch, lambda torch: outcomes(torch, torch.amp.GradScaler))
    assert ours == theirs
    assert None not in ours


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (["unscale_", "unscale_"], "already been called on this optimizer"),
        (["step", "unscale_"], "called after step"),
        (["step", "step"], "step.. has already been called"),
        (["unscale_", "step", "update", "unscale_", "step"], None),
    ],
)
def test_the_order_of_calls(calls, message):
    p = ones(1, requires_grad=True)
    optimizer, scaler = Counting(p), GradScaler("cpu")
    scaler.scale(ones(()))
    p.grad = ones(1)

    def call():
        for name in calls:
            getattr(scaler, name)(*(() if name == "update" else (optimizer,)))

    if message is None:
        call()
    else:
        with pytest.raises(RuntimeError, match=message):
            call()


def test_disabled():
    scaler, optimizer, loss = GradScaler("cpu", enabled=False), Counting(), ones(())
    assert scaler.scale(loss) is loss
    assert scaler.step(optimizer) == "done"
    scaler.unscale_(optimizer), scaler.update(), scaler.load_state_dict({})
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)


def test_state(tmp_path):
    p = ones(1, requires_grad=True)
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=3)
    run(lg, scaler, Counting(p), p, 1.0)
    lg.utils.save_checkpoint(tmp_path / "c", scaler=scaler)
    fresh, used = GradScaler("cpu"), GradScaler("cpu")
    used.scale(ones(()))
    for other in (fresh, used):
        lg.utils.load_checkpoint(tmp_path / "c", scaler=other)
        assert other.state_dict() == scaler.state_dict()
        for _ in range(2):
            run(lg, other, Counting(p), p, 1.0)
        assert other.get_scale() == 16
    used.update(5.0)
    assert used.get_scale() == 5


def test_one_question_per_step():
    from lucidgrad.backends import cudasim

    if not cudasim.is_installed():
        pytest.skip("counts are the emulated device's")
    ps = [ones(2, device="cuda", requires_grad=True) for _ in range(3)]
    optimizer, scaler = Counting(*ps), GradScaler("cuda")

    def step():
        scaler.scale(ones((), device="cuda"))
        for p in ps:
            p.grad = lg.ones_like(p).detach()
        scaler.step(optimizer)
        scaler.update()

    step()
    with cudasim.counting() as counts:
        step()
    assert counts.synchronisations == 1


def test_small_gradients_survive():
    """The reason for all this: 1e-8 is zero in float16, times 2**16 it is not."""
    w, x = ones(1, 1, requires_grad=True), lg.full((1, 1), 1e-4)
    optimizer = lg.optim.SGD([w], lr=1.0)
    found = []
    for scale in (1.0, 2.0**14):
        scaler = GradScaler("cpu", init_scale=scale)
        optimizer.zero_grad()
        with autocast("cpu", dtype=lg.float16):
            loss = (x @ w).float().sum() * 1e-5
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        found.append(w.grad.item())
    assert found[0] == 0
    assert found[1] == pytest.approx(1e-9, rel=0.01)
