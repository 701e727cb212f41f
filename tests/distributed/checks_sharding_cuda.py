"""The same with tensors on CUDA; a few of the checks, those that differ there."""

import checks_checkpoint
import checks_sharding


def check_steps():
    checks_sharding._trained("AdamW", 0.05, steps=4)


check_norms = checks_sharding.check_norms
check_order = checks_sharding.check_order
check_checkpointing = checks_sharding.check_checkpointing
check_second_forward = checks_sharding.check_second_forward
check_hooks = checks_sharding.check_hooks
check_states = checks_sharding.check_states


def check_zero():
    checks_sharding._zero_trained(checks_sharding.lg.optim.AdamW, steps=4, lr=0.01)


check_resumption = checks_checkpoint.check_resumption
