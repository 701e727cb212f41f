"""The model that predicts steps of many processes: what must hold of it, whatever was measured."""

import pytest

from bench.scaling import BUCKET, PLANS, RANKS, Network, Step, efficiency, predicted, read, table

STEP = Step(forward=(0.01,) * 8, backward=(0.02,) * 8, sizes=(8 << 20,) * 8, update=0.02)
FREE = Network(0.0, 1e30)


@pytest.mark.parametrize("plan", PLANS)
def test_one_process_communicates_nothing(plan):
    assert predicted(STEP, Network(1.0, 1.0), 1, plan) == STEP.alone == pytest.approx(0.26)


@pytest.mark.parametrize("plan", PLANS)
def test_a_free_network_costs_nothing_and_shares_the_update(plan):
    shared = 1 if plan == "data parallel" else 64
    assert predicted(STEP, FREE, 64, plan) == pytest.approx(0.24 + 0.02 / shared)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("ranks", [2, 64, 4096])
def test_a_better_network_is_never_slower(plan, ranks):
    times = [predicted(STEP, Network(1e-5, b), ranks, plan) for b in (1e8, 1e9, 1e10, 1e11)]
    assert times == sorted(times, reverse=True)
    times = [predicted(STEP, Network(a, 1e9), ranks, plan) for a in (1e-3, 1e-4, 1e-5)]
    assert times == sorted(times, reverse=True)
    hidden, shown = (predicted(STEP, Network(1e-5, 1e9, overlap), ranks, plan) for overlap in (1.0, 0.0))
    assert hidden <= shown


def test_what_travels_behind_backward_is_hidden():
    whole = sum(STEP.sizes)
    pace = whole / (sum(STEP.backward) / 2)  # all gradients in half of backward, with two processes
    hidden = predicted(STEP, Network(0.0, pace), 2, "data parallel")
    shown = predicted(STEP, Network(0.0, pace, overlap=0.0), 2, "data parallel")
    last = STEP.sizes[0] * -(-BUCKET // STEP.sizes[0])  # the last bucket has nothing to hide behind
    assert hidden == pytest.approx(STEP.alone + last / pace, rel=0.2)
    assert shown == pytest.approx(STEP.alone + whole / pace, rel=0.2)


def test_an_all_reduce_takes_what_a_ring_takes_and_the_latency_of_a_tree():
    network = Network(1e-3, 1e9)
    assert network.all_reduce(10**9, 2) == pytest.approx(2e-3 + 1.0)
    assert network.all_reduce(10**9, 1024) == pytest.approx(20e-3 + 2 * 1023 / 1024)
    assert network.all_reduce(10**9, 1) == 0.0


def test_the_recorded_measurement_gives_a_table():
    steps, network, data = read()
    assert 0 < network.latency < 1
    assert 1e6 < network.bandwidth < 1e12
    assert 0 <= network.overlap <= 1
    assert data["measured"]["machine"]["cores"] >= 1
    for step in steps.values():
        assert len(step.forward) == len(step.backward) == len(step.sizes) > 2
        for plan in PLANS:
            shares = [efficiency(step, network, n, plan) for n in RANKS]
            assert shares[0] == 1.0 and min(shares) > 0
    assert table(steps, network).count("\n") == len(PLANS) * len(steps)
