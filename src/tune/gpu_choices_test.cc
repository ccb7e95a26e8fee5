// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is chosen on H200, as it was measured there to be good: a change of formula or tables that is not meant to choose
// otherwise shows here. A change that is meant to says so by the text that the failure prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/hash.h"
#include "tune/gpu_model.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 30;

GpuChooser Make(const GpuChooserOptions& options) {
  GpuChooserOptions on_h200 = options;
  on_h200.machine =
      FindGpuTable({}, {.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = options.ranks})
          .machine;
  return *GpuChooser::Create(on_h200);
}

// "12K"; sizes are quarters between powers of two.
std::string Size(std::size_t bytes) {
  for (const auto& [unit, letter] : {std::pair{30, "G"}, {20, "M"}, {10, "K"}}) {
    const std::size_t one = std::size_t{1} << unit;
    if (bytes >= one) return fmt::format("{}{}", static_cast<double>(bytes) / static_cast<double>(one), letter);
  }
  return fmt::format("{}", bytes);
}

template <typename F>
void ForEachSize(F use) {
  for (std::size_t power = 8; power <= kLargest; power *= 2) {
    for (std::size_t quarter = 0; quarter < 4; ++quarter) use(power + quarter * power / 4);
  }
}

std::string WayOf(const GpuChoice& choice) {
  const std::string_view name = algo::Get(choice.algorithm).name;
  return choice.direct ? fmt::format("{} direct", name) : fmt::format("{} {}", name, proto::Name(choice.protocol));
}

// From which size on which way is best: a line for each collective.
std::string Crossovers(int ranks) {
  GpuChooser chooser = Make({.ranks = ranks, .max_channels = 128, .max_simple_channels = 24, .direct = true});
  std::string text;
  for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
    const auto collective = static_cast<Collective>(c);
    std::string line = fmt::format("{} {}:", ranks, Name(collective)), before;
    ForEachSize([&](std::size_t bytes) {
      const std::string way = WayOf(chooser.Candidates(collective, bytes).front());
      if (way != before) line += fmt::format("{} {} {}", before.empty() ? "" : ",", Size(bytes), way);
      before = way;
    });
    text += line + "\n";
  }
  return text;
}

// Of 2 and 4 ranks as far as tests/planning/points/tutti_ways.csv goes: ways that were measured there, or that were faster with more to
// do (a reduce along the ring than other ways of a broadcast, a reduce_scatter by LL128 than an all_gather by teams). 8 and 16 ranks
// were never measured.
constexpr std::string_view kExpected = R"(
2 all_reduce: 8 one_shot LL, 96K one_shot LL128, 1.75M two_shot LL128, 24M two_shot direct
2 all_gather: 8 one_shot LL, 96K one_shot LL128, 8M one_shot direct
2 reduce_scatter: 8 one_shot LL, 96K one_shot LL128, 16M one_shot direct
2 broadcast: 8 one_shot LL, 160K one_shot LL128, 5M one_shot direct
2 reduce: 8 one_shot LL, 160K one_shot LL128, 14M one_shot direct
2 gather: 8 one_shot LL, 160K one_shot LL128, 5M one_shot direct
2 scatter: 8 one_shot LL, 160K one_shot LL128, 5M one_shot direct
2 all_to_all: 8 one_shot LL, 96K one_shot LL128, 8M one_shot direct
4 all_reduce: 8 one_shot LL, 64K one_shot LL128, 320K two_shot LL128, 16M two_shot direct
4 all_gather: 8 one_shot LL, 8K one_shot direct, 256K one_shot LL128, 2M one_shot direct
4 reduce_scatter: 8 one_shot LL, 64K one_shot LL128, 5M one_shot direct
4 broadcast: 8 one_shot LL, 32K one_shot direct, 96K ring LL128, 8M two_shot direct, 192M ring direct
4 reduce: 8 one_shot LL, 48K ring LL128, 64M ring direct
4 gather: 8 one_shot LL, 32K one_shot direct, 160K one_shot LL128, 1.25M one_shot direct
4 scatter: 8 one_shot LL, 32K one_shot direct, 160K one_shot LL128, 1.25M one_shot direct
4 all_to_all: 8 one_shot LL, 8K one_shot direct, 256K one_shot LL128, 2M one_shot direct
8 all_reduce: 8 one_shot LL, 40K two_shot LL, 448K two_shot LL128, 20M two_shot direct
8 all_gather: 8 one_shot LL, 14K one_shot direct, 192K one_shot LL128, 1.25M one_shot direct
8 reduce_scatter: 8 one_shot LL, 64K one_shot LL128, 2.5M one_shot direct
8 broadcast: 8 one_shot LL, 14K one_shot direct, 128K two_shot LL, 384K two_shot LL128, 8M two_shot direct, 320M ring direct
8 reduce: 8 one_shot LL, 32K two_shot LL, 384K two_shot LL128, 2M ring LL128, 40M ring direct
8 gather: 8 one_shot LL, 14K one_shot direct, 192K one_shot LL128, 1.25M one_shot direct
8 scatter: 8 one_shot LL, 14K one_shot direct, 192K one_shot LL128, 1.25M one_shot direct
8 all_to_all: 8 one_shot LL, 14K one_shot direct, 192K one_shot LL128, 1.25M one_shot direct
16 all_reduce: 8 one_shot LL, 20K two_shot LL, 896K two_shot LL128, 16M two_shot direct
16 all_gather: 8 one_shot direct
16 reduce_scatter: 8 one_shot LL, 56K one_shot LL128, 1.25M one_shot direct
16 broadcast: 8 one_shot direct, 56K two_shot LL, 640K two_shot direct, 1.5M two_shot LL128, 6M two_shot direct, 768M ring direct
16 reduce: 8 one_shot LL, 512 two_shot LL, 640 one_shot LL, 14K two_shot LL, 896K double_tree LL128, 1M two_shot LL128, 6M ring LL128, 80M ring direct
16 gather: 8 one_shot direct
16 scatter: 8 one_shot direct
16 all_to_all: 8 one_shot direct
)";

TEST(GpuChoices, CrossoversOnH200) {
  std::string text = "\n";
  for (const int ranks : {2, 4, 8, 16}) text += Crossovers(ranks);
  EXPECT_EQ(text, kExpected) << text;
}

// All of what is chosen but the time that is predicted for it, which may differ in its last bit between compilers.
std::string Shapes(int first_ranks, int last_ranks) {
  std::string all;
  for (int ranks = first_ranks; ranks <= last_ranks; ++ranks) {
    for (const int most : {128, 32, 8}) {
      GpuChooser chooser = Make({.ranks = ranks, .max_channels = most, .max_simple_channels = 24, .direct = true});
      for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
        for (std::size_t bytes = 8; bytes <= kLargest; bytes = bytes * 7 / 3 + 1) {
          const GpuChoice choice = chooser.Candidates(static_cast<Collective>(c), bytes).front();
          all += fmt::format("{} {} {} {}\n", WayOf(choice), choice.channels, choice.threads, choice.chunk_bytes);
        }
      }
    }
  }
  return all;
}

TEST(GpuChoices, ShapesOnH200) {
  EXPECT_EQ(Fnv1a(Shapes(2, 4)), 7460903606710783378u) << "another way, or other channels, threads or chunks";
  EXPECT_EQ(Fnv1a(Shapes(5, 16)), 1537651705971394257u) << "likewise, of what nobody has measured";
}

}  // namespace
}  // namespace tutti::tune
