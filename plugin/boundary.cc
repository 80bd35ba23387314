#include "plugin/boundary.h"

#include <cstdarg>
#include <cstdio>

#include "weft/log.h"

namespace weft::plugin {

nccl::ncclResult_t refuse(const char* call, const Error& error) noexcept {
  if (!error.logged) WEFT_WARN("%s failed: %s", call, error.what.c_str());
  return to_nccl(error.code);
}

nccl::ncclResult_t refuse(const char* call, Code code, const char* format, ...) noexcept {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  WEFT_WARN("%s failed: %s", call, text);
  return to_nccl(code);
}

}  // namespace weft::plugin
