#include "block_load.cuh"
