// Where the build put the libraries that Library::open must judge (libfabric_stub.cc).
#pragma once

namespace weft::test {

const char* not_libfabric();         ///< a shared library of something else
const char* incomplete_libfabric();  ///< without fi_fabric
const char* old_libfabric();         ///< version 1.16
const char* new_libfabric();         ///< version 2.6

}  // namespace weft::test
