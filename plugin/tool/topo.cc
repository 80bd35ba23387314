#include "plugin/tool/topo.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "plugin/machine_plan.h"
#include "topology/hwloc_tree.h"
#include "topology/json_view.h"
#include "topology/machine.h"
#include "topology/nccl_xml.h"
#include "topology/svg_view.h"
#include "topology/text_view.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::tool {
namespace {

using topology::Tree;

void say(const std::string& sentence) { std::fputs(("weft: " + sentence + "\n").c_str(), stderr); }

/// Why `file` cannot be read, before a library says less about it.
Status check_file(const std::string& file) {
  std::error_code error;
  const auto type = std::filesystem::status(file, error).type();
  if (type == std::filesystem::file_type::directory || type == std::filesystem::file_type::fifo) {
    return fail(Code::kArgument, "--from " + file + " is a " +
                                     (type == std::filesystem::file_type::fifo ? "pipe" : "directory") +
                                     ": give a file that lstopo has written (lstopo FILE.xml)");
  }
  if (const std::ifstream probe(file); !probe) {
    return fail(Code::kArgument, errno, "cannot read " + file + ": " + std::strerror(errno));
  }
  return {};
}

Result<Tree> read_tree(const TopoOptions& options) {
  if (!options.from.empty()) {
    TRY_VOID(check_file(options.from));
    TRY(const topology::Hwloc hwloc, topology::Hwloc::open());
    return hwloc.read_xml(options.from);
  }
  std::error_code error;
  if (!std::filesystem::is_directory(options.root, error)) {
    return fail(Code::kArgument, "--root " + options.root + " is not a directory");
  }
  return topology::read_machine(options.root);
}

bool is_this_machine(const TopoOptions& options) { return options.from.empty() && options.root == "/"; }

std::string printed(const topology::View& view, const TopoOptions& options) {
  switch (options.form) {
    case Form::kJson: return topology::json_view(view);
    case Form::kNcclXml:
      return topology::nccl_xml(view, is_this_machine(options) ? topology::own_processor() : std::nullopt);
    case Form::kText: break;
  }
  return topology::text_view(view);
}

Status write_file(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fail(Code::kSystem, errno, "cannot write " + file + ": " + std::strerror(errno));
  return {};
}

/// For this machine those that the plugin would read, for another none.
Result<Params> params_for(const TopoOptions& options) {
  TRY(LoadedParams loaded, load_params(is_this_machine(options) ? process_environment() : Environment{}));
  for (const auto& warning : loaded.warnings) std::fputs(("weft: " + warning + "\n").c_str(), stderr);
  if (options.rails > 0) loaded.params.rails = options.rails;
  return std::move(loaded.params);
}

Status show(const TopoOptions& options) {
  TRY(const Tree tree, read_tree(options));
  TRY(const Params params, params_for(options));
  TRY(const plugin::MachinePlan plan, plugin::plan_machine(tree, params));
  const topology::View view = plan.view(tree);
  if (!options.svg.empty()) {
    TRY_VOID(write_file(options.svg, topology::svg_view(view)));
  }
  if (options.form == Form::kNcclXml) {  // the only form that has no room for them
    for (const std::string& oddity : tree.oddities) say(oddity);
  }
  const std::string text = printed(view, options);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(Code::kSystem, errno, std::string("cannot write to standard output: ") + std::strerror(errno));
  }
  return {};
}

}  // namespace

int run_topo(const TopoOptions& options) {
  const Status status = show(options);
  if (status) return kExitOk;
  say(status.error().what);
  return kExitFailed;
}

}  // namespace weft::tool
