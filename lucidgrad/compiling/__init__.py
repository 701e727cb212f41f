"""`lucidgrad.compile`: functions, transforms, modules and whole training steps as one program.

`reach` finds what a function can reach, `compiled` traces a call and tells calls apart, `passes` improve the program,
and `entry` runs it with what must hold and what else a call does. The level that traces is `lucidgrad.levels.traced`.
"""

from .compiled import CacheInfo, Compiled, CompiledModule, compile
from .exporting import export
from .imported import ImportedProgram, import_program

__all__ = ["CacheInfo", "Compiled", "CompiledModule", "ImportedProgram", "compile", "export", "import_program"]
