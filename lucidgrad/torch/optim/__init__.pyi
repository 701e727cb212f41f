# Written by `python -m tools.stubs`: what is wrong here is mended there.

from lucidgrad.optim import *
from lucidgrad.optim import lr_scheduler as lr_scheduler
from lucidgrad.optim import swa_utils as swa_utils
