"""Modes belong to a thread or an asyncio task, and survive an exception at any instruction of their switches."""

import asyncio
import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from faults import Fault, Instructions, Interruptions
from test_faults import settings
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.core import modes

graph = lg.autograd.graph
BLOCKS = {
    "no_grad": lg.no_grad,
    "enable_grad": lg.enable_grad,
    "inference_mode": lg.inference_mode,
    "inference_mode off": lambda: lg.inference_mode(False),
    "autocast": lambda: lg.autocast("cpu", dtype=lg.float16),
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "allow_mutation": graph.allow_mutation_on_saved_tensors,
    "anomaly": lg.autograd.detect_anomaly,
    "explaining": lg.autograd.explaining,
    "budget": lambda: lg.autograd.memory_budget(100),
    "stack": lambda: _stacked(lg.no_grad()),
}


def _stacked(block):
    stack = contextlib.ExitStack()
    stack.enter_context(block)
    return stack


def with_block(make):
    with make():
        modes.state.recording


def decorated(make):
    return make()(lambda: None)()


def each_instruction(call):
    """Run a call with an exception at each of its instructions."""
    for _ in range(2):  # Python 3.12 and later see the instructions of a function from its second call on
        with Instructions() as found:
            call()
    assert found.count
    usual = settings()
    for n in range(1, found.count + 1):
        with contextlib.suppress(Fault), Instructions(n):
            call()
        assert settings() == usual, n
    return found.count


@pytest.mark.parametrize("outer", ["none", "no_grad", "inference_mode"])
@pytest.mark.parametrize("name", [name for name in BLOCKS if name != "stack"])
def test_a_block_survives_an_exception_at_any_instruction(name, outer):
    with BLOCKS[outer]() if outer != "none" else contextlib.nullcontext():
        each_instruction(lambda: with_block(BLOCKS[name]))
    assert not modes.unusual


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode", "autocast"])
def test_a_decorated_function_does_too(name):
    each_instruction(lambda: decorated(BLOCKS[name]))
    assert not modes.unusual


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_may_be_entered_by_hand_and_again(name):
    usual, block = settings(), BLOCKS[name]()
    if name == "stack":
        block.close()
        assert settings() == usual
        return
    for _ in range(2):
        block.__enter__()
        block.__enter__()
        assert block.__exit__(None, None, None) in (None, False)
        block.__exit__(None, None, None)
        assert settings() == usual
    with block, block:
        pass
    assert settings() == usual
    with pytest.raises(KeyError), block:
        raise KeyError
    assert settings() == usual


def test_a_block_leaves_alone_what_others_set_inside():
    with lg.autocast("cpu", dtype=lg.float16):
        lg.set_grad_enabled(False)
    assert not lg.is_grad_enabled()
    assert not lg.amp.is_autocast_enabled("cpu")
    lg.set_grad_enabled(True)


# --- asyncio tasks and threads ------------------------------------------------------------------------


def test_a_mode_across_await_stays_in_its_task():
    x = lg.ones(2, requires_grad=True)
    log = []

    async def quiet(begun, go_on):
        with lg.no_grad():
            begun.set()
            await go_on.wait()
            log.append(("quiet", (x * 2).requires_grad))
        log.append(("after", (x * 2).requires_grad))

    async def loud(begun, go_on):
        await begun.wait()
        log.append(("loud", (x * 2).requires_grad))
        with lg.inference_mode():
            pass
        log.append(("again", (x * 2).requires_grad))
        go_on.set()

    async def both():
        begun, go_on = asyncio.Event(), asyncio.Event()
        await asyncio.gather(quiet(begun, go_on), loud(begun, go_on))

    asyncio.run(both())
    assert log == [("loud", True), ("again", True), ("quiet", False), ("after", True)]
    assert not modes.unusual


def test_a_task_inherits_the_modes_of_its_maker():
    async def told():
        await asyncio.sleep(0)
        return lg.is_grad_enabled(), (lg.ones(1, requires_grad=True) * 2).requires_grad

    async def main():
        with lg.no_grad():
            task = asyncio.ensure_future(told())
        return await task

    assert asyncio.run(main()) == (False, False)
    assert not modes.unusual


def test_a_mode_in_a_thread_that_died_is_nobody_s():
    def work():
        lg.set_grad_enabled(False)
        lg.autocast("cpu", dtype=lg.float16).__enter__()
        lg.autograd.set_detect_anomaly(True)
        assert modes.unusual

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    assert not modes.unusual


# --- forks and signals --------------------------------------------------------------------------------


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="in a child, a free-threaded Python waits for dictionaries that other threads of the parent were looking at",
)
def test_a_child_forked_during_backward_computes_and_finds_whole_gradients():
    run(
        """
        import os, threading
        import numpy as np
        import lucidgrad as lg

        xs = [lg.zeros(50_000, requires_grad=True) for _ in range(6)]
        going = True

        def train():
            while going:
                sum((2 * x).sum() for x in xs).backward()

        lg.tanh(lg.ones(300_000))  # what is imported when first used is: Python's own locks of modules stay as they are
        sum((2 * x).sum() for x in xs).backward()

        threads = [threading.Thread(target=train) for _ in range(2)]
        for t in threads:
            t.start()
        try:
            for _ in range(15):
                child = os.fork()
                if not child:
                    found = {float(v) for x in xs if x.grad is not None for v in (x.grad[0], x.grad[-1], x.grad[777])}
                    ok = len(found) <= 1 and all(v % 2 == 0 for v in found)
                    y = lg.ones(300_000, requires_grad=True)
                    (lg.tanh(y) * y).sum().backward()
                    sum((2 * x).sum() for x in xs).backward()
                    os._exit(0 if ok and y.grad is not None else 1)
                status = os.waitpid(child, 0)[1]
                assert status == 0, status
        finally:
            going = False
            for t in threads:
                t.join()
        """
    )


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_signal_handler_may_call_backward(create_graph):
    x = lg.zeros(4, requires_grad=True)
    count = 0

    def handle(*_):
        nonlocal count
        count += 1
        with lg.enable_grad():  # it has the modes of what it interrupts
            (3 * x).sum().backward(create_graph=create_graph)
        signal.setitimer(signal.ITIMER_REAL, 0.0003)

    (2 * x).sum().backward()
    x.grad = None
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    rounds = 0
    try:
        while rounds < cases(400, 4000) or count < 5:
            (2 * x).sum().backward(create_graph=create_graph)
            rounds += 1
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(x.grad.detach().numpy(), np.full(4, 2.0 * rounds + 3.0 * count))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_in_the_middle_of_another_loses_nothing(create_graph, first):
    """As a signal handler would: at each moment at which one may run."""

    class Between(Interruptions):
        def _tick(self):
            self.count += 1
            if self.count == self.number:  # nothing is traced in here
                with lg.enable_grad():
                    (3 * x).sum().backward(create_graph=create_graph)

    for number in itertools.count(-1):  # twice without: as above, instructions are seen at the second call
        x = lg.zeros(4, requires_grad=True)
        if not first:
            x.grad = lg.zeros(4)
        loss = (2 * x).sum()
        with Between(number, ("autograd/accumulation.py",)) as moment:
            loss.backward(create_graph=create_graph)
        if moment.count < number:
            break
        assert x.grad.tolist() == [5.0 if number > 0 else 2.0] * 4, number
    assert number > (1 if first and not create_graph else 10)  # a first gradient is kept by one step of C
