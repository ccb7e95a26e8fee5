// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_setup.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tune/gpu_machine.h"

namespace tutti::tools {
namespace {

SourcedTopology Machine(TopoSource source, int hosts) {
  source.hosts = hosts;
  return *ReadSource(source);
}

TopoSource Named(const std::string& machine) { return {.file = {}, .machine = machine}; }

TopoSource FourH200() {
  const std::string file = testing::TempDir() + "four_h200.txt";
  std::ofstream(file) << "name four H200\n"
                         "gpu H200\n"
                         "nvlink switch\n"
                         "pci gen5 x16\n"
                         "nic 400 Gbit/s\n"
                         "host\n"
                         "  2 sockets\n"
                         "    2 switches\n"
                         "      1 gpu\n"
                         "      1 nic\n";
  return {.file = file, .machine = {}};
}

// The tables differ in the time of a hop by LL, or in how fast they fold.
TEST(SimSetup, ConstantsAreThoseOfTheTableThatCommunicatorsTake) {
  const struct {
    TopoSource source;
    std::string table;
  } cases[] = {
      {FourH200(), "h200_4_ranks"}, {Named("hgx-h100"), "generic"}, {Named("rtx-4090-x8"), "generic_host_memory"}};
  for (const auto& [source, table] : cases) {
    const tune::GpuMachine& expected = tune::ShippedGpuTable(table).machine;
    for (const int hosts : {1, 3}) {  // the table goes by the ranks of one host
      const SourcedTopology topology = Machine(source, hosts);
      const Result<SimSetup> setup = tools::SetUp(topology);
      ASSERT_TRUE(setup.ok()) << setup.status().ToString();
      EXPECT_EQ(setup->options.costs.fold_gb_per_s, expected.fold_gb_per_s) << table;
      EXPECT_EQ(setup->options.costs.ways[0].hop_us, expected.ways[0].hop_us) << table;
    }
  }
}

}  // namespace
}  // namespace tutti::tools
