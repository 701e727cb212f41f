"""The devices of other libraries: values, derivatives, writes and training as on the CPU, or refused by name."""

import importlib
import math

import numpy as np
import pytest
from thoroughness import NIGHTLY

import lucidgrad as lg
from devices import report, survey
from lucidgrad import nn, optim

DEVICES = survey.installed()
on_every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def ready(request):
    given = getattr(request.node, "callspec", None)
    with survey.ready(given.params["device"] if given else "strict"):
        yield


def test_the_page_says_what_the_table_says():
    assert report.PAGE.read_text() == report.page(), "python -m tests.devices writes it"


# -- the laws ------------------------------------------------------------------------------------
def chosen(device):
    """Primitives to try: all of them in the nightly run, otherwise some that libraries are known to differ in."""
    some = ["add", "index", "cholesky", "floor_divide", "searchsorted", "take", "join_parts"]
    return survey.names(device) if NIGHTLY else some


@pytest.mark.parametrize(("device", "name"), [(device, name) for device in DEVICES for name in chosen(device)])
def test_a_primitive_is_the_cpus_or_refused_by_name(device, name):
    found = survey.survey(device, name, few=not NIGHTLY)
    assert (found == "works") == (name not in survey.REFUSED.get(device, ())), found


@on_every_device
def test_an_infinite_part_leaves_the_other_as_it_is(device):
    real, imag = [1.0, math.inf, 2.0], [-math.inf, 1.0, 2.0]
    found = lg.complex(lg.asarray(real, device=device), lg.asarray(imag, device=device))
    assert found.to("cpu").tolist() == list(map(complex, real, imag))


# -- writing -------------------------------------------------------------------------------------
KEYS = [
    0, slice(None, None, -1), (Ellipsis, slice(None, None, -1)), np.array([0, 2, 0]), np.array([True, False, True]),
    *(
        -1, slice(1, None), (slice(None), 1), (slice(2, None, -2), slice(None)), Ellipsis,
        (slice(None), np.array([2, 2, 1])), (np.array([0, 0, 1]), np.array([1, 1, 2])),
    ) * NIGHTLY,
]  # fmt: skip


def sent(key, device):
    if isinstance(key, tuple):
        return tuple(sent(part, device) for part in key)
    return lg.asarray(key, device=device) if isinstance(key, np.ndarray) else key


@on_every_device
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_a_part_is_written_as_on_the_cpu(device, number, recorded):
    key, x = KEYS[number], np.arange(9.0).reshape(3, 3)
    values = np.arange(10.0, 10 + x[key].size).reshape(x[key].shape)
    found = []
    for where in ("cpu", device):
        leaf, v = (lg.asarray(a.copy(), device=where).requires_grad_(recorded) for a in (x, values))
        y = leaf * 1.0
        try:
            y[sent(key, where)] = v
            grads = lg.autograd.grad((y * y).sum(), [leaf, v]) if recorded else ()
        except lg.DeviceError as error:
            assert repr(where) in str(error)  # noqa: PT017  what a library lacks
            return
        found.append([t.detach().cpu().numpy() for t in (y, *grads)])
    for mine, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(mine, theirs)


VIEWS = {
    "a row": lambda x: x[0],
    "a backward slice": lambda x: x[::-1],
    "flip": lg.flip,
    "transpose": lambda x: x.mT,
    "reshape": lambda x: x.reshape(-1),
    "detach": lambda x: x.detach(),
    "a view of a view": lambda x: x.mT[::-1],
    "split": lambda x: lg.split(x, 2)[0],
}


@on_every_device
@pytest.mark.parametrize("inference", [False, True], ids=["usual", "inference"])
@pytest.mark.parametrize("through", ["the view", "the base"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_reaches_views_and_bases_or_is_refused(device, view, through, inference):
    found = []
    for where in ("cpu", device):
        with lg.inference_mode(inference):
            x = lg.asarray(np.arange(6.0).reshape(2, 3), device=where) * 1.0
            y = VIEWS[view](x)
            before = [t.tolist() for t in (x, y)]
            try:
                (y if through == "the view" else x).add_(1)
            except RuntimeError as error:
                assert where != "cpu"
                assert repr(where) in str(error)  # noqa: PT017
                assert [t.tolist() for t in (x, y)] == before
                return
            found.append([t.tolist() for t in (x, y)])
    assert found[1] == found[0]


@on_every_device
def test_what_was_a_copy_can_be_written_once_the_other_is_gone(device):
    x = lg.asarray(np.arange(3.0), device=device) * 1.0
    y = lg.flip(x)
    del x
    y += 1
    assert y.tolist() == [3.0, 2.0, 1.0]


# -- training ------------------------------------------------------------------------------------
def network():
    """No bias before the normalisation: its gradient would be rounding alone, which some steps magnify."""
    lg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()


OPTIMISERS = ["SGD", "Adam"] + [
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "NAdam",
    "RAdam",
    "Adamax",
    "Rprop",
] * NIGHTLY


@on_every_device
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_network_trains_as_on_the_cpu(device, name):
    data = np.random.default_rng(0).normal(size=(8, 3))
    states = []
    for where in ("cpu", device):
        model = network().to(where)
        x = lg.asarray(data, device=where)
        optimiser = getattr(optim, name)(model.parameters(), lr=0.05)
        for _ in range(2):
            optimiser.zero_grad()
            ((model(x) - 1.0) ** 2).mean().backward()
            optimiser.step()
        states.append({key: value.cpu().numpy() for key, value in model.state_dict().items()})
        copy = network().to(where)
        copy.load_state_dict(model.state_dict())
        for key, value in copy.state_dict().items():
            np.testing.assert_array_equal(value.cpu().numpy(), states[-1][key])
    for key, value in states[1].items():
        np.testing.assert_allclose(value, states[0][key], rtol=1e-6, atol=1e-9, err_msg=key)


@on_every_device
def test_layers_are_made_on_a_device(device):
    for made in (nn.Linear(3, 2, device=device), nn.BatchNorm1d(3, device=device), nn.Conv1d(1, 2, 2, device=device)):
        assert all(p.device == device for p in made.parameters())
    complex_parameter = nn.Parameter(lg.asarray([1.0 + 2.0j], device=device))
    optimiser = optim.Adam([complex_parameter], lr=0.1)
    (lg.abs(complex_parameter) ** 2).sum().backward()
    optimiser.step()
    np.testing.assert_allclose(complex_parameter.tolist(), [0.9 + 1.9j], rtol=1e-5)


# -- dtypes and names ----------------------------------------------------------------------------
@on_every_device
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_a_dtype_works_or_is_refused_by_name(device, dtype):
    dtype = getattr(lg, dtype)
    for make in (
        lambda: lg.ones(2, dtype=dtype, device=device),
        lambda: lg.asarray(lg.ones(2, dtype=dtype), device=device),
        lambda: lg.ones(2, dtype=dtype).to(device),
        lambda: lg.ones(2, device=device).to(dtype),
    ):
        try:
            x = make()
        except TypeError as error:
            assert str(dtype) in str(error)  # noqa: PT017
            assert repr(device) in str(error)  # noqa: PT017
        else:
            assert (x * 2).tolist() == [2, 2]
            assert x.dtype == dtype
            repr(x)


@on_every_device
def test_a_librarys_own_dtypes_are_refused_by_name(device):
    if device not in ("torch", "jax"):
        pytest.skip("has none")
    own = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[device])
    with pytest.raises(TypeError, match=f"bfloat16.*{device}"):
        lg.asarray(own.zeros(2, dtype=own.bfloat16))


@on_every_device
def test_an_index_that_does_not_exist_is_refused(device):
    for make in (lambda: lg.ones(2, device=f"{device}:7"), lambda: lg.ones(2).to(f"{device}:7")):
        with pytest.raises(lg.DeviceError, match=f"{device}:7"):
            make()
