#include "kernels/swiglu_fast_weights/cuda.h"
