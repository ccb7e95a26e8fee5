// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/gpu_models.h"

#include <gtest/gtest.h>

#include "topo/rates.h"

namespace tutti::topo {
namespace {

TEST(GpuModels, AreFoundInAnyLetters) {
  ASSERT_TRUE(FindGpuModel("rtx-pro-6000").has_value());
  EXPECT_EQ(FindGpuModel("rtx-pro-6000")->name, "RTX-PRO-6000");
  EXPECT_EQ(FindGpuModel("H200")->memory_gb, 141);
  EXPECT_FALSE(FindGpuModel("H2000").has_value());
  EXPECT_FALSE(FindGpuModel("").has_value());
}

// What rates.h knows of compute capabilities and this table of models must not contradict each other.
TEST(GpuModels, AgreeWithTheRates) {
  for (const GpuModel& model : GpuModels()) {
    EXPECT_EQ(FindGpuModel(model.name)->sm, model.sm);
    const int most = MostNvLinks(model.sm);
    EXPECT_TRUE(most == 0 || model.nvlinks <= most) << model.name;
    EXPECT_GT(PciRateOf(PciSpeedText(model.pci_generation), 16).gb_per_s, 0) << model.name;
    EXPECT_GT(UsualPciGeneration(model.sm), 0) << model.name;
  }
  EXPECT_EQ(UsualPciGeneration(70), 3);
  EXPECT_EQ(UsualPciGeneration(90), 5);
  EXPECT_EQ(UsualPciGeneration(33), 0);
}

TEST(GpuModels, GenerationsAreWrittenAsSysfsDoes) {
  EXPECT_EQ(PciSpeedText(1), "2.5 GT/s PCIe");
  EXPECT_EQ(PciSpeedText(5), "32.0 GT/s PCIe");
  EXPECT_EQ(PciSpeedText(0), "");
  EXPECT_EQ(PciSpeedText(8), "");
  for (int generation = 1; generation <= 7; ++generation) {
    EXPECT_TRUE(PciRateOf(PciSpeedText(generation), 16).speed_known) << generation;
  }
}

}  // namespace
}  // namespace tutti::topo
