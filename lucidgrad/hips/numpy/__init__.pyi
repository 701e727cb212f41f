# Written by `python -m tools.stubs`: what is wrong here is mended there.

from numpy import *

from lucidgrad.hips.numpy import numpy_boxes as numpy_boxes
