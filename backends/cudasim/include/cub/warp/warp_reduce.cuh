#include "../block/block_reduce.cuh"
