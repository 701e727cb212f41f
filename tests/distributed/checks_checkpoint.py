"""Checkpoints that processes write together."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from checks_sharding import OPTIMISERS, _batch, _made, _raises, _rank, _same, _sharded

import lucidgrad as lg
from lucidgrad import distributed as dist, nn
from lucidgrad.distributed import checkpoint
from lucidgrad.files import FileFormatError
from lucidgrad.utils.data import DataLoader, DistributedSampler


def _folder():
    """A new folder that all ranks know."""
    told = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(told, 0)
    return told[0]


def _away(folder):
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)


class Training:
    """A model, an optimiser, a scheduler and shares of a dataset; with dropout, so that random numbers matter."""

    def __init__(self, way, seed=0):
        self.model = _made(seed)
        self.called = _sharded(self.model) if way == "sharded" else nn.parallel.DistributedDataParallel(self.model)
        params = self.model.parameters()
        if way == "zero":
            self.optimiser = lg.optim.ZeroRedundancyOptimizer(params, lg.optim.AdamW, lr=0.01)
        else:
            self.optimiser = OPTIMISERS["AdamW"](params)
        self.scheduler = lg.optim.lr_scheduler.ExponentialLR(self.optimiser, 0.9)
        data = range(4 * dist.get_world_size())
        self.sampler = DistributedSampler(data, seed=seed)
        self.loader = DataLoader(data, sampler=self.sampler, batch_size=1)
        self.batches, self.step = None, 0
        lg.manual_seed(7 + dist.get_rank())  # dropout is each rank's own

    @property
    def state(self):
        return {
            "model": self.model, "optimiser": self.optimiser, "scheduler": self.scheduler, "sampler": self.sampler,
            "loader": self.loader, "step": self.step,
            "own": {"rank": dist.get_rank(), "noise": lg.full((3,), float(dist.get_rank()))},
        }  # fmt: skip

    def _batch(self):
        """The next of this epoch, or the first one of the next."""
        self.batches = self.batches or iter(self.loader)
        found = next(self.batches, None)
        if found is None:
            self.sampler.set_epoch(self.sampler.epoch + 1)
            self.batches = iter(self.loader)
            found = next(self.batches)
        state = lg.random.get_rng_state()
        _, mine = _batch(int(found))
        lg.random.set_rng_state(state)
        return mine

    def run(self, steps):
        for _ in range(steps):
            words, after = self._batch()
            self.optimiser.zero_grad()
            made = nn.functional.dropout(self.called(words), 0.5)
            nn.functional.cross_entropy(made.reshape(-1, 7), after.reshape(-1)).backward()
            self.optimiser.step()
            self.scheduler.step()
            self.step += 1
        return self

    def save(self, folder):
        checkpoint.save(self.state, checkpoint_id=folder)

    def load(self, folder, **options):
        state = self.state
        checkpoint.load(state, checkpoint_id=folder, **options)
        self.step = state["step"]
        return state["own"]


def _equal(a, b):
    """To the last bit."""
    for (name, x), y in zip(a.model.named_parameters(), b.model.parameters(), strict=True):
        assert x.shape == y.shape and bool((x == y).all()), name
    assert a.step == b.step and a.scheduler.get_last_lr() == b.scheduler.get_last_lr()
    assert a.loader.state_dict() == b.loader.state_dict() and a.sampler.state_dict() == b.sampler.state_dict()


def _resumes(way):
    rank, _ = _rank()
    folder = _folder()
    straight = Training(way).run(3)
    straight.save(folder)
    after = straight.run(3)
    numbers = lg.rand(3)
    resumed = Training(way, seed=9)
    own = resumed.load(folder)
    assert own["rank"] == rank and own["noise"].tolist() == [float(rank)] * 3
    resumed.run(3)
    _equal(resumed, after)
    assert (lg.rand(3) == numbers).all(), way
    _away(folder)


def check_resumption():
    for way in ("plain", "zero", "sharded"):
        _resumes(way)


def check_once():
    """Every row of every tensor is written once, and each rank writes its share."""
    _, n = _rank()
    for way in ("plain", "zero", "sharded"):
        folder = _folder()
        training = Training(way).run(1)
        training.save(folder)
        index = json.loads((Path(folder) / "index.json").read_text())
        size = sum(p.size for p in _made().parameters()) * 8
        written = {"params": 0, "states": 0}
        for key, found in index["tensors"].items():
            rows = found["shape"][0] if found["shape"] else 1
            width = 1
            for k in found["shape"][1:]:
                width *= k
            assert sum(piece[3] - piece[2] for piece in found["pieces"]) == rows
            kind = "params" if key.startswith("states/model") else "states" if key.startswith("states/opt") else None
            if kind and "shift" not in key and "head.weight" not in key:
                written[kind] += rows * width * 8
        assert written == {"params": size, "states": 2 * size}, (way, written, size)
        files = sorted((Path(folder) / index["token"]).iterdir())
        assert [file.name for file in files] == sorted(index["files"]) and len(files) == n
        sizes = [sum(t.size * t.itemsize for t in _tensors(file)) for file in files]
        assert max(sizes) <= (3 * size) / n * 1.5 + 200, (way, sizes)
        training.save(folder)
        assert len([entry for entry in os.scandir(folder) if entry.is_dir()]) == 1  # the old one is gone
        _away(folder)


def _tensors(file):
    from lucidgrad.files.shards import open_part

    with open_part(str(file)) as part:
        return [lg.asarray(part.array(name)) for name in part.entries]


def check_other_numbers():
    """What all ranks saved, one loads; what one saved, all load; and what all saved, half of them."""
    rank, n = _rank()
    for way in ("sharded", "zero"):
        folder = _folder()
        training = Training(way).run(2)
        training.save(folder)
        reference = Training("plain").run(0)
        alone = {"model": _made(3), "optimiser": OPTIMISERS["AdamW"], "step": 0}
        alone["optimiser"] = lg.optim.AdamW(alone["model"].parameters(), lr=0.5)
        if way == "sharded":
            checkpoint.load(alone, checkpoint_id=folder, no_dist=True)
            if n == 1:
                _same(training.model, alone["model"], 0)
            _compare(training, alone, reference)
        group = dist.new_group(list(range(max(n // 2, 1))))
        if rank < max(n // 2, 1) and way == "sharded":
            model = _made(4)
            for block in model.blocks:
                dist.fully_shard(block, mesh=group)
            dist.fully_shard(model, mesh=group)
            optimiser = lg.optim.AdamW(model.parameters(), lr=0.5)
            checkpoint.load({"model": model, "optimiser": optimiser}, checkpoint_id=folder, process_group=group)
            for p in model.parameters():
                assert not p.size or bool(lg.isfinite(p).all())
            whole = checkpoint.state_dict.get_model_state_dict(
                model, options=checkpoint.state_dict.StateDictOptions(full_state_dict=True)
            )
            for name, value in alone["model"].state_dict().items():
                assert (whole[name] == value).all(), name
        elif rank < max(n // 2, 1):
            model = _made(4)
            optimiser = lg.optim.ZeroRedundancyOptimizer(
                model.parameters(), lg.optim.AdamW, process_group=group, lr=0.5
            )
            checkpoint.load({"model": model, "optimiser": optimiser}, checkpoint_id=folder, process_group=group)
            assert optimiser.param_groups[0]["lr"] == training.optimiser.param_groups[0]["lr"]
            for p, q in zip(model.parameters(), training.model.parameters(), strict=True):
                assert (p == q).all()
                if q in training.optimiser.state and p in optimiser.state:
                    a, b = training.optimiser.state[q], optimiser.state[p]
                    assert a["step"] == b["step"] and (a["exp_avg"] == b["exp_avg"]).all()
            owned = sum(p in optimiser.state for p in model.parameters())
            assert owned == len(optimiser._owned_by(rank))
        dist.barrier()
        if rank == 0 and way == "sharded":
            checkpoint.save(alone, checkpoint_id=folder, no_dist=True)
        dist.barrier()
        if way == "sharded":
            again = Training("sharded", seed=8)
            state = {"model": again.model, "optimiser": again.optimiser}
            checkpoint.load(state, checkpoint_id=folder)
            _equal_states(again, training)
        _away(folder)


def _compare(training, alone, reference):
    """A whole model and optimiser have what all ranks together have."""
    full = checkpoint.state_dict.StateDictOptions(full_state_dict=True)
    parts = checkpoint.state_dict.get_state_dict(training.model, training.optimiser, options=full)
    whole = checkpoint.state_dict.get_state_dict(alone["model"], alone["optimiser"])
    for name, value in whole[0].items():
        assert (parts[0][name] == value).all(), name
    for name, state in whole[1]["state"].items():
        found = parts[1]["state"][name]
        assert found["step"] == state["step"] and (found["exp_avg_sq"] == state["exp_avg_sq"]).all(), name
    assert alone["step"] == training.step and reference.step == 0


def _equal_states(a, b):
    for (name, x), y in zip(a.model.named_parameters(), b.model.parameters(), strict=True):
        assert (x == y).all(), name
        one, two = a.optimiser.state[x], b.optimiser.state[y]
        assert one["step"] == two["step"] and (one["exp_avg"] == two["exp_avg"]).all(), name


def check_damage():
    """A file that is missing, cut short, changed or another one's is named, and nothing has changed."""
    rank, n = _rank()
    folder = _folder()
    training = Training("sharded").run(1)
    training.save(folder)
    token = json.loads((Path(folder) / "index.json").read_text())["token"]
    file = Path(folder) / token / f"rank-{n - 1:05}.safetensors"
    bytes_ = file.read_bytes()
    dist.barrier()
    other = Training("sharded", seed=2)
    before = [p.detach().clone() for p in other.model.parameters()]

    def refused(words):
        dist.barrier()
        _raises((FileFormatError, checkpoint.CheckpointError), words, other.load, folder)
        for p, q in zip(other.model.parameters(), before, strict=True):
            assert (p == q).all()
        assert other.step == 0
        dist.barrier()

    damage = {
        "is missing": file.unlink,
        "cut short": lambda: file.write_bytes(bytes_[:-8]),
        "checksum": lambda: file.write_bytes(bytes_[:-8] + bytes(8 * [255])),
        "header": lambda: file.write_bytes(bytes_[:20] + b"#" + bytes_[21:]),
    }
    for words, do in damage.items():
        if rank == 0:
            do()
        refused(words if words != "header" else file.name)
    if rank == 0:
        file.write_bytes(bytes_)
        index = Path(folder) / "index.json"
        text = index.read_text()
        index.write_text(text[: len(text) // 2])
    refused("index.json")
    if rank == 0:
        index.write_text(text.replace(token, "0" * 16))
        (Path(folder) / token).rename(Path(folder) / ("0" * 16))
    refused("another save")
    if rank == 0:
        index.write_text(text)
        (Path(folder) / ("0" * 16)).rename(Path(folder) / token)
    dist.barrier()
    other.load(folder)
    _equal_states(other, training)
    _away(folder)


def check_refusals():
    rank, n = _rank()
    folder = _folder()
    training = Training("sharded").run(1)
    training.save(folder)
    _raises(ValueError, "the checkpoint has", checkpoint.load, {"modle": training.model}, checkpoint_id=folder)
    _raises(ValueError, "does not fit", checkpoint.load, {"model": nn.Linear(2, 2)}, checkpoint_id=folder)
    wrong = _made(width=6)
    _raises(ValueError, "was saved with the shape", checkpoint.load, {"model": wrong}, checkpoint_id=folder)
    _raises(TypeError, "expected the path of a folder", checkpoint.save, {}, checkpoint_id=None)
    _raises(FileNotFoundError, "no such file", checkpoint.load, {}, checkpoint_id=os.path.join(folder, "nowhere"))
    bad = {"x": object()} if rank == n - 1 else {"x": 1}
    kind = TypeError if rank == n - 1 else checkpoint.CheckpointError
    _raises(kind, "object", checkpoint.save, bad, checkpoint_id=folder)  # on one rank, and so on all
    again = Training("sharded", seed=4)
    again.load(folder)  # what was there still is
    _equal_states(again, training)
    assert len([entry for entry in os.scandir(folder) if entry.is_dir()]) == 1
    _away(folder)


def check_trees():
    """Tensors in trees are written in place, shards among them; plain values are replaced."""
    rank, _ = _rank()
    folder = _folder()
    model = _sharded(_made())
    x = lg.arange(4.0)
    tree = {"weights": model.state_dict(), "more": [x, {"n": 3, "own": lg.full((2,), float(rank))}], "t": (1, None)}
    checkpoint.save(tree, checkpoint_id=folder)
    other = _sharded(_made(5))
    y = lg.zeros(4)
    state = {"weights": other.state_dict(), "more": [y, {"n": 0, "own": lg.zeros(2)}], "t": None}
    checkpoint.load(state, checkpoint_id=folder)
    assert all((p == q).all() for p, q in zip(model.parameters(), other.parameters(), strict=True))
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0] and state["more"][0] is y
    assert state["more"][1]["n"] == 3 and state["t"] == (1, None)
    assert state["more"][1]["own"].tolist() == [float(rank)] * 2
    _away(folder)
