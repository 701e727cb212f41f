"""``python -m bench.machine``: the machine, and how many bytes per second a copy moves on it."""

import json
import sys
import time

from lucidgrad.bench import machine


def main() -> int:
    machine.pin_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    found = {**machine.describe(), "copy, GB/s": round(machine.bandwidth(time.perf_counter) / 1e9, 2)}
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
