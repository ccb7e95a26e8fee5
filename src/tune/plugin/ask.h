// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_ASK_H_
#define TUTTI_TUNE_PLUGIN_ASK_H_

// What a tuner plugin makes of ways to do a collective. NCCL chooses among 7 algorithms with 3 protocols, by a table of what each
// costs; Tutti has more algorithms, several of which may be what NCCL calls by one name, and some that it has no name for.
//
//   our ways   -- the best of those with one name and protocol stands for them -->  the table  -- the plugin changes it -->
//   the least of what it has changed and of what costs as predicted  -->  one of our ways
//
// What the plugin leaves as it is changes nothing: ways without a name take part with their predictions. Ways that would not be
// chosen unasked, because they fold in an order of their own, are in the table too and count where the plugin has changed their cost:
// that asks for them, as NCCL_ALGO does.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "proto/protocol.h"
#include "tune/plugin/interface.h"

namespace tutti::tune::plugin {

struct Way {
  std::string_view nccl_name;  // algo::Entry::nccl_name; empty: NCCL has none
  proto::Protocol protocol = proto::Protocol::kSimple;
  int algorithm = 0;  // any number: ways with the same one and the same protocol differ in channels and details
  int channels = 1;
  double us = 0;  // predicted
  enum class Taken : std::uint8_t { kUnasked, kOnRequest } taken = Taken::kUnasked;
};

struct Answer {
  std::size_t way = 0;     // an index into the ways
  int channels = 0;        // that the plugin asks for, within the limits; 0: it does not say
  bool had_a_say = false;  // whether the plugin has changed anything that counts
};

struct ChannelLimits {
  int least = 1, most = 1;
};

// Lets a plugin change costs and a number of channels, which is 0 before: Tuner::Ask. False: nothing that it wrote counts.
using Asked = std::function<bool(CostTable& table, int& channels)>;

// The least, as NCCL finds it: costs below 0 and those that are no number are passed over, and of equals the first of the table is taken.
// If nothing is left it is the first way. Where a number of channels is asked for and the way that was found exists with it, that
// one is taken. REQUIRES: ways, of which the first is taken unasked and the best of those.
Answer Ask(std::span<const Way> ways, ChannelLimits limits, const Asked& asked);

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_ASK_H_
