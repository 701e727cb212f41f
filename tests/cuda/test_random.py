"""Random numbers on CUDA: made on the device, from a seed and a count."""

import os

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.core import device as devices

KEYS = [(0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)]


def philox(seed, at):
    """The definition (Salmon et al. 2011), in Python's integers."""
    mask = 0xFFFFFFFF
    k, c = [seed & mask, seed >> 32], [at & mask, at >> 32, 0, 0]
    for _ in range(10):
        a, b = KEYS[0][0] * c[0], KEYS[0][1] * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + KEYS[1][0]) & mask, (k[1] + KEYS[1][1]) & mask]
    return c


def test_the_reference_is_philox():
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_numbers_are_philox():
    seed = 0x123456789ABCDEF0
    words = [philox(seed, at) for at in range(5)]
    g = lg.Generator("cuda").manual_seed(seed)
    expected = [((w[1] << 32 | w[0]) >> 11) / 2**53 for w in words]
    assert lg.rand(5, dtype=lg.float64, generator=g).tolist() == expected
    g.manual_seed(seed)
    assert lg.rand(5, generator=g).tolist() == [np.float32((w[0] >> 8) / 2**24) for w in words]
    g.manual_seed(seed)
    assert lg.randint(-3, 1000, (5,), generator=g).tolist() == [-3 + (w[1] << 32 | w[0]) % 1003 for w in words]
    g.manual_seed(seed)
    u = [[((w[1] << 32 | w[0]) >> 11) / 2**53, ((w[3] << 32 | w[2]) >> 11) / 2**53] for w in words]
    normal = [np.sqrt(-2 * np.log(1 - a)) * np.cos(2 * np.pi * b) for a, b in u]
    np.testing.assert_allclose(lg.randn(5, dtype=lg.float64, generator=g).tolist(), normal, rtol=1e-10)


def test_seeds_and_states():
    g = lg.Generator("cuda").manual_seed(7)
    a = lg.rand(3, generator=g).tolist()
    state = g.get_state()
    b = lg.randn(3, generator=g).tolist()
    g.set_state(state)
    assert lg.randn(3, generator=g).tolist() == b
    assert lg.rand(3, generator=g.manual_seed(7)).tolist() == a
    lg.manual_seed(11)
    c = lg.rand(3, device="cuda").tolist()
    state = lg.cuda.get_rng_state()
    d = lg.rand(3, device="cuda").tolist()
    lg.cuda.set_rng_state(state)
    assert lg.rand(3, device="cuda").tolist() == d != c
    lg.manual_seed(11)
    assert lg.rand(3, device="cuda").tolist() == c
    lg.cuda.manual_seed(11)
    assert lg.rand(3, device="cuda").tolist() == c
    lg.cuda.manual_seed_all(12)
    assert lg.rand(3, device="cuda").tolist() != c


def test_devices_draw_the_same_from_the_same_seed(second):
    lg.manual_seed(3)
    assert lg.rand(4, device="cuda:0").tolist() == lg.rand(4, device=second).tolist()


def test_a_generator_of_another_device(second):
    with pytest.raises(RuntimeError, match="generator is on cuda:0"):
        lg.rand(2, device=second, generator=lg.Generator("cuda:0"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_moments(dtype):
    lg.manual_seed(5)
    x = lg.randn(20000, device="cuda", dtype=dtype).numpy(force=True).astype("complex128")
    assert abs(x.mean()) < 0.03
    assert abs((np.abs(x) ** 2).mean() - 1) < 0.05
    u = lg.uniform(2.0, 5.0, (20000,), device="cuda").numpy(force=True)
    assert 2 <= u.min() < 2.01 and 4.99 < u.max() <= 5
    assert abs(u.mean() - 3.5) < 0.03


def test_permutations_and_choices():
    lg.manual_seed(6)
    assert sorted(lg.randperm(50, device="cuda").tolist()) == list(range(50))
    p = lg.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]], device="cuda")
    drawn = lg.multinomial(p, 2000, replacement=True).numpy(force=True)
    assert set(drawn[0]) == {1, 2} and set(drawn[1]) == {0}
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.05
    without = lg.multinomial(lg.ones((4, 5), device="cuda"), 5).numpy(force=True)
    assert [sorted(row) for row in without.tolist()] == [list(range(5))] * 4
    assert set(lg.bernoulli(lg.full((100,), 0.5, device="cuda")).tolist()) == {0.0, 1.0}


def test_nothing_leaves_the_device():
    lg.rand(3, device="cuda"), lg.randn(3, device="cuda"), lg.randperm(3, device="cuda")
    if not cudasim.is_installed():
        pytest.skip("counts are the emulated device's")
    with cudasim.counting() as counts:
        lg.rand(3, device="cuda"), lg.randn(3, device="cuda"), lg.randint(0, 5, (3,), device="cuda")
    assert counts.synchronisations == 0
    assert len(counts.launches) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_seeds_without_the_device(monkeypatch):
    """A lock of the driver may have been held by another thread when a worker was forked: it would wait for ever."""
    lg.rand(1, device="cuda")  # the default generator of the device is there
    backend = devices.backend_named("cuda")
    monkeypatch.setattr(type(backend), "generator", lambda *_: os._exit(3))
    child = os.fork()
    if child == 0:
        lg.manual_seed(0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
