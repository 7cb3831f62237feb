// The levels of 4-bit weights, for the folders of instruction sets, which include headers of kernels/ only.
#pragma once

#include "tensor/levels.h"
