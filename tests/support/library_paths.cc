#include "tests/support/library_paths.h"

namespace weft::test {

const char* not_libfabric() { return WEFT_TEST_CUDA_STUB; }
const char* incomplete_libfabric() { return WEFT_TEST_INCOMPLETE_LIBFABRIC; }
const char* old_libfabric() { return WEFT_TEST_OLD_LIBFABRIC; }
const char* new_libfabric() { return WEFT_TEST_NEW_LIBFABRIC; }

}  // namespace weft::test
