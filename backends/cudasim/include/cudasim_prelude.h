// Included before every kernel source (as a precompiled header): CUDA's device language on the host's compiler.
#ifndef CUDASIM_PRELUDE_H
#define CUDASIM_PRELUDE_H

#include <cstddef>
#ifdef __GLIBCXX__
// The special functions of C++17 are not part of CUDA, and they double the size of the precompiled header.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cudasim/abi.h"
#include "cudasim/basics.h"
#include "cudasim/kernels.h"
#include "cudasim/sync.h"
#include "cudasim/intrinsics.h"
#include "cudasim/math.h"
#include "cudasim/atomics.h"
#include "assert.h"

#endif
