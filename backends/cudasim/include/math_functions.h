// All of this is in the prelude.
#include "cudasim_prelude.h"
