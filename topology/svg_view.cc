#include "topology/svg_view.h"

#include <array>
#include <map>
#include <tuple>

namespace weft::topology {
namespace {

constexpr int kMostWidth = 1200;
constexpr int kLeastWidth = 760;  ///< for title and legend
constexpr int kMargin = 24;
constexpr int kPadding = 8;  ///< inside a frame, and between devices
constexpr int kGap = 12;     ///< between frames
constexpr int kTitle = 24;   ///< the line with a frame's name
constexpr int kDeviceWidth = 244;
constexpr int kDeviceHeight = 40;

struct Colours {
  const char* strong;
  const char* light;
};
constexpr std::array<Colours, 12> kDevices{{{"#2563a8", "#dbe9f9"},
                                            {"#b95a0b", "#fde6d0"},
                                            {"#2b7a39", "#dcf2dc"},
                                            {"#b53030", "#fbdcdc"},
                                            {"#7448a6", "#eadff5"},
                                            {"#0f7c8c", "#d5f2f5"},
                                            {"#8a5a44", "#efe3db"},
                                            {"#b3458a", "#fbdff0"},
                                            {"#6f6f12", "#f0f0c8"},
                                            {"#3b478f", "#dfe2f7"},
                                            {"#0f6f5c", "#d3efe6"},
                                            {"#8c6a05", "#fbf0c9"}}};
constexpr Colours kNone{"#6b6b6b", "#ffffff"};

struct Size {
  int width = 0, height = 0;
};

struct Drawing {
  Size size;
  std::string svg;
};

/// At most `most` characters, in XML.
std::string escaped(std::string_view plain, std::size_t most = 200) {
  std::string shown = printable(plain);
  if (shown.size() > most) shown = shown.substr(0, most - 2) + "..";
  std::string text;
  for (const char letter : shown) {
    switch (letter) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      default: text += letter;
    }
  }
  return text;
}

std::string attribute(const char* name, int value) {
  return " " + std::string(name) + "=\"" + std::to_string(value) + "\"";
}

std::string rectangle(int x, int y, Size size, const std::string& more) {
  return "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", size.width) +
         attribute("height", size.height) + " rx=\"5\" " + more + "/>\n";
}

/// `text` is in XML already.
std::string words(int x, int y, const std::string& text, const std::string& more = "") {
  return "<text" + attribute("x", x) + attribute("y", y) + (more.empty() ? "" : " " + more) + ">" + text + "</text>\n";
}

Colours colours_of(int device) {
  return device < 0 ? kNone : kDevices[static_cast<std::size_t>(device) % kDevices.size()];
}

/// What stands in a device's box: two lines, each with a left and a right part.
struct Label {
  std::string name, rate, address, role;
};

std::string box(int x, int y, Kind kind, int device, const Label& label) {
  const Colours colours = colours_of(device);
  const bool is_gpu = kind == Kind::kGpu;
  const std::string fill = is_gpu ? colours.strong : colours.light;
  const std::string ink = is_gpu ? "#ffffff" : device < 0 ? "#5f5f5f" : "#1b1b1b";
  std::string svg = rectangle(x, y, {kDeviceWidth, kDeviceHeight},
                              "fill=\"" + fill + "\" stroke=\"" + colours.strong + "\"" +
                                  (device < 0 && !is_gpu ? " stroke-dasharray=\"4 3\"" : ""));
  const int left = x + kPadding, right = x + kDeviceWidth - kPadding;
  const std::string colour = "fill=\"" + ink + "\"", end = colour + " text-anchor=\"end\"";
  svg += words(left, y + 17, escaped(label.name, 20), colour + " font-weight=\"bold\"");
  if (!label.rate.empty()) svg += words(right, y + 17, label.rate, end);
  if (!label.address.empty()) svg += words(left, y + 33, label.address, colour + " font-size=\"11\"");
  return svg + words(right, y + 33, escaped(label.role, 30), end + " font-size=\"11\"");
}

std::string role_text(int device, int rail) {
  return "device " + std::to_string(device) + (rail >= 0 ? ", rail " + std::to_string(rail) : "");
}

std::string device_box(const View& view, int index, int x, int y) {
  const Node& node = view.at(index);
  const int device = view.device_of(index);
  const std::string none = node.kind == Kind::kGpu ? "no device" : view.why_not_used(index);
  return box(x, y, node.kind, device,
             {.name = node.name,
              .rate = node.speed_mbps > 0 ? rate_text(node.speed_mbps) : "",
              .address = node.address.text(),
              .role = device < 0 ? none : role_text(device, view.rail_of(index))});
}

int columns_for(int width, int item, int gap, std::size_t items) {
  return std::clamp((width + gap) / (item + gap), 1, std::max(static_cast<int>(items), 1));
}

/// Each device of NCCL's in one column, its GPUs above its NICs; the columns about equally long. What belongs to no
/// device comes last, each by itself, and so does everything where there is but one device.
Drawing draw_devices(const View& view, std::span<const int> nodes, int x, int y, int width) {
  std::map<int, std::vector<int>> columns;
  for (const int node : nodes) columns[view.device_of(node)].push_back(node);
  std::vector<std::vector<int>> clusters;
  const bool is_one = columns.size() - columns.count(-1) <= 1;
  for (const bool used : {true, false}) {
    for (auto& [device, members] : columns) {
      if ((device >= 0) != used) continue;
      std::ranges::stable_sort(members, {},
                               [&](int node) { return std::tuple(view.at(node).kind, view.rail_of(node)); });
      if (used && !is_one) {
        clusters.push_back(members);
      } else {
        for (const int node : members) clusters.push_back({node});
      }
    }
  }
  Drawing drawing;
  std::vector<int> heights(static_cast<std::size_t>(columns_for(width, kDeviceWidth, kPadding, clusters.size())));
  for (const auto& members : clusters) {
    const auto shortest = std::ranges::min_element(heights);
    const int left = static_cast<int>(shortest - heights.begin()) * (kDeviceWidth + kPadding);
    for (const int node : members) {
      if (*shortest > 0) *shortest += kPadding;
      drawing.svg += device_box(view, node, x + left, y + *shortest);
      *shortest += kDeviceHeight;
    }
    drawing.size = {std::max(drawing.size.width, left + kDeviceWidth), std::max(drawing.size.height, *shortest)};
  }
  return drawing;
}

/// Of the narrowest frame around `branch`.
int least_width(const Branch& branch) {
  int width = kDeviceWidth;
  for (const Branch& part : branch.below) width = std::max(width, least_width(part));
  return width + 2 * kPadding;
}

Drawing draw_content(const View& view, const Branch& branch, int x, int y, int width);

/// A frame with a name around what a branch holds.
Drawing draw_frame(const View& view, const Branch& branch, int x, int y, int width) {
  Drawing inner = draw_content(view, branch, x + kPadding, y + kTitle, width - 2 * kPadding);
  const Size size{std::max(inner.size.width, kDeviceWidth) + 2 * kPadding, inner.size.height + kTitle + kPadding};
  return {size, rectangle(x, y, size, "fill=\"#ffffff\" stroke=\"#9aa3ad\"") +
                    words(x + kPadding, y + 16, branch_name(view.tree, branch), "fill=\"#3c4650\"") + inner.svg};
}

/// Its devices, and below them its branches side by side as long as they fit.
Drawing draw_content(const View& view, const Branch& branch, int x, int y, int width) {
  Drawing drawing = draw_devices(view, branch.devices, x, y, width);
  const int columns = columns_for(width, least_width(branch) - 2 * kPadding, kGap, branch.below.size());
  const int slot = (width - (columns - 1) * kGap) / columns;
  int column = 0, left = 0, row_height = 0;
  int top = drawing.size.height + (branch.devices.empty() ? 0 : kGap);
  for (const Branch& part : branch.below) {
    if (column == columns) {
      top += row_height + kGap;
      column = left = row_height = 0;
    }
    Drawing frame = draw_frame(view, part, x + left, y + top, slot);
    row_height = std::max(row_height, frame.size.height);
    drawing.size = {std::max(drawing.size.width, left + frame.size.width),
                    std::max(drawing.size.height, top + row_height)};
    drawing.svg += frame.svg;
    left += frame.size.width + kGap;
    ++column;
  }
  return drawing;
}

/// NICs that the tree does not have.
Drawing draw_unplaced(const View& view, int x, int y) {
  Drawing drawing;
  int column = 0, top = 0;
  const int columns = columns_for(kMostWidth - 4 * kMargin, kDeviceWidth, kPadding, view.nics.size());
  for (std::size_t device = 0; device < view.groups.groups.size(); ++device) {
    const auto& rails = view.groups.groups[device].rails;
    for (std::size_t rail = 0; rail < rails.size(); ++rail) {
      const Nic& nic = view.nics[rails[rail]];
      if (nic.address && view.tree.find(*nic.address) >= 0) continue;
      if (column == columns) {
        column = 0;
        top += kDeviceHeight + kPadding;
      }
      const int left = column++ * (kDeviceWidth + kPadding);
      drawing.svg += box(x + left, y + top, Kind::kNic, static_cast<int>(device),
                         {.name = nic.name,
                          .rate = nic.speed_mbps > 0 ? rate_text(nic.speed_mbps) : "",
                          .address = nic.address ? nic.address->text() : "",
                          .role = role_text(static_cast<int>(device), static_cast<int>(rail))});
      drawing.size = {std::max(drawing.size.width, left + kDeviceWidth), top + kDeviceHeight};
    }
  }
  return drawing;
}

/// One of the rows that make up the picture.
struct Row {
  std::string name;
  int y;
  Drawing content;
};

std::vector<Row> draw_rows(const View& view, int y) {
  constexpr int kInner = kMostWidth - 2 * kMargin - 2 * kGap;
  constexpr int kLeft = kMargin + kGap;
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const auto& draw) {
    Drawing content = draw(y + kTitle);
    if (content.svg.empty()) return;
    const int height = kTitle + content.size.height + kGap;
    rows.push_back({name, y, std::move(content)});
    y += height + kGap;
  };
  Branch machine = branch_at(view.tree, 0);
  std::vector<Branch> numa_nodes;
  std::erase_if(machine.below, [&](const Branch& part) {
    const bool is_numa = view.at(part.chain.front()).kind == Kind::kNuma;
    if (is_numa) numa_nodes.push_back(part);
    return is_numa;
  });
  for (const Branch& numa : numa_nodes) {
    add(branch_name(view.tree, numa), [&](int top) { return draw_content(view, numa, kLeft, top, kInner); });
  }
  add(numa_nodes.empty() ? "machine" : "no NUMA node",
      [&](int top) { return draw_content(view, machine, kLeft, top, kInner); });
  add("place unknown", [&](int top) { return draw_unplaced(view, kLeft, top); });
  return rows;
}

std::string legend(int y) {
  const auto sample = [&](int x, const std::string& look, const std::string& text) {
    return rectangle(x, y, {22, 14}, look) + words(x + 30, y + 12, text);
  };
  const std::string strong = kDevices[0].strong, light = kDevices[0].light, grey = kNone.strong;
  return sample(kMargin, "fill=\"" + strong + "\"", "GPU") +
         sample(kMargin + 90, "fill=\"" + light + "\" stroke=\"" + strong + "\"", "NIC") +
         sample(kMargin + 180, "fill=\"#ffffff\" stroke=\"" + grey + "\" stroke-dasharray=\"4 3\"", "not used") +
         words(kMargin + 300, y + 12, "One colour: the NICs of one device, rail 0 leading, and its GPUs.");
}

}  // namespace

std::string svg_view(const View& view) {
  constexpr int kTop = 78;  // title and summary stand above
  const std::vector<Row> rows = draw_rows(view, kTop);
  int width = kLeastWidth - 2 * kMargin, y = kTop;
  for (const Row& row : rows) width = std::max(width, row.content.size.width + 2 * kGap);
  std::string body;
  for (const Row& row : rows) {
    const Size size{width, kTitle + row.content.size.height + kGap};
    body += rectangle(kMargin, row.y, size, "fill=\"#f3f5f7\" stroke=\"#c4cbd2\"") +
            words(kMargin + kGap, row.y + 17, row.name, "fill=\"#3c4650\" font-weight=\"bold\"") + row.content.svg;
    y = row.y + size.height + kGap;
  }
  if (rows.empty()) {
    body += words(kMargin, y + 12, "No GPU and no NIC.");
    y += 36;
  }
  const std::string name = escaped(machine_name(view), 60);
  const Size size{width + 2 * kMargin, y + 14 + kMargin};
  const std::string w = std::to_string(size.width), h = std::to_string(size.height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " + w + " " +
         h + "\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"12\">\n<title>" + name +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
         words(kMargin, 38, name, "font-size=\"22\" font-weight=\"bold\"") +
         words(kMargin, 61, escaped(machine_summary(view)), "font-size=\"13\" fill=\"#3c4650\"") + body + legend(y) +
         "</svg>\n";
}

}  // namespace weft::topology
