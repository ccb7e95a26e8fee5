// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is chosen in host memory on one host, by the built-in constants: a change of formula that is not meant to choose
// otherwise there shows here. A change that is meant to says so by the text that the failure prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "tune/chooser.h"
#include "tune/model.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;

// Much like exec::cpu::ChunkRules, which a test of this folder does not see: whatever a footprint says has its effect.
std::size_t ChunkBytes(const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference, int channels) {
  const auto slots = static_cast<std::size_t>(std::max(footprint.link_slots, 2));
  if (protocol == proto::Protocol::kLl) return 16384 / slots;
  if (protocol == proto::Protocol::kLl128) return 65536 / slots;
  const std::size_t share = (std::size_t{6} << 20) / static_cast<std::size_t>(footprint.window * channels);
  const std::size_t pool = std::clamp<std::size_t>(share / 64 * 64, 64, 131072);
  if (!by_reference || footprint.forwards) return pool;
  return Reduces(footprint.collective) ? std::min<std::size_t>(pool, 65536) : std::size_t{1} << 20;
}

struct Host {
  int ranks, cpus, channels;
  bool can_refer;
};

Chooser Make(const Host& host) {
  Result<Chooser> chooser = Chooser::Create(
      {.ranks = host.ranks,
       .cpus = host.cpus,
       .can_refer = host.can_refer,
       .max_channels = host.channels,
       .chunk_bytes = ChunkBytes,
       .transfer_chunk_bytes = [](proto::Protocol protocol, bool by_reference) -> std::size_t {
         return by_reference ? std::size_t{1} << 20 : protocol == proto::Protocol::kSimple ? 131072 : 8192;
       }});
  return *chooser;
}

Choice Choose(Chooser& chooser, Collective collective, std::size_t bytes) {
  return collective == Collective::kSendRecv ? chooser.ChooseTransfer(bytes) : *chooser.Choose(collective, bytes);
}

// From which size on which choice is best: a line for each collective.
std::string Crossovers(const Host& host) {
  Chooser chooser = Make(host);
  std::string text;
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    std::string line = fmt::format("{} on {} {}:", host.ranks, host.cpus, Name(collective)), before;
    for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 2) {
      const std::string choice = ToString(Choose(chooser, collective, bytes));
      if (choice != before) line += fmt::format("{} {} {}", before.empty() ? "" : ";", bytes, choice);
      before = choice;
    }
    text += line + "\n";
  }
  return text;
}

constexpr std::string_view kExpected = R"(
2 on 64 all_reduce: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple; 65536 two_shot Simple
2 on 64 all_gather: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 reduce_scatter: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 broadcast: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 reduce: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 gather: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 scatter: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 all_to_all: 8 one_shot LL; 128 one_shot LL128; 256 one_shot Simple
2 on 64 send_recv: 8 pairwise LL128; 256 pairwise Simple
2 on 64 barrier: 8 recursive_doubling LL; 128 recursive_doubling LL128; 256 recursive_doubling Simple
8 on 64 all_reduce: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple; 8192 two_shot Simple
8 on 64 all_gather: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple
8 on 64 reduce_scatter: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple
8 on 64 broadcast: 8 tree LL; 64 tree LL128; 256 tree Simple; 1024 one_shot Simple
8 on 64 reduce: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple; 4096 two_shot Simple
8 on 64 gather: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple; 262144 one_shot Simple, by reference
8 on 64 scatter: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple; 131072 one_shot Simple, by reference
8 on 64 all_to_all: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple
8 on 64 send_recv: 8 pairwise LL128; 256 pairwise Simple
8 on 64 barrier: 8 one_shot LL; 32 recursive_doubling LL; 128 recursive_doubling LL128; 256 recursive_doubling Simple; 2097152 tree Simple
8 on 2 all_reduce: 8 one_shot LL; 64 one_shot LL128; 256 one_shot Simple; 16384 two_shot Simple
8 on 2 all_gather: 8 one_shot LL; 64 one_shot LL128; 256 one_shot Simple
8 on 2 reduce_scatter: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple
8 on 2 broadcast: 8 one_shot LL; 256 one_shot LL128; 1024 one_shot Simple
8 on 2 reduce: 8 one_shot LL; 128 one_shot LL128; 512 one_shot Simple; 1048576 two_shot Simple
8 on 2 gather: 8 one_shot LL; 128 one_shot LL128; 512 one_shot Simple
8 on 2 scatter: 8 one_shot LL; 128 one_shot LL128; 512 one_shot Simple
8 on 2 all_to_all: 8 one_shot LL; 32 one_shot LL128; 128 one_shot Simple
8 on 2 send_recv: 8 pairwise LL128; 256 pairwise Simple
8 on 2 barrier: 8 one_shot LL; 64 one_shot LL128; 256 one_shot Simple; 32768 recursive_doubling Simple; 65536 tree Simple
)";

TEST(HostChoices, CrossoversOnOneHost) {
  std::string text = "\n";
  for (const Host& host : {Host{2, 64, 1, true}, Host{8, 64, 1, true}, Host{8, 2, 1, false}}) text += Crossovers(host);
  EXPECT_EQ(text, kExpected) << text;
}

// All of what is chosen but the time that is predicted for it, which may differ in its last bit between compilers.
TEST(HostChoices, SweepOnOneHost) {
  std::string all;
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64}) {
    for (const Host& host : {Host{ranks, 64, 2, true}, Host{ranks, 64, 1, false}, Host{ranks, 2, 2, true}}) {
      Chooser chooser = Make(host);
      for (int c = 0; c < kCollectives; ++c) {
        for (std::size_t bytes = 1; bytes <= kLargest; bytes = bytes * 7 / 3 + 1) {
          all += ToString(Choose(chooser, static_cast<Collective>(c), bytes)) + "\n";
        }
      }
    }
  }
  EXPECT_EQ(Fnv1a(all), 14454614526305033078u) << "something else is chosen somewhere";
}

}  // namespace
}  // namespace tutti::tune
