"""A job in which process 1 ends in some way while the others are at work: ``ending.py how``."""

import contextlib
import os
import signal
import sys
import threading
import time

import lucidgrad as lg
from lucidgrad import distributed as dist


def worker():
    raise ValueError("planted in a thread")


def main(how):
    dist.init_process_group()
    rank, x = dist.get_rank(), lg.ones(1000)
    dist.all_reduce(x)
    print("begun", flush=True)

    if how == "destroyed":
        dist.destroy_process_group()
        if rank == 1:
            raise ValueError("planted after the end")
        sys.exit()
    if how in ("nothing", "slow"):  # all leave without a word, one of them later
        time.sleep(1.0 * rank * (how == "slow"))
        sys.exit()
    if rank == 1:
        if how == "raise":
            raise ValueError("planted")
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "thread":
            thread = threading.Thread(target=worker)
            thread.start()
            thread.join()
            time.sleep(600)
        if how == "exit":
            sys.exit(3)
        if how == "caught":  # and then it leaves as if nothing had been
            with contextlib.suppress(SystemExit):
                sys.exit(3)
            sys.exit(0)
        if how == "leave":
            sys.exit(0)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "os._exit":
            os._exit(7)
    if how == "timeout":
        import datetime

        if rank == 0:
            dist.all_reduce(x, async_op=True).wait(datetime.timedelta(seconds=0.5))
        time.sleep(60)
    while True:  # the others wait for it, blocked or not
        work = dist.all_reduce(x, async_op=True)
        work.wait()


if __name__ == "__main__":  # doctest imports all files
    main(sys.argv[1])
