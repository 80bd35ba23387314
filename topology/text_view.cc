#include "topology/text_view.h"
#include "topology/nccl_settings.h"

namespace weft::topology {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// How wide the columns are: the same in the whole tree.
struct Columns {
  std::size_t address = 0, name = 0, rate = 0;
};

std::string name_of(const Node& node) {
  const std::string name = printable(node.name);
  return !name.empty() ? name : node.kind == Kind::kGpu ? "GPU" : "NIC";
}

std::string rate_of(const Node& node) { return node.speed_mbps > 0 ? rate_text(node.speed_mbps) : ""; }

Columns columns_of(const Tree& tree) {
  Columns columns;
  for (const Node& node : tree.nodes) {
    if (node.kind != Kind::kGpu && node.kind != Kind::kNic) continue;
    columns.address = std::max(columns.address, node.address.text().size());
    columns.name = std::max(columns.name, name_of(node).size());
    columns.rate = std::max(columns.rate, rate_of(node).size());
  }
  return columns;
}

std::string device_line(const View& view, int index, const Columns& columns) {
  const Node& node = view.at(index);
  std::string line = padded(node.address.text(), columns.address) + "  " + padded(name_of(node), columns.name) + "  ";
  const std::string rate = rate_of(node);
  line += std::string(columns.rate - rate.size(), ' ') + rate + (columns.rate > 0 ? "  " : "");
  const int device = view.device_of(index);
  if (node.kind == Kind::kNic && device < 0) {
    line += "(" + printable(view.why_not_used(index)) + ")";
  } else if (device >= 0) {
    line += "device " + std::to_string(device);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string branch_line(const View& view, const Branch& branch) {
  std::string line = branch_name(view.tree, branch);
  for (std::size_t i = 0; i + 1 < branch.chain.size(); ++i) {
    const std::string name = branch_name(view.tree, Branch{{branch.chain[i]}, {}, {}});
    line += (i == 0 ? " (below " : " → ") + name.substr(name.starts_with("switch ") ? 7 : 0);
  }
  if (branch.chain.size() > 1) line += ")";
  if (branch.devices.empty() && branch.below.empty()) line += " (no GPU or NIC)";
  return line;
}

void add_branch(const View& view, const Branch& branch, const Columns& columns, const std::string& indent,
                std::string& text) {
  const std::size_t last = branch.devices.size() + branch.below.size();
  std::size_t number = 0;
  for (const int device : branch.devices) {
    text += indent + (++number == last ? "└─ " : "├─ ") + device_line(view, device, columns) + "\n";
  }
  for (const Branch& part : branch.below) {
    const bool is_last = ++number == last;
    text += indent + (is_last ? "└─ " : "├─ ") + branch_line(view, part) + "\n";
    add_branch(view, part, columns, indent + (is_last ? "   " : "│  "), text);
  }
}

std::string group_line(const View& view, std::size_t number) {
  const RailGroup& group = view.groups.groups[number];
  std::string line = "device " + std::to_string(number) + ": ";
  for (std::size_t i = 0; i < group.rails.size(); ++i) {
    line += (i > 0 ? " + " : "") + printable(view.nics[group.rails[i]].name);
  }
  if (const auto mbps = view.speed_mbps(group); mbps > 0) line += ", " + rate_text(mbps);
  for (std::size_t i = 0; i < group.gpus.size(); ++i) {
    line += (i == 0 ? ", for " : i + 1 < group.gpus.size() ? ", " : " and ") + name_of(view.at(group.gpus[i]));
  }
  return line;
}

void add_settings(const View& view, std::string& text) {
  const Instance* instance = view.instance;
  if (instance == nullptr) {
    if (!view.tree.instance_type.empty()) {
      text += "\n" + machine_name(view) + " is not in Weft's table of instances: no NCCL settings are known for it.\n";
    }
    return;
  }
  const auto settings = nccl_settings(view);
  if (settings.empty()) return;
  text += "\nNCCL settings for " + std::string(instance->type) + ", where you have not set them:\n";
  std::size_t width = 0;
  for (const NcclDefault& setting : settings) {
    width = std::max(width, setting.variable.size() + 1 + setting.value.size());
  }
  for (const NcclDefault& setting : settings) {
    const std::string assignment = std::string(setting.variable) + "=" + std::string(setting.value);
    text += "  " + padded(assignment, width) + "  # " + std::string(setting.reason) + "\n";
  }
}

}  // namespace

std::string text_view(const View& view) {
  std::string text = machine_name(view) + ": " + machine_summary(view) + "\n";
  add_branch(view, branch_at(view.tree, 0), columns_of(view.tree), "", text);
  text += view.groups.groups.empty()
              ? "\nNo EFA NIC in use: Weft goes over what else libfabric offers (tcp), and its banner says what.\n"
              : "\nDevices, as NCCL will see them:\n";
  for (std::size_t i = 0; i < view.groups.groups.size(); ++i) text += "  " + group_line(view, i) + "\n";
  if (!view.groups.remarks.empty() || !view.tree.oddities.empty()) text += "\nRemarks:\n";
  for (const auto& sentences : {view.groups.remarks, view.tree.oddities}) {
    for (const std::string& sentence : sentences) text += "  - " + printable(sentence) + "\n";
  }
  add_settings(view, text);
  return text;
}

}  // namespace weft::topology
