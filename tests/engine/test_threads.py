"""Several threads, and walks inside walks: nothing is lost, modes stay where they were set."""

import sys
import threading
import time

import numpy as np
import pytest

import lucidgrad as lg

THREADS, ROUNDS = 8, 150


def leaf(*values, **kwargs):
    return lg.tensor(list(values), requires_grad=True, **kwargs)


def close(t, expected, rtol=1e-6):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=rtol)


def together(work, threads=THREADS):
    """Call ``work(k)`` in as many threads at the same time, switching as often as the interpreter can."""
    sys.setswitchinterval(1e-6)
    errors, results, barrier = [], [None] * threads, threading.Barrier(threads)

    def run(k):
        try:
            barrier.wait()
            results[k] = work(k)
        except BaseException as e:
            errors.append(e)

    pool = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    if errors:
        raise errors[0]
    return results


# --- at the same time ---------------------------------------------------------------------------------


def test_separate_graphs():
    def work(k):
        for n in list(range(10)) * (ROUNDS // 10):
            x = leaf(float(k), float(n))
            y = (x * x * x).sum() + (x.exp() * 0).sum()
            y.backward()
            assert x.grad.tolist() == [3.0 * k * k, 3.0 * n * n]

    together(work)


def test_separate_graphs_with_second_derivatives():
    def work(k):
        for n in range(ROUNDS // 3):
            x = leaf(float(k), float(n))
            (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
            (gg,) = lg.autograd.grad(g.sum(), x)
            assert gg.tolist() == [6.0 * k, 6.0 * n]
            assert lg.is_grad_enabled()

    together(work)


def test_graphs_that_share_leaves_lose_no_contribution():
    x, w = leaf(1.0, 2.0, dtype=lg.float64), leaf(3.0, 4.0, dtype=lg.float64)

    def work(k):
        for _ in range(ROUNDS):
            (x * w + x).sum().backward()

    together(work)
    assert x.grad.tolist() == [THREADS * ROUNDS * 4.0, THREADS * ROUNDS * 5.0]
    assert w.grad.tolist() == [THREADS * ROUNDS * 1.0, THREADS * ROUNDS * 2.0]


def test_the_first_contribution_is_not_lost_either():
    """``.grad`` is None at the start of every round, and all threads want to set it."""
    for _ in range(60):
        x = leaf(1.0)
        together(lambda k, x=x: (x * float(k + 1)).sum().backward(), threads=4)
        assert x.grad.tolist() == [10.0]


def test_shared_leaves_with_create_graph():
    x = leaf(1.0, 2.0)

    def work(k):
        for _ in range(ROUNDS // 5):
            (x * 3).sum().backward(create_graph=True)

    together(work)
    assert x.grad.tolist() == [THREADS * (ROUNDS // 5) * 3.0] * 2
    x.grad = None


def test_shared_interior_tensors_that_retain_their_gradient():
    x = leaf(1.0, dtype=lg.float64)
    y = x + 1  # saves nothing, so it may be walked from every graph on top of it
    y.retain_grad()

    def work(k):
        for _ in range(ROUNDS):
            (y + 2.0).sum().backward(retain_graph=True)

    together(work)
    assert y.grad.tolist() == x.grad.tolist() == [float(THREADS * ROUNDS)]


def test_one_graph_walked_by_many_threads():
    x = leaf(1.0, 2.0, 3.0)
    y = x
    for _ in range(10):
        y = (y * x).tanh() + x
    loss = y.sum()
    expected = lg.autograd.grad(loss, x, retain_graph=True)[0].tolist()

    def work(k):
        for _ in range(ROUNDS // 3):
            (g,) = lg.autograd.grad(loss, x, retain_graph=True)
            assert g.tolist() == expected

    together(work)
    assert x.grad is None


def test_hooks_fire_once_per_walk():
    x, calls, posts = leaf(1.0), [], []
    x.register_hook(lambda g: calls.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda p: posts.append(1))

    def work(k):
        for _ in range(ROUNDS):
            (x * 2).sum().backward()

    together(work)
    assert calls == [[2.0]] * (THREADS * ROUNDS)
    assert len(posts) == THREADS * ROUNDS
    assert x.grad.tolist() == [2.0 * THREADS * ROUNDS]


def test_in_place_writes_to_separate_tensors():
    w = leaf(2.0)

    def work(k):
        for _ in range(ROUNDS // 3):
            b = lg.zeros(4)
            v = b[k % 4 :]
            v += w
            v *= w
            (g,) = lg.autograd.grad(b.sum(), w)
            assert g.tolist() == [4.0 * (4 - k % 4)]
            assert b._version == 2

    together(work)


def test_graph_built_in_one_thread_and_walked_in_another():
    x = leaf(2.0)
    y = (x * x).sum()
    t = threading.Thread(target=y.backward)
    t.start()
    t.join()
    close(x.grad, [4.0])


# --- modes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [lg.no_grad, lg.inference_mode, lambda: lg.set_grad_enabled(False)])
def test_a_new_thread_starts_with_recording_on(mode):
    with mode():
        states = together(
            lambda k: (
                lg.is_grad_enabled(),
                lg.autograd.is_inference_mode_enabled(),
                (leaf(1.0) * 2).requires_grad,
            ),
            threads=2,
        )
        assert not lg.is_grad_enabled()
    assert states == [(True, False, True)] * 2


def test_modes_are_per_thread():
    def work(k):
        recording = k % 2 == 0
        lg.set_grad_enabled(recording)
        for _ in range(ROUNDS):
            assert lg.is_grad_enabled() is recording
            assert (x * 2).requires_grad is recording
            with lg.set_grad_enabled(not recording):
                assert (x * 2).requires_grad is not recording
                time.sleep(0)

    x = leaf(1.0)
    together(work)
    assert lg.is_grad_enabled()


def test_a_walk_does_not_switch_the_mode_of_other_threads():
    x = leaf(1.0)

    def work(k):
        for _ in range(ROUNDS):
            if k % 2:
                lg.autograd.grad((x * x * x).sum(), x, create_graph=bool(k % 4 == 1))
            else:
                assert (x * 2).requires_grad
            assert lg.is_grad_enabled()

    together(work)


# --- a walk inside a walk -----------------------------------------------------------------------------


def test_hook_that_runs_backward_on_other_graphs():
    x, w, log = leaf(2.0), leaf(3.0), []

    def hook(g):
        with lg.enable_grad():
            a = leaf(5.0)
            (a * a).sum().backward()
            log.append(a.grad.tolist())
            (w * w).sum().backward()  # adds 6 to a leaf of the outer graph
            log.append(lg.autograd.grad((x * x).sum(), x)[0].tolist())

    y = x * w
    y.register_hook(hook)
    y.sum().backward()
    assert log == [[10.0], [4.0]]
    close(x.grad, [3.0])
    close(w.grad, [8.0])


def test_hook_that_runs_backward_to_the_same_leaf():
    x = leaf(2.0)

    def hook(g):
        with lg.enable_grad():
            (x * 10).sum().backward()

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    close(x.grad, [13.0])


def test_leaf_hook_that_runs_backward_to_its_own_leaf():
    x, depth = leaf(2.0), []

    def hook(g):
        if len(depth) < 3:
            depth.append(g.tolist())
            with lg.enable_grad():
                (x * 10).sum().backward()

    x.register_hook(hook)
    (x * 3).sum().backward()
    assert depth == [[3.0], [10.0], [10.0]]
    close(x.grad, [33.0])


def test_hook_that_walks_the_same_graph():
    x, log = leaf(2.0), []
    y = x * x
    inner = y.sum()
    z = y * 1
    z.register_hook(lambda g: log.append(lg.autograd.grad(inner, x, retain_graph=True)[0].tolist()))
    z.sum().backward()
    assert log == [[4.0]]
    close(x.grad, [4.0])


def test_walks_nest_deeply():
    x, count = leaf(2.0), [0]

    def hook(g):
        count[0] += 1
        if count[0] < 40:
            with lg.enable_grad():
                y = x * 1
                y.register_hook(hook)
                y.sum().backward()

    y = x * 1
    y.register_hook(hook)
    y.sum().backward()
    assert count == [40]
    close(x.grad, [40.0])


def test_the_inner_walk_does_not_disturb_the_mode_of_the_outer():
    x, log = leaf(2.0), []

    def hook(g):
        before = lg.is_grad_enabled()
        with lg.enable_grad():
            z = (x * x).sum()
        lg.autograd.grad(z, x, create_graph=not before)
        log.append(before == lg.is_grad_enabled())

    y = x * 3
    y.register_hook(hook)
    z = y.sum()
    lg.autograd.grad(z, x, retain_graph=True)
    lg.autograd.grad(z, x, create_graph=True)
    assert log == [True, True]


def test_an_inner_walk_that_fails_can_be_caught():
    x, log = leaf(2.0), []

    def hook(g):
        try:
            lg.autograd.grad(lg.ones(1).sum(), x)
        except RuntimeError:
            log.append("refused")

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert log == ["refused"]
    close(x.grad, [3.0])


@pytest.mark.parametrize("inner", ["grad", "backward"])
def test_inner_walks_in_many_threads(inner):
    x = leaf(1.0, dtype=lg.float64)

    def hook(g):
        with lg.enable_grad():
            y = (x * 2).sum()
        if inner == "backward":
            y.backward()
        else:
            assert lg.autograd.grad(y, x)[0].tolist() == [2.0]

    def work(k):
        for _ in range(ROUNDS // 3):
            y = x * 3
            y.register_hook(hook)
            y.sum().backward()

    together(work)
    assert x.grad.tolist() == [THREADS * (ROUNDS // 3) * (5.0 if inner == "backward" else 3.0)]
