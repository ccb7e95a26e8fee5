// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_JOINER_H_
#define TUTTI_WATCH_JOINER_H_

#include <cstdint>
#include <string>

#include "diag/evidence.h"

namespace tutti::watch {

struct FarRank;

// Joins looks of several hosts to one. What the first look has comes first, and stays as it is. Processes are told apart by host and id.
class Joiner {
 public:
  // `look` lives as long as this.
  explicit Joiner(diag::Look& look) : look_(look) {}

  void Add(const diag::Look& far);
  // What is known of a rank of which nobody tells anything.
  void AddUnheard(std::uint64_t communicator, const FarRank& who, diag::ProcessState state);
  void AddHost(const std::string& name, std::int64_t silent_ns);
  // Puts ranks into their order. Called once, at the end.
  void Finish();

 private:
  int PlaceOf(const diag::ProcessLook& process);
  // That of the ranks of a host that are there already, or one of its own.
  int IslandOf(const diag::CommunicatorLook& c, const std::string& host) const;
  // Null where the two cannot be the same.
  diag::CommunicatorLook* Find(const diag::CommunicatorLook& theirs);

  diag::Look& look_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_JOINER_H_
