# Written by `python -m tools.stubs`: what is wrong here is mended there.

from lucidgrad.nn import *
from lucidgrad.nn import functional as functional
from lucidgrad.nn import init as init
from lucidgrad.nn import parameter as parameter
from lucidgrad.nn import utils as utils
