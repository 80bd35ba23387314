// A library that looks like a libfabric, of a version or completeness that Weft must refuse.
#include <rdma/fabric.h>

#define WEFT_TEST_EXPORT __attribute__((visibility("default")))

extern "C" {
WEFT_TEST_EXPORT uint32_t fi_version() { return WEFT_TEST_LIBFABRIC_VERSION; }
WEFT_TEST_EXPORT int fi_getinfo(uint32_t, const char*, const char*, uint64_t, const fi_info*, fi_info**) { return -1; }
WEFT_TEST_EXPORT void fi_freeinfo(fi_info*) {}
WEFT_TEST_EXPORT fi_info* fi_dupinfo(const fi_info*) { return nullptr; }
#if !defined(WEFT_TEST_LIBFABRIC_INCOMPLETE)
WEFT_TEST_EXPORT int fi_fabric(fi_fabric_attr*, fid_fabric**, void*) { return -1; }
#endif
WEFT_TEST_EXPORT const char* fi_strerror(int) { return "stub"; }
}
