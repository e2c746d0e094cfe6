#include "kernels/fast_weight_update/cuda.h"
