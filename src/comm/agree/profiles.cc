// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/profiles.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "comm/agree/machine_file.h"
#include "comm/agree/rank_profile.h"
#include "comm/identity/settings_source.h"

namespace tutti::comm {

struct Profiles::State {
  State(int rank, RankProfile profile) : rank(rank), own(std::move(profile)), comparison(own.settings) {}

  const int rank;
  RankProfile own;
  RankProfile first;  // rank 0's
  SettingsComparison comparison;
};

Profiles::Profiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
Profiles::Profiles(Profiles&&) noexcept = default;
Profiles& Profiles::operator=(Profiles&&) noexcept = default;
Profiles::~Profiles() = default;

Result<Profiles> Profiles::Create(int rank, const Settings& settings, int cpus) {
  const Result<tune::TuningFile> stored = LoadTables(settings);
  if (!stored.ok()) return stored.status();
  Result<RankProfile> own = MakeProfile(settings, stored->host, cpus);
  if (!own.ok()) return own.status();
  return Profiles(std::make_unique<State>(rank, std::move(*own)));
}

std::vector<std::byte> Profiles::Encode() const { return comm::Encode(state_->own); }

Result<bool> Profiles::Add(int rank, std::span<const std::byte> encoded) {
  Result<RankProfile> theirs = ParseProfile(encoded);
  if (!theirs.ok()) {
    return Status(theirs.status().code(),
                  fmt::format("rank {} cannot work with rank {}: {}", state_->rank, rank, theirs.status().message()),
                  rank);
  }
  const bool agree = state_->comparison.Add(theirs->settings);
  if (rank == 0) state_->first = std::move(*theirs);
  return agree;
}

Status Profiles::Check() const { return state_->comparison.Check(); }

void Profiles::Report(const Settings& settings) const {
  if (state_->rank == 0 || state_->own.warnings != state_->first.warnings) ReportSettings(settings);
  if (state_->rank != 0) return;
  for (const std::string& warning : state_->comparison.Warnings()) TUTTI_WARN("{}", warning);
}

void Profiles::TakeFromRankZero(Settings& settings) const { comm::TakeFromRankZero(state_->first.settings, settings); }

int Profiles::cpus() const { return state_->first.cpus; }

const tune::Machine* Profiles::machine() const {
  return state_->first.machine_known ? &state_->first.machine : nullptr;
}

}  // namespace tutti::comm
