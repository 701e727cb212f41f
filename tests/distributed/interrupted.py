"""A training that saves after every step and goes on from what is saved; `test_killed.py` kills it.

``interrupted.py folder`` goes on for ever; ``interrupted.py folder 5`` takes five steps more, and then compares itself
with a training that was never interrupted.
"""

import datetime
import os
import sys
from pathlib import Path

from checks_checkpoint import Training, _equal

from lucidgrad import distributed as dist


def main(folder: str, more: int | None = None) -> None:
    """Train."""
    dist.init_process_group(timeout=datetime.timedelta(seconds=300))
    place = Path(folder)
    training = Training("sharded")
    if (place / "index.json").exists():
        training.load(folder)
    (place / f"pid-{dist.get_rank()}").write_text(str(os.getpid()))
    end = None if more is None else training.step + more
    while training.step != end:
        training.run(1)
        training.save(folder)
    straight = Training("sharded").run(training.step)
    _equal(training, straight)
    print(f"equal after {training.step} steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
