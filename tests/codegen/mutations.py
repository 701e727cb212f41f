"""Mutation of generated kernels: of each, forward and VJP, the sign of a result and an operator are flipped.

Run as a script (``PYTHONPATH=.:tests python tests/codegen/mutations.py``) it prints how many mutants the comparison
with the program finds: killed/total.
"""

import re

import catalogue
from batches import Batch, differences

#: What an operator is flipped into.
FLIPS = {
    " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " < ": " >= ", " <= ": " > ", " > ": " <= ",
    " >= ": " < ", " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ", " & ": " | ", " | ": " ^ ",
    " ^ ": " & ",
}  # fmt: skip
OPERATORS = re.compile("|".join(map(re.escape, sorted(FLIPS, key=len, reverse=True))))
CHOICE = re.compile(r"= (.+) \? (.+) : (.+);")


def flipped_result(kernel, k):
    """The kernel with one result negated, or inverted if it is a truth value."""
    lines, place = list(kernel.lines), len(kernel.lines) - len(kernel.results) + k
    target, _, word = lines[place].rstrip(";").partition(" = ")
    kind = kernel.results[k][0].kind
    lines[place] = f"{target} = {'!' if kind == 'b' else '~' if kind in 'iu' else '-'}({word});"
    return kernel._replace(lines=tuple(lines))


def flipped_operator(kernel):
    """The kernel with the operator flipped, or the choice swapped, that is nearest to its results; None without any."""
    for place in reversed(range(len(kernel.lines))):
        line = kernel.lines[place]
        *_, last = (None, *OPERATORS.finditer(line))
        choice = CHOICE.search(line)
        if last is not None:
            line = line[: last.start()] + FLIPS[last[0]] + line[last.end() :]
        elif choice is not None:
            line = line[: choice.start()] + f"= {choice[1]} ? {choice[3]} : {choice[2]};"
        else:
            continue
        return kernel._replace(lines=(*kernel.lines[:place], line, *kernel.lines[place + 1 :]))
    return None


def chosen_cases():
    """One kernel per primitive, direction and set of keywords: in the first dtype that the primitive takes."""
    for name in catalogue.names():
        dtype = next(d for d in ("float32", "int32", "bool") if catalogue.takes(name, d))
        yield from (case for case in catalogue.cases_of(name, (dtype,)) if not case.variant)


def mutants():
    """Pairs of a case and a mutant of its kernel, with a word for what was flipped."""
    for case in chosen_cases():
        kernel = case.kernel().kernel
        if kernel is None:
            continue
        for k in range(len(kernel.results)):
            yield case, flipped_result(kernel, k), f"sign of result {k}"
        other = flipped_operator(kernel)
        if other is not None:
            yield case, other, "operator"


def killed(batch, case, mutant):
    """Whether the comparison with the program finds a mutant."""
    found = batch.run(mutant, case.arguments())
    return any(differences(y, e, case.name).size for y, e in zip(found, case.expected(), strict=True))


def main():
    """All mutants; returns those that survive, and the number of all."""
    made = list(mutants())
    batch = Batch(mutant for _, mutant, _ in made)
    survivors = [f"{case}: {what}" for case, mutant, what in made if not killed(batch, case, mutant)]
    return survivors, len(made)


if __name__ == "__main__":
    left, total = main()
    print("\n".join(left))
    print(f"killed {total - len(left)}/{total}")
