"""The index of a checkpoint of several processes, and the rows that each of them has."""

import itertools

import pytest
from thoroughness import cases, draw

from lucidgrad.distributed.checkpoint.index import Entry, Index, Piece, Whole, assembled, needed, planned
from lucidgrad.files import FileFormatError
from lucidgrad.shards import cut, rows_of


def test_rows_of_ranks():
    for rows in range(20):
        for ranks in range(1, 9):
            parts = cut(rows, ranks)
            assert len(parts) == ranks and parts[0][0] == 0 and parts[-1][1] == rows
            assert all(a[1] == b[0] for a, b in itertools.pairwise(parts))
            assert max(b - a for a, b in parts) == -(-rows // ranks)
            assert all(start == min(i * -(-rows // ranks), rows) for i, (start, _) in enumerate(parts))


def _index_of(shape, ranks):
    """The index of one tensor that so many ranks have written, and its pieces by name."""
    whole = list(range(rows_of(shape)))
    entries = [[Entry("w", shape, "float64", a, b, 8 * (b - a), None)] for a, b in cut(rows_of(shape), ranks)]
    plan = planned(entries)
    found_shape, dtype, places = plan.tensors["w"]
    pieces = tuple(Piece(f"rank-{rank}", "w", start, stop) for rank, start, stop in places)
    files = {f"rank-{rank}": 0 for rank in range(ranks)}
    return Index("0a", files, {"w": Whole(found_shape, dtype, pieces)}), whole


class Rows(list):
    """An array of rows, as far as `assembled` asks."""

    def __init__(self, values, shape):
        super().__init__(values)
        self.shape = shape

    def reshape(self, shape):
        return Rows(self, shape)

    def __getitem__(self, key):
        return list(self)[key]


def test_any_number_of_ranks_into_any_other():
    random = draw("ranks")
    for _ in range(cases(60, 2000)):
        shape = random.choice([(), (random.randrange(30),), (random.randrange(30), 3)])
        before, after = random.randrange(1, 9), random.randrange(1, 9)
        index, whole = _index_of(shape, before)
        index = Index.of_text(index.text())
        assert index.ranks == before
        tensor = index.tensors["w"]

        def read(piece, shape=shape, whole=whole):
            own = (piece.stop - piece.start, *shape[1:])
            return Rows(whole[piece.start : piece.stop], own)

        found = []
        for start, stop in cut(rows_of(shape), after):
            found += assembled(tensor, start, stop, read, lambda parts: [row for part in parts for row in part])
        assert found == whole


def test_copies_are_shared_out_by_size():
    own = [Entry(f"w{i}", (n,), "float64", 0, n, 8 * n, f"digest {i}") for i, n in enumerate((9, 5, 4, 3, 2, 1))]
    plan = planned([own, own, own])
    written = [key for rank in plan.writes for key in rank]
    assert sorted(written) == sorted(entry.key for entry in own)
    sizes = [sum(8 * int(plan.tensors[key][0][0]) for key in rank) for rank in plan.writes]
    assert max(sizes) == 8 * 9 and sum(sizes) == 8 * 24


def test_what_differs_is_kept_for_each():
    a, b = (Entry("m", (2,), "float64", 0, 2, 16, digest) for digest in ("a", "b"))
    plan = planned([[a], [b], [a]])
    assert [keys["m"] for keys in plan.keys] == ["m", "m@1", "m"]
    assert [list(writes) for writes in plan.writes].count(["m"]) == 2
    clash = Entry("m@1", (2,), "float64", 0, 2, 16, "c")
    plan = planned([[a, clash], [b, clash]])
    assert plan.keys[1] == {"m": "m@1'", "m@1": "m@1"}


def _rows(rows, start, stop, digest=None):
    return Entry("w", (rows,), "float64", start, stop, 8 * (stop - start), digest)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([[_rows(4, 0, 2)], []], "expected rows from all ranks"),
        ([[_rows(4, 0, 1)], [_rows(4, 2, 4)]], "end at row 1"),
        ([[_rows(4, 0, 2)], [_rows(5, 2, 5)]], "one shape"),
        ([[_rows(4, 0, 2)], [_rows(4, 0, 4, "a")]], "whole on others"),
    ],
)
def test_plans_that_can_not_be(ranks, words):
    with pytest.raises(ValueError, match=words):
        planned(ranks)


def test_damaged_indices():
    text = _index_of((5, 2), 2)[0].text()
    for at in range(0, len(text), 3):
        with pytest.raises(FileFormatError):
            Index.of_text(text[:at])
    changes = {
        '"version":1': '"version":2',
        "rank-0": "../rank-0",
        '"w",0,3': '"w",1,3',
        "[5,2]": "[6,2]",
        '"token":"0a"': '"token":"/"',
        "lucidgrad sharded": "other",
    }
    for old, new in changes.items():
        assert old in text
        with pytest.raises(FileFormatError):
            Index.of_text(text.replace(old, new))
    with pytest.raises(ValueError, match="expected some of it"):
        needed(Whole((2,), "float64", ()), 1, 3)
