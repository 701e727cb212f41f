"""Packed sequences: packing, padding, recurrent layers on them; against PyTorch, and each sequence alone."""

import copy
import pickle

import numpy as np
import pytest
from golden import peer
from nn.sequence_models import compare, draw, twins
from nn.test_recurrence import MODES, states

import lucidgrad as lg
from lucidgrad.nn.utils import rnn

LENGTHS = [[5, 3, 3, 1], [2, 5, 1, 5], [4], [3, 3]]


@pytest.fixture
def torch():
    return peer("torch")


def sequences(lengths, *rest, make=lg.tensor):
    return [make(draw(n, *rest, seed=k)) for k, n in enumerate(lengths)]


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert str(a.dtype) == str(b.dtype).removeprefix("torch.")
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


# -- packing ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("rest", [(), (2,), (2, 3)])
def test_packing_and_back(lengths, rest):
    ordered = lengths == sorted(lengths, reverse=True)
    packed = rnn.pack_sequence(sequences(lengths, *rest), enforce_sorted=ordered)
    assert packed.batch_sizes.tolist() == [sum(n > t for n in lengths) for t in range(max(lengths))]
    assert (packed.sorted_indices is None) == ordered
    same(rnn.unpack_sequence(packed), sequences(lengths, *rest))
    padded, found = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7.0, total_length=6)
    assert found.tolist() == lengths and padded.shape == (len(lengths), 6, *rest)
    for row, n in zip(padded, lengths, strict=True):
        assert (row[n:] == 7).all()
    again = rnn.pack_padded_sequence(padded, found, batch_first=True, enforce_sorted=ordered)
    same(again, packed)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_is_torchs(torch, lengths):
    theirs = torch.nn.utils.rnn
    for side in ("left", "right"):
        for first in (True, False):
            way = {"batch_first": first, "padding_value": 0.5, "padding_side": side}
            a = rnn.pad_sequence(sequences(lengths, 2), **way)
            b = theirs.pad_sequence(sequences(lengths, 2, make=torch.tensor), **way)
            same([a], [b])
            packed = rnn.pack_padded_sequence(a, lengths, first, False)
            other = theirs.pack_padded_sequence(b, torch.tensor(lengths), first, False)
            same(packed[1:2], other[1:2])
            assert sorted(packed.sorted_indices.tolist()) == list(range(len(lengths)))
            same(rnn.unpack_sequence(packed), theirs.unpack_sequence(other))
            same(rnn.pad_packed_sequence(packed, first, 2.0, 7), theirs.pad_packed_sequence(other, first, 2.0, 7))


def test_gradients_pass_packing():
    def there_and_back(x):
        packed = rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False)
        return packed.data * 2, rnn.pad_packed_sequence(packed, padding_value=3.0)[0]

    x = lg.tensor(draw(3, 2, 2), requires_grad=True)
    assert lg.autograd.gradcheck(there_and_back, [x])
    assert lg.autograd.gradcheck(lambda x: rnn.pad_sequence([x[:, 0], x[:1, 1]], padding_side="left"), [x])


def test_moving_and_copying():
    packed = rnn.pack_sequence(sequences([1, 2]), enforce_sorted=False)
    assert packed.double() is packed and packed.float().data.dtype == lg.float32
    assert [getattr(packed, n)().data.dtype for n in ("long", "int", "short", "char", "byte", "half")] == [
        *(lg.int64, lg.int32, lg.int16, lg.int8, lg.uint8, lg.float16)
    ]
    there = packed.cuda()
    assert there.is_cuda and there.sorted_indices.is_cuda and not there.batch_sizes.is_cuda
    same(there.cpu(), packed)
    same(copy.deepcopy(packed), packed)
    same(pickle.loads(pickle.dumps(packed)), packed)
    assert isinstance(rnn.PackedSequence((packed.data, packed.batch_sizes)), rnn.PackedSequence)


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [
        (RuntimeError, lambda x: rnn.pack_padded_sequence(x, [2, 3]), "enforce_sorted=False"),
        (RuntimeError, lambda x: rnn.pack_padded_sequence(x, [3]), "1 lengths"),
        (RuntimeError, lambda x: rnn.pack_padded_sequence(x, [3, 0]), "above 0"),
        (RuntimeError, lambda x: rnn.pack_padded_sequence(x, [9, 3]), "at most 3"),
        (RuntimeError, lambda x: rnn.pack_padded_sequence(x[:, 0], [3, 3]), "time, batch"),
        (RuntimeError, lambda x: rnn.pad_sequence([]), "empty"),
        (RuntimeError, lambda x: rnn.pad_sequence(3), "iterable"),
        (RuntimeError, lambda x: rnn.pad_sequence([x], padding_side="up"), "padding_side"),
        (ValueError, lambda x: rnn.pad_packed_sequence(rnn.pack_sequence([x]), total_length=2), "total_length"),
        (ValueError, lambda x: rnn.PackedSequence(x, x.cuda()), "on the CPU"),
        (RuntimeError, lambda x: lg.nn.GRU(3, 2)(rnn.pack_sequence([x, x]).float()), "features"),
    ],
)
def test_errors(kind, call, message):
    with pytest.raises(kind, match=message):
        call(lg.tensor(draw(3, 2)))


# -- layers ----------------------------------------------------------------------------------------
class Packing:
    """A layer, by way of padded sequences: what it takes and gives are tensors."""

    def __init__(self, layer, home, lengths):
        self.layer, self.home, self.lengths = layer, home, lengths
        self.zero_grad, self.parameters = layer.zero_grad, layer.parameters

    def __call__(self, x, hx=None):
        packed = self.home.pack_padded_sequence(x, self.lengths, self.layer.batch_first, enforce_sorted=False)
        y, end = self.layer(packed, hx)
        assert isinstance(y, self.home.PackedSequence) and y.batch_sizes.tolist() == packed.batch_sizes.tolist()
        return self.home.pad_packed_sequence(y, self.layer.batch_first)[0], end


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("name", "options"), MODES, ids=str)
def test_layers_are_torchs(torch, name, options, lengths):
    for way in ({}, {"num_layers": 2, "bidirectional": True, "batch_first": True}):
        ours, theirs = twins(torch, name, 3, 4, **options, **way)
        ours, theirs = Packing(ours, rnn, lengths), Packing(theirs, torch.nn.utils.rnn, lengths)
        x = draw(len(lengths), max(lengths), 3)
        x = x if way else np.swapaxes(x, 0, 1)
        compare(torch, ours, theirs, x)
        compare(torch, ours, theirs, x, states(name, way, len(lengths), 4, options.get("proj_size")))


@pytest.mark.parametrize(("name", "options"), MODES, ids=str)
def test_each_sequence_is_as_it_is_alone(name, options):
    lg.manual_seed(0)
    lengths = [2, 5, 1, 5]
    layer = getattr(lg.nn, name)(3, 4, 2, bidirectional=True, **options, dtype="float64")
    given = sequences(lengths, 3)
    y, end = layer(rnn.pack_sequence(given, enforce_sorted=False))
    total = (y.data**2).sum()
    found = lg.autograd.grad(total, list(layer.parameters()))
    each, alone = rnn.unpack_sequence(y), 0
    ends = end if isinstance(end, tuple) else (end,)
    for k, x in enumerate(given):
        z, last = layer(x)
        np.testing.assert_allclose(each[k].detach().numpy(), z.detach().numpy(), rtol=1e-12)
        for a, b in zip(ends, last if isinstance(last, tuple) else (last,), strict=True):
            np.testing.assert_allclose(a[:, k].detach().numpy(), b.detach().numpy(), rtol=1e-12)
        alone = alone + (z**2).sum()
    for a, b in zip(found, lg.autograd.grad(alone, list(layer.parameters())), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_cuda_is_cpu():
    layer = lg.nn.GRU(2, 2, dtype=lg.float64)
    packed = rnn.pack_sequence(sequences([1, 2], 2), enforce_sorted=False)
    y, end = layer(packed)
    z, last = layer.to("cuda")(packed.cuda())
    np.testing.assert_allclose(y.data.detach().numpy(), z.data.detach().cpu().numpy(), rtol=1e-12)
    np.testing.assert_allclose(end.detach().numpy(), last.detach().cpu().numpy(), rtol=1e-12)
