// weft: the command line tool.
#include <CLI/CLI.hpp>

#include "plugin/tool/topo.h"
#include "topology/rail_groups.h"

int main(int argc, char** argv) {
  using namespace weft::tool;
  CLI::App app("Weft, a native NCCL network plugin over libfabric.");
  app.name("weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.footer("Exit status: 0 all well, 1 something could not be read or written, 2 bad usage.");

  TopoOptions options;
  CLI::App* topo = app.add_subcommand("topo", "Show this machine's GPUs and NICs, and the devices Weft makes of them");
  bool json = false, nccl_xml = false;
  auto* as_json = topo->add_flag("--json", json, "Print JSON");
  topo->add_flag("--nccl-xml", nccl_xml, "Print a topology file for NCCL (NCCL_TOPO_FILE)")->excludes(as_json);
  topo->add_option("--svg", options.svg, "Also draw the machine into this SVG file")->type_name("FILE");
  auto* from = topo->add_option("--from", options.from, "Show the machine that lstopo saved in this XML file");
  topo->add_option("--root", options.root, "Read this machine's /sys below this folder")
      ->excludes(from)
      ->type_name("DIR")
      ->capture_default_str();
  from->type_name("FILE");
  topo->add_option("--rails", options.rails, "NICs of one device (default: as the machine says)")
      ->check(CLI::Range(1, weft::topology::GroupOptions{}.max_rails));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  options.form = json ? Form::kJson : nccl_xml ? Form::kNcclXml : Form::kText;
  return run_topo(options);
}
