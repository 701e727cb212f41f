"""The reference has every public name, each with an example and, where there is one, its gradient."""

import importlib
import inspect
import re
import types

import pytest

import lucidgrad as lg
from tools import door_reference, gradients, reference

PAGES = reference.pages()
DESCRIBED = list(reference.described())

#: Names whose description is enough: there is nothing to call.
WITHOUT_EXAMPLE = re.compile(
    r"""
    lucidgrad\.linalg\.\w+Result          # what a function gives; the function has the example
    | lucidgrad\.(\w+\.)*\w+Error         # raised, not called
    | lucidgrad\.typing\.\w+              # words for annotations
    | lucidgrad\.Tensor\.\w+              # see `test_methods_have_an_example`
    | lucidgrad\.cudasim\.\w+            # switches of the emulated device, which examples must not flip
    """,
    re.VERBOSE,
)


def test_every_public_name_is_in_the_reference():
    listed = {entry.path for page in PAGES for entry in page.entries} | {"lucidgrad.Tensor"}
    expected = {
        f"{place}.{name}"
        for place, module in reference.modules().items()
        for name in reference.names_of(module)
        if not isinstance(getattr(module, name), types.ModuleType)
    }
    expected |= {f"lucidgrad.Tensor.{name}" for name in dir(lg.Tensor) if not name.startswith("_")}
    assert listed == expected


def test_names_that_lead_elsewhere_lead_to_a_description():
    described = {entry.path for entry in DESCRIBED} | {entry.path for entry in reference.methods()}
    assert {e.home for page in PAGES for e in page.entries if e.home} - described == set()


def test_no_signature_shows_the_namespace_of_rules():
    shown = []
    for entry in DESCRIBED:
        if inspect.isroutine(entry.found):
            parameters = list(inspect.signature(entry.found).parameters)
            shown += [entry.path] if parameters[:1] == ["xp"] else []
    assert shown == []


def test_every_description_has_an_example():
    lacking = [
        entry.path
        for entry in DESCRIBED
        if callable(entry.found) and not WITHOUT_EXAMPLE.fullmatch(entry.path) and not gradients.examples(entry.found)
    ]
    assert lacking == []


def test_methods_have_an_example():
    """Methods of tensors that are not a function of the same name, which has one."""
    lacking = [
        e.name
        for e in DESCRIBED
        if e.place == reference.TENSOR and callable(e.found) and not gradients.examples(e.found)
    ]
    assert [name for name in lacking if not hasattr(lg, name)] == []


@pytest.mark.parametrize("place", sorted(gradients.PLACES))
def test_where_there_is_a_gradient_it_is_shown_or_can_be_computed(place):
    """`gradient_of` raises where an example's arguments can't be written out."""
    for entry in DESCRIBED:
        if entry.place == place:
            gradients.gradient_of(entry.path, entry.found)


def test_a_computed_gradient_is_that_of_the_function():
    lines = gradients.gradient_of("lucidgrad.chunk", lg.chunk)
    assert lines is not None and lines[-1] == "tensor([1., 1., 1., 0., 0.])"
    program = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")]
    scope = {"lg": lg}
    exec("\n".join(program[:-1]), scope)
    x = scope["x"]
    (numeric,) = ([(f(1e-2) - f(-1e-2)) / 2e-2 for f in [_moved(x.detach().double(), i) for i in range(5)]],)
    assert x.grad.tolist() == pytest.approx(numeric, abs=1e-6)


def _moved(x, i):
    def total(h):
        moved = x.clone()
        moved[i] += h
        return lg.chunk(moved, 2)[0].sum().item()

    return total


def test_exceptions_are_public_names():
    described = {entry.path for entry in DESCRIBED}
    assert set(gradients.WITHOUT) <= described


# -- doors -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("door", sorted(reference.DOORS))
def test_the_page_of_a_door_has_each_of_its_names_with_a_line(door):
    """Of every module that a program can import from it; those that are lucidgrad's own have pages of their own."""
    text = door_reference.written(door)
    entries = re.findall(r"^ +\.\. py:(?:function|class|data):: ([\w.]+)(?:\(.*\))?\n\n +(\S.*)$", text, re.MULTILINE)
    expected = [name.path for module in door_reference.modules(door).values() for name in door_reference.names(module)]
    assert [path for path, _ in entries] == expected and len(set(expected)) == len(expected)
    assert [path for path, line in entries if len(line.strip("`.")) < 3] == []
    root = importlib.import_module(door)
    assert {name for name in root.__all__ if not isinstance(getattr(root, name), types.ModuleType)} == {
        path.rpartition(".")[2] for path in expected if path.rpartition(".")[0] == door
    }


def test_links_of_the_doors_lead_to_descriptions():
    texts = {door: door_reference.written(door) for door in reference.DOORS}
    there = {entry.path for entry in DESCRIBED} | {entry.path for entry in reference.methods()} | {reference.TENSOR}
    there |= {path for text in texts.values() for path in re.findall(r"\.\. py:\w+:: ([\w.]+)", text)}
    linked = {path for text in texts.values() for path in re.findall(r":py:obj:`([\w.]+)`", text)}
    assert len(linked) > 500
    assert linked - there == set()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("lucidgrad.torch.einsum", "The same as :py:obj:`lucidgrad.einsum`."),
        ("lucidgrad.torch.sin", "Computed by :py:obj:`lucidgrad.sin`."),
        ("lucidgrad.torch.max", "Computed by :py:obj:`lucidgrad.Tensor.max`."),
        ("lucidgrad.numpy.mean", "Computed by :py:obj:`lucidgrad.mean`."),
        ("lucidgrad.hips.numpy.tanh", "where an argument is being differentiated, :py:obj:`lucidgrad.numpy.tanh`."),
        ("lucidgrad.hips.scipy.special.gammaln", ":py:obj:`lucidgrad.lgamma`."),
    ],
)
def test_a_name_of_a_door_leads_to_what_computes_it(path, told):
    module, _, name = path.rpartition(".")
    found = door_reference.Name(module, name, getattr(importlib.import_module(module), name))
    assert door_reference.line(found).endswith(told)


@pytest.mark.parametrize("door", sorted(reference.DOORS))
def test_a_door_shows_a_gradient_in_examples_that_are_run(door):
    assert gradients.shows_gradient(importlib.import_module(door))
