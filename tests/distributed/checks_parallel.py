"""All that trains in parallel, for one launch."""

from checks_ddp import *  # noqa: F403
from checks_layers import *  # noqa: F403
