#include "block_reduce.cuh"
