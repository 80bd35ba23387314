#pragma once

namespace weft::emulation {

// What the emulated CUDA says on stderr. WEFT_LAB_CUDA_TRACE picks how much: 0 errors of use and things that are not
// emulated (the default), 1 launches, 2 works and steps inside a kernel.
int trace_level();
void log(int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace weft::emulation
