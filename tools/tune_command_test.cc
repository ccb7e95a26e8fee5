// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_command.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::tools {
namespace {

Result<TuneChoice> Choose(Collective, std::size_t bytes) {
  const double us = 1 + static_cast<double>(bytes) / 1e4;
  if (bytes <= 1024) return TuneChoice{.algorithm = "one_shot", .protocol = "LL", .predicted_us = us};
  return TuneChoice{.algorithm = "ring", .protocol = "Simple", .channels = 2, .predicted_us = us};
}

TEST(FormatChoices, HasALineForEverySize) {
  constexpr Collective kOne[] = {Collective::kAllReduce};
  const std::string text = FormatChoices(kOne, 4, Detail::kEverySize, Choose);
  EXPECT_TRUE(text.starts_with("all_reduce, 4 ranks\n                 size  algorithm           protocol  channels  "));
  EXPECT_NE(text.find("                  8 B  one_shot            LL               1       1.00\n"), std::string::npos);
  EXPECT_NE(text.find("                1 GiB  ring                Simple           2  107375.18\n"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 28);
}

TEST(FormatChoices, JoinsSizesWithTheSameChoice) {
  constexpr Collective kTwo[] = {Collective::kAllReduce, Collective::kBroadcast};
  const std::string text = FormatChoices(kTwo, 2, Detail::kRanges, Choose);
  EXPECT_NE(text.find("        8 B - 1 KiB  one_shot            LL               1       1.00       1.10\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n\nbroadcast, 2 ranks\n"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 * (2 + 2) + 1);
}

TEST(FormatChoices, SaysWhyThereIsNone) {
  constexpr Collective kOne[] = {Collective::kScatter};
  const auto none = [](Collective, std::size_t) -> Result<TuneChoice> {
    return Status(Code::kInvalidUsage, "NCCL_ALGO leaves nothing");
  };
  EXPECT_NE(FormatChoices(kOne, 2, Detail::kEverySize, none).find("8 B  NCCL_ALGO leaves nothing\n"),
            std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
