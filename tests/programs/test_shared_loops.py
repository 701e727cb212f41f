"""Loops that threads share: every unit is done once, whoever else has a loop, whoever sleeps, and after a fork."""

import ctypes
import os
import threading
import time

import pytest
from thoroughness import cases

from lucidgrad.backends.cpu.compiled import building, threads

pytestmark = pytest.mark.skipif(building.why_not() is not None, reason="no C compiler")

#: Loops of several lengths and portions; the units of each are counted, and some take longer than the others.
SOURCE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "parallel.h"
typedef struct { unsigned char *done; long slow; volatile double sink; } counted;
static void body(void *task, long begin, long end)
{
    counted *c = task;
    for (long k = begin; k < end; k++) {
        __atomic_fetch_add(&c->done[k], 1, __ATOMIC_RELAXED);
        double s = 0;
        if (k % 7 == c->slow % 7) for (long i = 0; i < c->slow; i++) s += i;
        c->sink = s;
    }
}
__attribute__((visibility("default"))) long race(lg_parallel_for parallel, long loops, int threads, unsigned seed)
{
    long wrong = 0;
    for (long loop = 0; loop < loops; loop++) {
        seed = seed * 1664525u + 1013904223u;
        const long n = seed >> 16 & 255, grain = 1 + (seed >> 24 & 15);
        counted c = { calloc(n + 1, 1), seed >> 8 & 4095, 0 };
        parallel(body, &c, n, grain, threads);
        for (long k = 0; k < n; k++) wrong += c.done[k] != 1;
        wrong += c.done[n];
        free(c.done);
    }
    return wrong;
}
#ifdef __linux__
typedef struct { pthread_t caller; int processor, came, met; } meeting;
static void attend(void *task, long begin, long end)
{
    meeting *m = task;
    if (!pthread_equal(pthread_self(), m->caller) && !m->came) {
        m->came = 1;
        m->met = sched_getcpu() == m->processor;
    }
    for (volatile long k = 0; k < 100000; k++) ;
}
__attribute__((visibility("default"))) int met(lg_parallel_for parallel)
{
    meeting m = { pthread_self(), sched_getcpu(), 0, 0 };
    parallel(attend, &m, 20, 1, 2);
    return m.came + m.met;
}
#endif
"""


@pytest.fixture(scope="module")
def library():
    return building.load("race", SOURCE, ["-pthread"])


@pytest.fixture(scope="module")
def race(library):
    function = library.race
    function.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int, ctypes.c_uint]
    function.restype = ctypes.c_long
    return lambda loops, count, seed: function(threads.parallel(), loops, count, seed)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_unit_is_done_once(race, count):
    assert race(cases(2000, 50_000), count, count) == 0
    time.sleep(0.02)  # all helpers sleep by now
    assert race(100, count, 99) == 0


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is one processor"
)
def test_who_helps_leaves_the_processor_of_who_called(library, race):
    """Both of them on one take turns until the system notices."""
    assert race(100, 2, 1) == 0
    library.met.argtypes = [ctypes.c_void_p]
    before, found = os.sched_getaffinity(0), []
    os.sched_setaffinity(0, {min(before)})  # this thread alone stays there
    try:
        for _ in range(100):
            time.sleep(0.005)  # helpers sleep by now, where they last were
            found.append(library.met(threads.parallel()))
    finally:
        os.sched_setaffinity(0, before)
    came, together = sum(x > 0 for x in found), found.count(2)
    assert came > 10
    assert together <= came // 5  # the system may move a thread at any time


def test_loops_of_several_threads_at_once(race):
    found = []
    callers = [
        threading.Thread(target=lambda k=k: found.append(race(cases(1000, 20_000), 2 + k % 3, k))) for k in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [0] * len(callers)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_begins_afresh(race):
    assert race(100, 3, 1) == 0
    for seed in range(cases(3, 20)):
        child = os.fork()
        if not child:
            os._exit(0 if race(200, 3, seed) == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert race(100, 3, 2) == 0
