"""The matrix: one test per law and primitive. A new primitive is in it by being declared."""

import pytest
from samples import EXCEPTIONS, LEVELS

from lucidgrad.core.primitive import registry
from lucidgrad.levels import batching

from . import batch_laws, derivative_laws, device_laws, memory_laws, program_laws, report, value_laws
from .law import LAWS, cells, samples_for

FAMILIES = (value_laws, memory_laws, derivative_laws, batch_laws, device_laws, program_laws)


def _cell(law, name):
    reason = EXCEPTIONS.get((law, name))
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(law, name, marks=marks, id=f"{law}-{name}")


@pytest.mark.parametrize(("law", "name"), [_cell(*cell) for cell in cells()])
def test_law(law, name):
    LAWS[law].check(registry[name], samples_for(name, law))


def test_every_primitive_has_samples():
    missing = []
    for name in sorted(set(registry) - set(LEVELS)):
        try:
            assert samples_for(name), f"{name} has an empty row"
        except LookupError as error:
            missing.append(str(error))
    assert not missing, "\n".join(missing)


def test_the_page_is_current():
    for path, text in report.files().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m tests.laws`"


def test_exceptions_are_cells():
    assert set(EXCEPTIONS) - set(cells()) == set()


def test_nothing_runs_example_by_example():
    for name in sorted(set(registry) - set(LEVELS)):
        if LAWS["vmap is a loop"].applies(registry[name]):
            batch_laws.vmap_is_a_loop(registry[name], samples_for(name)[:1])
    assert batching.loops == set()
