"""Options of `compile`, and what is told of programs."""

import pytest

import lucidgrad as lg
from lucidgrad.levels import tally


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"verbos": True}, ValueError, r"the option 'verbos', which is not known; expected 'backend', one of c, flat"),
        ({"backend": "cpp"}, ValueError, r"backend='cpp', expected 'backend', one of c, flat, graph"),
        ({"verbose": 1}, TypeError, r"verbose=1, expected .*True or False"),
        ({"warn": "no"}, TypeError, r"warn='no', expected .*True or False"),
        (["verbose"], TypeError, r"options=\['verbose'\], expected a dictionary"),
    ],
)
def test_options_that_are_not_known_are_refused(options, error, told):
    with pytest.raises(error, match=told):
        lg.compile(lambda x: x, options=options)
    with pytest.raises(error, match=told):
        lg.compile(lg.nn.Linear(1, 1), options=options)


@pytest.mark.parametrize("backend", ["c", "flat", "interpret"])
def test_verbose_tells_of_each_program(backend, capfd):
    def scaled(x):
        return (x * 2 + 1).sum()

    compiled = lg.compile(scaled, options={"verbose": True, "backend": backend})
    x = lg.ones(3, requires_grad=True)
    for _ in range(3):
        compiled(x)
    told = [line for line in capfd.readouterr().err.splitlines() if "<compiled scaled>: traced in" in line]
    assert len(told) == 1
    assert "5 equations, 3 and 2 of gradients when improved; compiled in" in told[0]
    if backend != "c":
        assert "0 functions in C" in told[0]
    lg.compile(scaled)(x)
    assert "traced in" not in capfd.readouterr().err


def test_show_config_counts_programs(capsys):
    before = tally.of_process()
    lg.compile(lambda x: x - 3)(lg.ones(2))
    after = tally.of_process()
    assert after.programs == before.programs + 1 and after.equations == before.equations + 1
    assert after.tracing > before.tracing and after.compiling > before.compiling
    lg.show_config()
    shown = capsys.readouterr().out
    assert f"made in this process: {after.programs}, with {after.equations} equations" in shown
    assert f"built in this process: {after.built}, found on disk: {after.found}" in shown
    assert f"traced in {after.tracing:.1f} s, compiled in {after.compiling:.1f} s" in shown
