"""The files of answers: for each file of tests an archive of NumPy's, with tapes as text and all arrays of a dtype."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

HOME = Path(__file__).with_name("answers")
TESTS = Path(__file__).parents[1]
FACTS = HOME / "facts.json"
COMMAND = "with PyTorch installed, `python -m tests.golden --record` and the file of the test record it"


@functools.cache
def facts() -> dict[str, list]:
    """Names of peers that are absent there, or plain values: all others are functions, classes or modules."""
    return json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {}


def save_facts() -> None:
    FACTS.parent.mkdir(parents=True, exist_ok=True)
    FACTS.write_text(json.dumps(dict(sorted(facts().items())), indent=0) + "\n", encoding="utf-8")


def place_of(tests: Path) -> Path:
    """The file of answers of a file of tests."""
    return HOME / tests.resolve().relative_to(TESTS).with_suffix(".npz")


class Answers:
    """All tapes of a file of tests."""

    def __init__(self, path: Path):
        self.tapes: dict[str, list] = {}
        self.pools: dict[str, np.ndarray] = {}
        if path.exists():
            with np.load(path) as stored:
                self.pools = {name: stored[name] for name in stored.files if name != "tapes"}
                self.tapes = json.loads(stored["tapes"].tobytes())

    def array(self, dtype: str, shape: list[int], start: int) -> np.ndarray:
        """An array, of its own memory: tests may write into it."""
        size = int(np.prod(shape, dtype=int))
        return self.pools[dtype][start : start + size].reshape(shape).copy()

    def packed(self, tapes: dict[str, list]) -> dict[str, list]:
        """Tapes as text can hold them: the arrays go into the pools, equal ones once."""
        parts: dict[str, list[np.ndarray]] = {}
        sizes: dict[str, int] = {}
        seen: dict[tuple[str, bytes], int] = {}

        def without_arrays(code: Any) -> Any:
            if not isinstance(code, list):
                return code
            if len(code) != 2 or not isinstance(code[1], np.ndarray):
                return [without_arrays(part) for part in code]
            flat = np.ascontiguousarray(code[1]).reshape(-1)
            name, key = flat.dtype.name, (flat.dtype.name, flat.tobytes())
            if key not in seen:
                seen[key] = sizes.get(name, 0)
                sizes[name] = seen[key] + flat.size
                parts.setdefault(name, []).append(flat)
            return [code[0], name, list(code[1].shape), seen[key]]

        made = {test: without_arrays(tapes[test]) for test in sorted(tapes)}
        self.pools = {name: np.concatenate(arrays) for name, arrays in sorted(parts.items())}
        return made


@functools.cache
def answers(path: Path) -> Answers:
    """The answers in a file, read once."""
    return Answers(path)


def differing(path: Path, tapes: dict[str, list]) -> list[str]:
    """Tests that are told something else than a file says, beyond rounding, or that it lacks or has in excess."""
    stored = answers(path)

    def same(code: Any, known: Any) -> bool:
        if isinstance(code, list) and len(code) == 2 and isinstance(code[1], np.ndarray):
            other = stored.array(*known[1:]) if isinstance(known, list) and len(known) == 4 else None
            return other is not None and other.dtype == code[1].dtype and _near(code[1], other)
        if isinstance(code, list):
            return isinstance(known, list) and len(code) == len(known) and all(map(same, code, known))
        return _near(code, known) if isinstance(code, float) and isinstance(known, float) else code == known

    return [t for t in sorted({*tapes, *stored.tapes}) if not same(tapes.get(t, []), stored.tapes.get(t, []))]


def _near(one: Any, other: Any) -> bool:
    """The same up to rounding, in the precision that these numbers have, whatever type they came in."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" or not one.size:
        return bool((one == other).all())
    relative, of_largest = _allowed(np.stack([one, other]).reshape(-1))
    return np.allclose(one, other, rtol=relative, atol=of_largest, equal_nan=True)


def _allowed(numbers: np.ndarray) -> tuple[float, float]:
    """What rounding does to numbers: as a share of each, and at least. Each of 16 bits was rounded, and may be what is
    left of a sum of larger ones."""
    parts = np.concatenate([numbers.real, numbers.imag])
    with np.errstate(over="ignore"):
        single = parts.astype("f")
    largest = float(np.max(np.abs(parts), where=np.isfinite(parts), initial=0))
    if not np.array_equal(single, parts, equal_nan=True):
        return 1e-9, 1e-9
    for unused, eps in (
        (16, 2**-7),
        (13, 2**-10),
    ):  # what bfloat16 and float16 lack of float32
        if not (single.view("u4")[~np.isnan(parts)] % 2**unused).any():
            return 2 * eps, eps * largest
    return 1e-3, 1e-9


def save(path: Path, tapes: dict[str, list]) -> None:
    """Write tapes with the arrays in them."""
    made = Answers(path.with_name("new"))
    text = json.dumps(made.packed(tapes), separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, tapes=np.frombuffer(text.encode(), dtype="uint8"), **made.pools)
