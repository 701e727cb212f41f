"""Operations on each element, by family.

Where a derivative can be infinite, rules multiply with `scale` and divide with `unscale`, which leave a
cotangent of zero zero, in every order: so the branch that ``where`` did not take adds nothing, whatever its
value. Plain products are exempt for the sake of speed: a factor that is infinite itself still gives NaN.
At kinks the derivative is PyTorch's; each docstring says which where there is one.
"""

from typing import Any

from lucidgrad.later import submodule


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)
