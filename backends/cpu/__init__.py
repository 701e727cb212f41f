"""The CPU back end: NumPy."""

from lucidgrad.core import device

from .backend import CPU

cpu = CPU()
device.register(cpu)
