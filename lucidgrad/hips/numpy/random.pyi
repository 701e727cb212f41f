# Written by `python -m tools.stubs`: what is wrong here is mended there.

from numpy.random import *
