// The AVX-VNNI table in the encoding of AVX-512, so that a CPU with only that can test its code. Compiled with flags of its
// own.
#if defined(__x86_64__)
#define fill_avx_vnni fill_avx_vnni_evex
#include "kernels/avx_vnni/table.cc"
#endif
