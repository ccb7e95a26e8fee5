// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_RANK_PROFILE_H_
#define TUTTI_COMM_AGREE_RANK_PROFILE_H_

// What each rank tells the others when they meet, and how their settings are compared.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings_registry.h"
#include "tune/machine.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::comm {

// The cost model's constants and the processors of rank 0 hold for all, so that all choose alike.
struct RankProfile {
  int cpus = 1;
  std::uint64_t warnings = 0;  // hash of Settings::warnings
  bool machine_known = false;  // the constants were stored; else they are measured once all are connected
  tune::Machine machine;
  std::string settings;  // those that ranks compare and that are not the default: "NAME=value\n" each
};

inline constexpr std::size_t kMostSettingsBytes = 4096;

// Fails where the settings are longer than kMostSettingsBytes.
Result<RankProfile> MakeProfile(const Settings& settings, const std::optional<tune::Machine>& machine, int cpus);
std::vector<std::byte> Encode(const RankProfile& profile);
// Fails for what another build of Tutti has sent, whose numbers may mean something else.
Result<RankProfile> ParseProfile(std::span<const std::byte> payload);

// Takes over what rank 0 decides for all.
void TakeFromRankZero(std::string_view their_settings, Settings& settings);

// Compares the settings of all ranks.
class SettingsComparison {
 public:
  // own: the settings of this rank.
  explicit SettingsComparison(std::string_view own);
  // Call it once for each rank, in rank order. Whether all so far agree with this rank in what they must.
  bool Add(std::string_view settings);
  // The ranks that differ where they must not, with variables, values and ranks in one sentence. The same on all ranks.
  Status Check() const;
  // What else differs, one sentence each.
  std::vector<std::string> Warnings() const;

 private:
  // "is 5 on ranks 0-2 and 7 on rank 3"; empty where all are alike.
  std::string Describe(const Setting& setting) const;

  std::map<std::string, std::vector<int>, std::less<>> ranks_;  // by text of settings; nearly always one
  int count_ = 0;
  bool agree_ = true;
  std::string demands_;  // this rank's values of what must be alike
};

namespace internal {
// "rank 3", "ranks 0-2,5"; at most 8 stretches. REQUIRES: ascending, at least one.
std::string RankList(std::span<const int> ranks);
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_RANK_PROFILE_H_
