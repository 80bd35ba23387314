#include "bench/environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/text.h"

namespace weft::bench {
namespace {

std::string value_of(const Lookup& lookup, const char* name) {
  const char* value = lookup(name);
  return value != nullptr ? value : "";
}

Result<int> integer(const char* name, const std::string& value) {
  int number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
    return fail(Code::kArgument, text("%s is '%s', which is not a whole number", name, value.c_str()));
  }
  return number;
}

/// The variables of one launcher.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_size;
};

constexpr Launcher kLaunchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
};

// Ports that a launcher's identity is mapped to: above the system's, below those the kernel hands out by itself.
constexpr unsigned kFirstPort = 20000;
constexpr unsigned kPorts = 10000;

/// The first host of Slurm's compressed list: "node[07-09,12]" and "node07,node08" both begin with node07.
std::string first_host(const std::string& list) {
  const std::size_t comma = list.find(',');
  const std::size_t bracket = list.find('[');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket);
  if (end == std::string::npos) return "";
  const std::size_t close = list.find(']', bracket);
  const std::size_t next = list.find(',', close);
  const std::string suffix = close == std::string::npos ? "" : list.substr(close + 1, next - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + suffix;
}

/// FNV-1a: spreads job names over the ports; all ranks of a job come to the same one.
unsigned port_of(std::string_view job) {
  unsigned hash = 2166136261U;
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return kFirstPort + hash % kPorts;
}

/// HOST:PORT that all ranks of the job can work out by themselves; empty where they cannot.
Result<std::string> rendezvous_of(const Lookup& lookup, const Place& place) {
  const std::string host = value_of(lookup, "MASTER_ADDR");
  const std::string port = value_of(lookup, "MASTER_PORT");
  if (!host.empty() && !port.empty()) {
    TRY(const int number, integer("MASTER_PORT", port));
    // torchrun's agent keeps its own store on MASTER_PORT, and says so.
    const bool taken = value_of(lookup, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    return host + ":" + std::to_string(number + (taken ? 1 : 0));
  }
  const std::string nodes = value_of(lookup, "SLURM_STEP_NODELIST");
  if (place.launcher == "Slurm" && !nodes.empty()) {
    const std::string job = value_of(lookup, "SLURM_JOB_ID") + "." + value_of(lookup, "SLURM_STEP_ID");
    return first_host(nodes) + ":" + std::to_string(port_of(job));
  }
  const std::string job = value_of(lookup, "PMIX_NAMESPACE");
  if (place.local_size == place.size && !job.empty()) return "127.0.0.1:" + std::to_string(port_of(job));
  return "";
}

Result<Place> read_place(const Lookup& lookup, const Launcher& launcher) {
  Place place;
  place.launcher = launcher.name;
  TRY(place.rank, integer(launcher.rank, value_of(lookup, launcher.rank)));
  const std::string size = value_of(lookup, launcher.size);
  if (size.empty()) return fail(Code::kArgument, text("%s is set but %s is not", launcher.rank, launcher.size));
  TRY(place.size, integer(launcher.size, size));
  if (place.size < 1 || place.rank < 0 || place.rank >= place.size) {
    return fail(Code::kArgument,
                text("%s %d does not fit %s %d", launcher.rank, place.rank, launcher.size, place.size));
  }
  const std::string local = value_of(lookup, launcher.local_size);
  place.local_size = place.size;
  if (!local.empty()) {
    TRY(place.local_size, integer(launcher.local_size, local));
  }
  TRY(place.rendezvous, rendezvous_of(lookup, place));
  return place;
}

}  // namespace

Lookup process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

Result<std::optional<Place>> place_from_environment(const Lookup& lookup) {
  for (const Launcher& launcher : kLaunchers) {
    if (value_of(lookup, launcher.rank).empty()) continue;
    // RANK alone is too common a name to mean torchrun.
    if (std::strcmp(launcher.rank, "RANK") == 0 && value_of(lookup, launcher.size).empty()) continue;
    TRY(Place place, read_place(lookup, launcher));
    return place;
  }
  return std::nullopt;
}

std::string debug_level_from_environment(const Lookup& lookup) { return value_of(lookup, "NCCL_DEBUG"); }
std::string provider_from_environment(const Lookup& lookup) { return value_of(lookup, "WEFT_PROVIDER"); }
std::string libfabric_from_environment(const Lookup& lookup) { return value_of(lookup, "WEFT_LIBFABRIC"); }

std::string find_program(const std::string& name, const Lookup& lookup) {
  const std::string path = value_of(lookup, "PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

}  // namespace weft::bench
