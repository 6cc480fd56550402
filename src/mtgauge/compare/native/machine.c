/* Which of the compiled libraries this machine can run, and from what they were compiled. */

#include "lanes.h"

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t enabled_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}
#endif

/* 3 for AVX2, 4 for AVX-512 as well (both also enabled by the system), 1 for neither. */
KERNEL machine_level(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return 1;
    uint64_t registers = enabled_registers();
    if ((registers & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return 1;
    if ((registers & 0xe6) != 0xe6 || !(b & bit_AVX512F) || !(b & bit_AVX512DQ)
        || !(b & bit_AVX512BW) || !(b & bit_AVX512VL))
        return 3;
    return 4;
#else
    return 1;
#endif
}

/* The digest of the sources, which the build writes in here. */
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
const char *const sources_digest = SOURCES_DIGEST;
