"""Which checks are one job: to start one takes longer than most of them."""

import checks_checkpoint
import checks_collectives
import checks_cuda_training
import checks_ddp
import checks_functional
import checks_fuzz
import checks_layers
import checks_nccl
import checks_sharding
import checks_sharding_cuda
import checks_sharding_programs
import checks_staged
import checks_tensors

COLLECTIVES = checks_collectives, checks_tensors, checks_fuzz, checks_functional
TRAINING = checks_ddp, checks_layers
SHARDING = checks_sharding, checks_sharding_programs, checks_checkpoint
ON_HOST = COLLECTIVES + TRAINING + SHARDING


def on_cuda(ranks):
    """Collectives and data parallel training by them; of two, whose sums are those of the CPU, the rest as well."""
    more = checks_functional, checks_staged, checks_sharding_cuda
    return (checks_nccl, checks_cuda_training, *(more if ranks == 2 else ()))
