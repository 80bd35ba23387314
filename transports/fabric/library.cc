#include "transports/fabric/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transports/fabric/info.h"

namespace weft::fabric {
namespace {

template <class F>
bool load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<Library> open_one(const std::string& path) {
  // RTLD_NODELETE: see the class comment. RTLD_LOCAL: the host may carry a libfabric of its own.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = dlerror();
    return fail(Code::kMissing, why != nullptr ? why : path + ": cannot be opened");
  }
  Functions functions;
  const bool complete =
      load(library, "fi_version", functions.version) && load(library, "fi_getinfo", functions.getinfo) &&
      load(library, "fi_freeinfo", functions.freeinfo) && load(library, "fi_dupinfo", functions.dupinfo) &&
      load(library, "fi_fabric", functions.fabric) && load(library, "fi_strerror", functions.strerror);
  if (!complete) return fail(Code::kMissing, path + ": is not a libfabric (a function is missing)");
  if (functions.version() < Library::kMinVersion) {
    return fail(Code::kMissing, path + ": version " + version_string(functions.version()) + " is older than " +
                                    version_string(Library::kMinVersion));
  }
  // The loader knows where a bare name was found; users need that when two libfabrics are installed.
  Dl_info where{};
  const bool known = dladdr(reinterpret_cast<const void*>(functions.version), &where) != 0;
  return Library(functions, known && where.dli_fname != nullptr ? where.dli_fname : path);
}

}  // namespace

std::string version_string(std::uint32_t version) {
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

Result<Library> Library::open(const std::string& path) {
  if (!path.empty()) {
    auto library = open_one(path);
    if (library) return library;
    return fail(Code::kMissing,
                "libfabric cannot be used: " + library.error().what + "; correct or unset WEFT_LIBFABRIC");
  }
  static constexpr std::array kPlaces = {"libfabric.so.1", "/opt/amazon/efa/lib/libfabric.so.1",
                                         "/opt/amazon/efa/lib64/libfabric.so.1"};
  std::string tried;
  for (const char* place : kPlaces) {
    auto library = open_one(place);
    if (library) return library;
    tried += (tried.empty() ? "" : "; ") + library.error().what;
  }
  return fail(Code::kMissing, "no usable libfabric (" + tried + "): install libfabric " + version_string(kMinVersion) +
                                  " or newer (libfabric1, or the EFA installer), or set WEFT_LIBFABRIC to its path");
}

std::uint32_t Library::api_version() const { return std::min(version(), kMaxApiVersion); }

Result<std::vector<Info>> Library::discover(const Hints& hints) const {
  // fi_allocinfo is an inline call of fi_dupinfo(nullptr), which is not linked here.
  Info wanted(functions_, functions_.dupinfo(nullptr));
  if (wanted.get() == nullptr) return fail(Code::kSystem, "fi_allocinfo failed: out of memory");
  fi_info& info = *wanted.get();
  info.caps = hints.caps;
  info.mode = FI_CONTEXT | FI_CONTEXT2;
  info.ep_attr->type = FI_EP_RDM;
  // Every call into a domain is made under its device's lock or during set-up; nothing finer is needed.
  info.domain_attr->threading = FI_THREAD_COMPLETION;
  info.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_HMEM;
  info.domain_attr->av_type = FI_AV_TABLE;
  if (!hints.provider.empty()) {
    // Freed with the info by fi_freeinfo, hence malloc'ed.
    info.fabric_attr->prov_name = strdup(hints.provider.c_str());
  }
  fi_info* list = nullptr;
  const int rc = functions_.getinfo(api_version(), nullptr, nullptr, 0, wanted.get(), &list);
  if (rc == -FI_ENODATA) return std::vector<Info>{};
  if (rc != 0) {
    return fail(Code::kSystem, -rc,
                std::string("fi_getinfo failed: ") + strerror(rc) + " (" + std::to_string(rc) + ")");
  }
  const Info owner(functions_, list);  // frees the whole list
  std::vector<Info> found;
  for (const fi_info* each = list; each != nullptr; each = each->next) {
    Info copy(functions_, functions_.dupinfo(each));
    if (copy.get() == nullptr) return fail(Code::kSystem, "fi_dupinfo failed: out of memory");
    found.push_back(std::move(copy));
  }
  return found;
}

}  // namespace weft::fabric
