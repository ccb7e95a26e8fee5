// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu_machine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "tune/shipped_machines.h"

namespace tutti::tune {
namespace {

GpuSituation H200(int ranks) {
  return {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = ranks};
}

TEST(GpuMachine, ClassesFollowFromGpusAndRanks) {
  const auto name = [](const GpuSituation& situation) { return FindGpuTable({}, situation).name; };
  for (const int ranks : {1, 2}) EXPECT_EQ(name(H200(ranks)), "h200_2_ranks");
  for (const int ranks : {3, 4}) EXPECT_EQ(name(H200(ranks)), "h200_4_ranks");
  for (const int ranks : {5, 8, 16, 72}) EXPECT_EQ(name(H200(ranks)), "h200_many_ranks");
  GpuSituation other = H200(4);
  other.gpu = "";  // GPUs of several kinds
  EXPECT_EQ(name(other), "generic");
  other = H200(4);
  other.multiprocessors = 60;  // a part of one
  EXPECT_EQ(name(other), "generic");
  other = H200(2);
  other.staged = true;
  EXPECT_EQ(name(other), "generic_host_memory");
  EXPECT_EQ(name({}), "generic");
}

TEST(GpuMachine, AStoredTableComesFirstWhereItCoversTheSituation) {
  GpuTable stored = ShippedGpuTable("h200_2_ranks");
  stored.name = "mine";
  stored.ranks_per_gpu = 2;
  GpuSituation situation = H200(2);
  EXPECT_EQ(FindGpuTable(std::span(&stored, 1), situation).name, "h200_2_ranks");
  situation.ranks_per_gpu = 2;
  EXPECT_EQ(FindGpuTable(std::span(&stored, 1), situation).name, "mine");
}

TEST(GpuMachine, EveryShippedTableSaysWhatItRead) {
  std::set<std::string> names;
  for (const GpuTable& table : ShippedGpuTables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    const std::string text = table.ToText();
    const Result<std::vector<TableText>> split = SplitTables(text);
    ASSERT_TRUE(split.ok());
    const Result<GpuTable> back = GpuTable::Parse(split->front());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->ToText(), text);
  }
  EXPECT_EQ(names, (std::set<std::string>{"h200_2_ranks", "h200_4_ranks", "h200_many_ranks", "generic",
                                          "generic_host_memory"}));
}

// The comments of the shipped texts, which people read, say the same as the marks that the fit goes by.
TEST(GpuMachine, ShippedTextsSayWhichConstantsAreFitted) {
  for (const std::string_view text : ShippedMachines()) {
    const std::size_t fitted = text.find(kFitted), rest = text.find(kNotFitted);
    ASSERT_TRUE(fitted < rest && rest != std::string_view::npos) << text;
    GpuTable table;
    int count = 0;
    for (const Constant& constant : ConstantsOf(table)) {
      const std::size_t at = text.find("\n" + std::string(constant.name) + " ");
      ASSERT_NE(at, std::string_view::npos) << constant.name;
      EXPECT_EQ(constant.fitted, fitted < at && at < rest) << constant.name;
      count += constant.fitted ? 1 : 0;
    }
    EXPECT_EQ(count, 36);
  }
  const std::string written = ShippedGpuTable("generic").ToText();
  EXPECT_LT(written.find(kFitted), written.find("start_us"));
  EXPECT_LT(written.find("copy_engines_gb_per_s"), written.find(kNotFitted));
}

// Every constant has a place of its own, and every place of a machine is a constant.
TEST(GpuMachine, ATableHasAllOfAMachine) {
  GpuTable table;
  std::set<const void*> places;
  std::size_t bytes = 0;
  for (const Constant& constant : ConstantsOf(table)) {
    std::visit(
        [&](const auto* place) {
          EXPECT_TRUE(places.insert(place).second) << constant.name;
          const auto at = reinterpret_cast<const std::byte*>(place);
          const auto* machine = reinterpret_cast<const std::byte*>(&table.machine);
          if (at >= machine && at < machine + sizeof(table.machine)) bytes += sizeof(*place);
        },
        constant.value);
  }
  EXPECT_LE(bytes, sizeof(GpuMachine));
  EXPECT_GE(bytes + 64, sizeof(GpuMachine));  // the rest is between members
}

TEST(GpuMachine, MemoryIsOfTheGpuOrTheHost) {
  GpuTable table = ShippedGpuTable("generic");
  table.memory = "disk";
  const std::string text = table.ToText();
  EXPECT_EQ(GpuTable::Parse(SplitTables(text)->front()).status().message(),
            "the table [gpu] in line 1 of the tuning file has the memory \"disk\"; write gpu where GPUs reach each "
            "other's memory, host where they exchange data through the host's");
}

}  // namespace
}  // namespace tutti::tune
