// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/topo_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/os/text_file.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/topo_channels.h"
#include "tools/topo_source.h"
#include "tools/topo_view.h"
#include "topo/findings.h"
#include "topo/policy.h"
#include "topo/topology_xml.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kFooter =
    "Without --file and --machine it is this host. FILE is NCCL's topology XML, or a machine's text "
    "(docs/planning.md).\n\n"
    "Examples:\n"
    "  tutti topo\n"
    "  tutti topo --tree --svg host.svg\n"
    "  tutti topo --machine hgx-h100 --hosts 4 --channels\n"
    "  NCCL_TOPO_DUMP_FILE=topo.xml ./program; tutti topo --file topo.xml\n\n"
    "Exit code: 0, 1 when it cannot be read or written, 2 for a wrong command line.";

struct Options {
  TopoSource source;
  std::string svg, xml, json, graph;
  int host = 0;
  bool tree = false, channels = false, quiet = false;
};

bool Write(const std::string& path, const std::string& text) { return WriteTextOrSay("tutti topo", path, text); }

bool WriteFiles(const Options& options, const topo::Graph& graph, const topo::PolicyOptions& policy) {
  if (!options.graph.empty()) {
    const Result<std::string> xml = ChannelsAsXml(graph, options.host, policy);
    if (!xml.ok()) fmt::print(stderr, "tutti topo: {}\n", xml.status().message());
    if (!xml.ok() || !Write(options.graph, *xml)) return false;
  }
  if (!options.svg.empty() && !Write(options.svg, DrawTopology(graph, options.host))) return false;
  if (!options.xml.empty() && !Write(options.xml, topo::WriteTopologyXml(graph, options.host))) return false;
  return options.json.empty() || Write(options.json, TopologyAsJson(graph).Dump(1) + "\n");
}

int Show(const Options& options, const SourcedTopology& topology) {
  const topo::Graph& graph = topology.graph;
  const int hosts = static_cast<int>(graph.hosts().size());
  if (options.host >= hosts) {
    return UsageError("tutti topo", fmt::format("--host {}: there are {} hosts, counted from 0", options.host, hosts));
  }
  const topo::PolicyOptions policy{.peers_refused = topology.peers_refused};
  if (!WriteFiles(options, graph, policy)) return kExitFailed;
  if (options.channels) {
    const Result<std::string> channels = FormatChannels(graph, policy);
    if (channels.ok()) fmt::print("{}", *channels);
    if (!channels.ok()) fmt::print(stderr, "tutti topo: {}\n", channels.status().message());
    return channels.ok() ? kExitOk : kExitFailed;
  }
  const bool text = options.svg.empty() && options.xml.empty() && options.json.empty() && options.graph.empty();
  if (options.tree) {
    fmt::print("{}", FormatTree(graph, options.host));
  } else if (text) {
    fmt::print("{}", FormatMatrix(graph, options.host));
  }
  if (options.quiet || !(text || options.tree)) return kExitOk;
  const std::vector<int> joined = topo::HostsJoinedByNvLinks(graph, options.host);
  const topo::HostPaths paths(graph, joined, policy);
  for (const topo::Finding& finding : topo::FindingsOf(graph, options.host, paths)) {
    fmt::print("warning: {}\n", finding.text);
  }
  for (const std::string& note : topology.notes) fmt::print("note: {}\n", note);
  return kExitOk;
}

}  // namespace

int TopoCommand(int argc, char** argv) {
  CommandLine line("Show a machine: GPUs, network cards, what joins them, and what is bad about it.", "tutti topo");
  Options options;
  line.Footer(std::string(kFooter));
  AddSource(line, options.source);
  line.Add("--host", options.host, "which host of several (default 0)").Between(0, 1 << 20);
  line.AddFlag("--tree", options.tree, "what hangs below what, with rates, instead of the matrix");
  line.AddFlag("--channels", options.channels,
               "rings and trees over all GPUs that the links let carry most, and which link binds");
  line.Add("--graph", options.graph, "write those of --host as NCCL's graph file (NCCL_GRAPH_FILE)").Shown("FILE");
  line.Add("--svg", options.svg, "draw it to this file; - is the standard output, here and below").Shown("FILE");
  line.Add("--xml", options.xml, "write it as NCCL's topology file").Shown("FILE");
  line.Add("--json", options.json, "write nodes and links as JSON").Shown("FILE");
  line.AddFlag("--no-warnings", options.quiet, "leave out warnings and notes");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  const Result<SourcedTopology> topology = ReadSource(options.source);
  if (!topology.ok()) {
    fmt::print(stderr, "tutti topo: {}\n", topology.status().message());
    return kExitFailed;
  }
  return Show(options, *topology);
}

}  // namespace tutti::tools
