# Written by `python -m tools.stubs`: what is wrong here is mended there.

from lucidgrad.utils import *
from lucidgrad.utils import checkpoint as checkpoint
from lucidgrad.utils import data as data
