"""Where the stubs and the run time disagree, as mypy's stubtest sees it: a line for each.

It is shown the first overload of a function, which is in the function's own words; `test_stubs` calls the others.
"""

import re
import sys

import mypy.options
from mypy import nodes, stubtest

from tools import stubs

#: What may differ, and why.
REASONS = {
    r'Tensor\.\w+ is inconsistent, stub parameter "self" differs from runtime parameter "\w+"': (
        "functions are methods, too: their first parameter is the tensor"
    ),
    r'Tensor\.(max|min) is inconsistent, stub does not have parameter "(dim|keepdim|other)"': (
        "it has an overload with them"
    ),
}


def own_words(table):
    """Leave the first overload of each function; the parts of a property are no overloads."""
    for name, symbol in list(table.items()):
        if isinstance(symbol.node, nodes.OverloadedFuncDef) and not symbol.node.is_property:
            table[name] = nodes.SymbolTableNode(symbol.kind, symbol.node.items[0].func)
        elif name == "Tensor" and isinstance(symbol.node, nodes.TypeInfo):
            own_words(symbol.node.names)


def main():
    options = mypy.options.Options()
    options.incremental, options.follow_imports = False, "silent"
    modules = stubtest.build_stubs([*stubs.MODULES, stubs.lg.Tensor.__module__], options)
    unused = set(REASONS)
    for module in modules:
        own_words(stubtest.get_stub(module).names)
        for error in stubtest.test_module(module):
            text = error.get_description(concise=True)
            reason = next((pattern for pattern in REASONS if re.search(pattern, text)), None)
            if reason is None:
                print(text)
            unused -= {reason}
    print(*(f"nothing is excused by {pattern}" for pattern in unused), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
