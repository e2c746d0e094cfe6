#include "kernels/newton_schulz/cuda.h"
