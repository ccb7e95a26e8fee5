// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_TOPOLOGY_XML_H_
#define TUTTI_TOPO_TOPOLOGY_XML_H_

// NCCL's topology files (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), and RCCL's.
//
//   <system version="1" name>                    version 2: RCCL's, with gcn and xgmi
//     <cpu host_hash numaid affinity arch vendor familyid modelid>       a NUMA node
//       <pci busid class vendor device subsystem_vendor subsystem_device link_speed link_width>
//         <pci ...>                              under a switch; a device holds gpu or nic instead
//           <gpu dev sm rank gdr mlopart gcn arch>
//             <nvlink target count tclass/>      to a GPU by its busid, an NVSwitch or a CPU; in version 2 also <xgmi>
//             <c2c bw count/>                    MB/s of a line
//           <nic>
//             <net name dev latency speed port guid maxconn gdr coll rail plane/>     us, Mbit/s
//         <pcilink target/>                      between parts of one switch
//       <nic>                                    a card that is no PCI device
//
// What NCCL's parser refuses is taken: any number of elements, tabs, declarations, long values, several blanks.

#include <string>
#include <string_view>
#include <vector>

#include "topo/graph.h"
#include "tutti/status.h"

namespace tutti::topo {

struct TopologyXml {
  Graph graph;
  // What was passed over, assumed or doubtful, a sentence each that begins with file, line and column.
  std::vector<std::string> notes;
};

// `where` names the file. Fails, with line, column and reason, for what is no such file: no XML, another version, an
// element where it cannot be, a number that is none or absurd, two GPUs or cards of a host with the same bus id, more
// than 256 NUMA nodes of a host. Takes O(n log n) for n bytes. Rates are those of rates.h. What is not plain:
// * A host is what has one host_hash, which becomes its name.
// * A pci element with neither gpu nor nic is a switch, or by its class a GPU or a card, as in files that clouds
//   publish. Others are passed over.
// * GPUs without a number get the first free ones in the order of their bus ids, as NVML numbers them.
// * All NVSwitches of a host are one. Several hosts of a file that have one are of one NVLink domain, and joined.
// * Both ends of an NVLink say its count; the lower one holds. A count of 0 becomes a link of rate 0: it is dead. Links
//   to GPUs that the file does not have are passed over: NCCL keeps them when a job uses some of a host's GPUs.
// * A GPU should have as many NVLinks as the best of its kind in the host (Gpu::nvlinks_expected): those that have any,
//   and all where an NVSwitch joins them. Where all are dead, as many as MostNvLinks says.
// * Several gpu elements of one device are ranks that share it, and one node; partitions (mlopart) are nodes of their
//   own, and share its NVLinks and C2C.
// * AMD's GPUs have their architecture as name, and sm 0: the sm of their files counts compute units.
Result<TopologyXml> ReadTopologyXml(std::string_view text, const std::string& where);

// One host as NCCL 2.28 and later read it, or in version 2, where it has AMD's GPUs. NCCL reads 256 elements at most.
// * GPUs without a rank get one in the order of their numbers, since NCCL passes over those that have none.
// * Devices without a bus id get one that no machine has, as in files of clouds.
// * Where a link's best speed and width are known the file says those that the graph counts with, as when it sleeps.
// Sockets, measured rates, names and uuids of GPUs have no place in such a file. What no NUMA node reaches is left out.
std::string WriteTopologyXml(const Graph& graph, int host);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_TOPOLOGY_XML_H_
