// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_RENDERED_MACHINES_H_
#define TUTTI_TESTS_SUPPORT_RENDERED_MACHINES_H_

// Machines of files, as real ones describe themselves.

#include <string>
#include <utility>
#include <vector>

#include "tests/support/rendered_host.h"

namespace tutti::tests {

// An H100 and a card of 400 Gbit/s.
RenderedPci GpuDevice(const std::string& numa = "0");
RenderedPci CardDevice(const std::string& numa = "0");
// A GPU that could have 32 GT/s in a slot that has 16.
RenderedPci GpuInAnOlderSlot();

// Two sockets of 4 cores, with a NUMA node each.
void AddTwoSockets(const RenderedHost& host);

// HGX H100: four switches, two for each socket, with two GPUs and two cards each; four NVSwitches; a card for the
// house's network. `gpu_3_more`: more lines about GPU 3, as tests/topo/fake_nvml.c reads them.
void AddHgx(RenderedHost& host, const std::string& gpu_3_more = "");

// The same machine lent to a virtual machine: no switches, no NUMA nodes of devices, no NVSwitches, a link speed of the hypervisor's.
void AddVirtualHgx(RenderedHost& host);

// DGX-1: each V100 has six NVLinks, two to each of two others and one to each of two more. How many join which pair:
extern const std::vector<std::pair<std::pair<int, int>, int>> kCubeMesh;
// `state`: of the second one of those between GPUs 0 and 3; 1 is up.
void AddCubeMesh(RenderedHost& host, const std::string& state = "1");

// Two GPUs on root ports of one socket. `gpu_1_pcie`: what NVML says of the second one's link.
void AddPcieBox(RenderedHost& host, const RenderedPci& gpu_1, const std::string& gpu_1_pcie = "4 16 4 16");

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_RENDERED_MACHINES_H_
