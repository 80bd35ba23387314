#include "plugin/tool/topo.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "topology/hwloc_tree.h"
#include "topology/json_view.h"
#include "topology/machine.h"
#include "topology/nccl_xml.h"
#include "topology/svg_view.h"
#include "topology/text_view.h"
#include "weft/result.h"

namespace weft::tool {
namespace {

using topology::Tree;

void say(const std::string& sentence) { std::fputs(("weft: " + sentence + "\n").c_str(), stderr); }

/// Why `file` cannot be read, before a library says less about it.
Status check_file(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return fail(Code::kArgument,
                "--from " + file + " is a directory: give a file that lstopo has written (lstopo FILE.xml)");
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

Status show(const TopoOptions& options) {
  TRY(const Tree tree, read_tree(options));
  const topology::Instance* instance = topology::find_instance(tree.instance_type);
  topology::GroupOptions grouping{.rails = options.rails};
  if (instance != nullptr) grouping.rails_without_gpus = instance->rails;
  const auto nics = topology::efa_nics(tree);
  const auto groups = topology::group_rails(tree, nics, grouping);
  const topology::View view{tree, nics, groups, instance};
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
