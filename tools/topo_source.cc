// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/topo_source.h"

#include <string_view>
#include <utility>

#include "sys/os/text_file.h"
#include "topo/discover.h"
#include "topo/machine_text.h"
#include "topo/named_machines.h"
#include "topo/topology_xml.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

bool IsXml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && text[first] == '<';
}

Result<SourcedTopology> Build(const topo::Machine& machine, int hosts) {
  Result<topo::Graph> graph = topo::BuildGraph(machine, hosts);
  if (!graph.ok()) return graph.status();
  return SourcedTopology{.graph = std::move(*graph), .machine = machine};
}

// No machine is called so.
bool LooksLikeFile(std::string_view machine) {
  return machine.find('/') != std::string_view::npos || machine.find('.') != std::string_view::npos;
}

Result<SourcedTopology> ReadTopologyFile(const std::string& file, int hosts) {
  const Result<std::string> text = sys::ReadFile(file, kMostFileBytes);
  if (!text.ok()) return text.status();
  if (IsXml(*text)) {
    Result<topo::TopologyXml> xml = topo::ReadTopologyXml(*text, file);
    if (!xml.ok()) return xml.status();
    return SourcedTopology{.graph = std::move(xml->graph), .notes = std::move(xml->notes)};
  }
  const Result<topo::Machine> machine = topo::ReadMachineText(*text, file);
  if (!machine.ok()) return machine.status();
  return Build(*machine, hosts);
}

}  // namespace

void AddSource(CommandLine& line, TopoSource& source) {
  const auto file = line.Add("--file", source.file, "a machine from this file").Shown("FILE");
  line.Add("--machine", source.machine,
           "a machine by its name, as hgx-h100; an unknown one prints all names; or a file, with a dot or a slash in "
           "its name")
      .Shown("NAME")
      .Excludes(file);
  line.Add("--hosts", source.hosts, "so many hosts of --machine, or of a machine's text (default 1)")
      .Between(1, topo::kMostHosts);
}

Result<SourcedTopology> ReadSource(const TopoSource& source) {
  if (!source.file.empty()) return ReadTopologyFile(source.file, source.hosts);
  if (LooksLikeFile(source.machine)) return ReadTopologyFile(source.machine, source.hosts);
  if (!source.machine.empty()) {
    const Result<topo::Machine> machine = topo::FindMachine(source.machine);
    if (!machine.ok()) return machine.status();
    return Build(*machine, source.hosts);
  }
  Result<topo::Discovery> found = topo::Discover();
  if (!found.ok()) return found.status();
  return SourcedTopology{.graph = std::move(found->graph),
                         .peers_refused = std::move(found->peers_refused),
                         .notes = std::move(found->notes),
                         .here = true};
}

}  // namespace tutti::tools
