// Plots, drawn by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/result.h"

namespace weft::bench {

/// One line: a value for each size in bytes.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

/// One diagram. Sizes run along the x axis in powers of two.
struct Panel {
  std::string y_title;
  bool logarithmic = false;
  std::vector<Curve> curves;
};

/// Draws the panels side by side into an SVG file. `gnuplot` is the program's path.
Status write_plot(const std::string& gnuplot, const std::string& file, const std::string& title,
                  const std::vector<Panel>& panels);

}  // namespace weft::bench
