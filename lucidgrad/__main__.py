"""``python -m lucidgrad``: what this installation is made of, and whether its gradients are right on every device."""

import argparse
import sys
import time

import lucidgrad as lg


def main(arguments: list[str] | None = None) -> int:
    """Print it all; the status is 1 if something is wrong."""
    options = argparse.ArgumentParser("python -m lucidgrad", description=(__doc__ or "").partition(": ")[2])
    options.add_argument("--device", action="append", metavar="NAME", help="test this device only; may be repeated")
    options.add_argument("--no-test", action="store_true", help="show what there is, and test nothing")
    chosen = options.parse_args(arguments)
    lg.show_config()
    if chosen.no_test:
        return 0
    from lucidgrad import selftest

    print("self-test: gradients against finite differences, devices against the CPU")
    wrong = sum(_tested(name, bool(chosen.device)) for name in chosen.device or selftest.DEVICES)
    print(f"{wrong} wrong or not to be tested" if wrong else "all is well")
    return 1 if wrong else 0


def _tested(device: str, asked_for: bool) -> int:
    """Test a device, and return how much is wrong."""
    from lucidgrad import selftest

    if reason := selftest.unusable(device):
        print(f"  {device}: not tested: {reason}")
        return int(asked_for)
    start = time.perf_counter()
    brief = device in selftest.SLOW_TO_BEGIN and not asked_for
    outcomes = list(selftest.check(device, brief))
    seconds = time.perf_counter() - start
    counts = [sum(outcome.verdict == verdict for outcome in outcomes) for verdict in ("right", "refused")]
    refused = f", {counts[1]} that its library can't do" if counts[1] else ""
    note = f" (--device {device} tests all {len(selftest.CASES)})" if brief else ""
    print(f"  {device}: {counts[0]} of {len(outcomes)} right{refused}, {seconds:.1f} s{note}", flush=True)
    wrong = [outcome for outcome in outcomes if outcome.verdict == "wrong"]
    for outcome in wrong:
        print(f"    WRONG: {outcome.case}: {outcome.reason}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
