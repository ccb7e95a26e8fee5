// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/loggops.h"

#include <algorithm>

namespace tutti::sim {
namespace {

Time Ps(double ns) { return static_cast<Time>(ns * 1000 + 0.5); }

// Of all bytes but the first one.
Time ForBytes(double ps, std::uint64_t bytes) {
  return bytes == 0 ? 0 : static_cast<Time>(ps * static_cast<double>(bytes - 1) + 0.5);
}

}  // namespace

LogGopsRanks::LogGopsRanks(const LogGops& model, int ranks)
    : latency_(Ps(model.latency_ns)),
      overhead_(Ps(model.overhead_ns)),
      gap_(Ps(model.gap_ns)),
      gap_per_byte_(model.gap_ns_per_byte * 1000),
      overhead_per_byte_(model.overhead_ns_per_byte * 1000),
      eager_bytes_(model.eager_bytes),
      ranks_(static_cast<std::size_t>(ranks)) {}

Time LogGopsRanks::MaySend(int rank) const {
  const Rank& sender = ranks_[static_cast<std::size_t>(rank)];
  return std::max(sender.core, sender.sending);
}

bool LogGopsRanks::Send(int rank, std::uint64_t bytes, Time now, Time& time) {
  time = MaySend(rank);
  if (time > now) return false;
  Rank& sender = ranks_[static_cast<std::size_t>(rank)];
  sender.core = now + overhead_ + ForBytes(overhead_per_byte_, bytes);
  sender.sending = now + gap_ + ForBytes(gap_per_byte_, bytes);
  time = now + overhead_ + latency_;
  return true;
}

bool LogGopsRanks::Receive(int rank, std::uint64_t bytes, Time now, Time& time) {
  Rank& receiver = ranks_[static_cast<std::size_t>(rank)];
  time = std::max(receiver.core, receiver.receiving);
  if (time > now) return false;
  receiver.core = now + overhead_ + ForBytes(std::max(overhead_per_byte_, gap_per_byte_), bytes);
  receiver.receiving = now + gap_ + ForBytes(gap_per_byte_, bytes);
  time = receiver.core;
  return true;
}

void LogGopsRanks::Match(int sender, std::uint64_t bytes, Time now) {
  if (bytes <= eager_bytes_) return;
  Rank& rank = ranks_[static_cast<std::size_t>(sender)];
  rank.core = std::max(rank.core, now);
  rank.sending = std::max(rank.sending, now);
}

}  // namespace tutti::sim
