#include "bench/plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bench/text.h"

namespace weft::bench {
namespace {

/// A string in gnuplot's single quotes, where only the quote itself needs doubling.
std::string quoted(const std::string& plain) {
  std::string result = "'";
  for (const char letter : plain) result += letter == '\'' ? "''" : std::string(1, letter);
  return result + "'";
}

std::string panel_script(const Panel& panel, std::size_t number) {
  std::string script;
  std::string plot = "plot ";
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    const std::string data = text("$curve_%zu_%zu", number, i);
    script += data + " << END\n";
    for (const auto& [x, y] : panel.curves[i].points) script += text("%.17g %.17g\n", x, y);
    script += "END\n";
    plot += (i > 0 ? ", " : "") + data + " using 1:2 with linespoints pt 7 ps 0.5 lw 2 title " +
            quoted(panel.curves[i].name);
  }
  script += panel.logarithmic ? "set logscale y\nset yrange [*:*]\n" : "unset logscale y\nset yrange [0:*]\n";
  return script + "set ylabel " + quoted(panel.y_title) + "\n" + plot + "\n";
}

std::string whole_script(const std::string& file, const std::string& title, const std::vector<Panel>& panels) {
  std::string script = text("set terminal svg size %zu,480 background rgb 'white' noenhanced\n", 640 * panels.size());
  script += "set output " + quoted(file) + "\nset grid\nset key top left\nset logscale x 2\n";
  script += "set format x '%.0b%B'\nset xlabel 'message size (B)'\n";
  script += text("set multiplot layout 1,%zu title ", panels.size()) + quoted(title) + "\n";
  for (std::size_t i = 0; i < panels.size(); ++i) script += panel_script(panels[i], i);
  return script + "unset multiplot\n";
}

}  // namespace

Status write_plot(const std::string& gnuplot, const std::string& file, const std::string& title,
                  const std::vector<Panel>& panels) {
  const std::string script = whole_script(file, title, panels);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Code::kSystem, errno, text("pipe failed: %s", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  char name[] = "gnuplot";
  char* arguments[] = {name, nullptr};
  pid_t child = 0;
  const int rc = posix_spawn(&child, gnuplot.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  bool complete = rc == 0;
  for (std::size_t sent = 0; complete && sent < script.size();) {
    const ssize_t wrote = write(ends[1], script.data() + sent, script.size() - sent);
    complete = wrote > 0;
    if (complete) sent += static_cast<std::size_t>(wrote);
  }
  close(ends[1]);
  if (rc != 0) return fail(Code::kSystem, rc, text("%s cannot be started: %s", gnuplot.c_str(), std::strerror(rc)));
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) return fail(Code::kSystem, "gnuplot could not draw " + file + "; its message is above");
  return {};
}

}  // namespace weft::bench
