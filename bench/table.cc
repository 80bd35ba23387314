#include "bench/table.h"

#include "bench/bandwidth.h"
#include "bench/text.h"

namespace weft::bench {

double Measured::time() const { return median(seconds); }

double Measured::algorithm_bandwidth(const Shape& shape) const {
  return gigabytes_per_second(shape.algorithm_bytes, time());
}

double Measured::bus_bandwidth(const Shape& shape) const { return gigabytes_per_second(shape.wire_bytes, time()); }

double Row::speed_ratio() const { return median_ratio(measured[1].seconds, measured[0].seconds); }

std::string time_text(double seconds) {
  const double us = seconds * 1e6;
  const int decimals = us >= 10000 ? 0 : us >= 100 ? 1 : 2;
  return text("%7.*f", decimals, us);
}

std::string table_header(const std::vector<std::string>& names, bool labelled) {
  std::string plugins = text("#%*s", labelled ? 52 : 42, "");
  std::string titles = text("#%11s %12s %8s %7s", "size", "count", "type", "redop");
  std::string units = text("#%11s %12s %8s %7s", "(B)", "(elements)", "", "");
  if (labelled) {
    titles += text("  %-8s", "phase");
    units += text("  %-8s", "");
  }
  for (const std::string& name : names) {
    plugins += text("  %-32.32s", name.c_str());
    titles += text("  %7s %7s %7s %8s", "time", "algbw", "busbw", "#wrong");
    units += text("  %7s %7s %7s %8s", "(us)", "(GB/s)", "(GB/s)", "");
  }
  if (names.size() == 2) {
    titles += text("  %7s", "ratio");
    units += text("  %7s", "1st:2nd");
  }
  return (names.size() == 2 ? plugins + "\n" : "") + titles + "\n" + units + "\n";
}

std::string table_row(const Row& row, bool labelled) {
  const Shape& shape = row.shape;
  std::string line = text("%12zu %12zu %8s %7s", shape.bytes, shape.count, shape.type, shape.redop);
  if (labelled) line += text("  %-8s", shape.label.c_str());
  for (const Measured& each : row.measured) {
    line += text("  %s %7.3f %7.3f %8zu", time_text(each.time()).c_str(), each.algorithm_bandwidth(shape),
                 each.bus_bandwidth(shape), each.wrong);
  }
  if (row.measured.size() == 2) line += text("  %7.3f", row.speed_ratio());
  return line + "\n";
}

}  // namespace weft::bench
