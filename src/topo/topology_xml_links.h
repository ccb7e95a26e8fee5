// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_TOPOLOGY_XML_LINKS_H_
#define TUTTI_TOPO_TOPOLOGY_XML_LINKS_H_

// The links of a topology file (topology_xml.h) that are not those of the PCI tree, and that can be read only when all
// devices are known.

#include <map>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/graph.h"
#include "topo/xml_file.h"
#include "tutti/status.h"

namespace tutti::topo {

// The nodes that the elements of a file have become.
struct XmlDevices {
  struct Element {
    int node = 0;
    pugi::xml_node xml;
  };
  using BusId = std::pair<int, std::string>;  // with its host
  std::vector<Element> gpus, switches;
  std::map<std::pair<int, int>, int> numa_nodes;  // by host and number
  std::map<BusId, std::vector<int>> gpus_at;      // several are partitions of one
  std::map<BusId, int> nics_at, switches_at;
};

// In small letters, and without the zeros before a domain of four digits; empty where it is none.
std::string BusIdFrom(std::string_view text);

// Whether a PCI class is that of a GPU: NVIDIA's begin with 0x03, AMD's also with 0x12 or 0x13.
bool IsGpuClass(std::string_view class_id);

// Adds NVLinks and what they lead to, what is expected of them, C2C, and links between PCI switches. Fails as
// ReadTopologyXml.
Status AddXmlLinks(const XmlDevices& devices, XmlFile& file, Graph& graph);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_TOPOLOGY_XML_LINKS_H_
