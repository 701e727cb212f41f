# Written by `python -m tools.stubs`: what is wrong here is mended there.

from lucidgrad.nn.utils import *
from lucidgrad.nn.utils import rnn as rnn
