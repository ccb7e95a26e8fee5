// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the rank that gathers says of ranks that were told something else, have not come, or take nothing.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "comm/meet/bootstrap_gatherer.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

int ParentOf(int position) { return (position - 1) / static_cast<int>(kMostChildren); }

}  // namespace

std::string Gatherer::WhyMissing() const {
  std::string why =
      "Likely causes: not started, too slow, another id, another host or network name space; or a job with this id has "
      "met already";
  if (strangers_ > 0) why += fmt::format("; {} connections were dropped that did not know the secret", strangers_);
  if (!earlier_.empty()) why += "; earlier " + earlier_;
  if (hosts_ != nullptr) why += "; " + hosts_->Describe();
  return why;
}

// Who was told what, where not all were told the same. The peer is the first rank of the smallest party.
Status Gatherer::Disagreement() const {
  std::string parties;
  int culprit = -1;
  std::size_t smallest = SIZE_MAX;
  for (auto [ranks, believers] : claims_) {
    std::ranges::sort(believers);
    believers.erase(std::unique(believers.begin(), believers.end()), believers.end());
    parties += fmt::format("{}{} ({})", parties.empty() ? "" : ", ", ranks, NamedRanks(believers));
    if (believers.size() < smallest) culprit = believers.front();
    smallest = std::min(smallest, believers.size());
  }
  return Status(
      Code::kInvalidUsage,
      fmt::format("the ranks were told different numbers of ranks: {}; give all the same number, and each job "
                  "an id of its own",
                  parties),
      culprit);
}

Status Gatherer::Late(const std::vector<int>& culprits, const std::string& what, const std::string& why) const {
  return Status(Code::kTimeout,
                fmt::format("the ranks did not meet within {} ms: {} {}. {}. See the output of {}, or raise "
                            "TUTTI_INIT_TIMEOUT_MS",
                            (sys::NowNs() - attendance_.begin_ns) / sys::kNsPerMs, what, NamedRanks(culprits), why,
                            culprits.size() == 1 ? "that rank" : "those ranks"),
                culprits.empty() ? -1 : culprits.front());
}

std::vector<int> Gatherer::MissingRanks() const {
  std::vector<bool> elsewhere(options_.ranks);
  if (hosts_ != nullptr) {
    for (const int rank : hosts_->Known()) {
      if (rank < options_.ranks) elsewhere[rank] = true;
    }
  }
  std::vector<int> missing;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (!seats_[rank].taken && !elsewhere[rank]) missing.push_back(rank);
  }
  return missing;
}

// Those that have not got everything although their parents in the tree have.
std::vector<int> Gatherer::UnreadyRanks() const {
  std::vector<bool> ready(options_.ranks);
  ready[options_.rank] = true;
  for (const Caller& caller : callers_) ready[caller.rank] = caller.stage == Stage::kReady;
  std::vector<int> unready;
  for (int position = 1; position < Positions(); ++position) {
    if (!ready[RankAt(position)] && ready[RankAt(ParentOf(position))]) unready.push_back(RankAt(position));
  }
  std::ranges::sort(unready);
  return unready;
}

std::vector<int> Gatherer::StoppedRanks() const {
  std::vector<int> stopped;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const Introduction& member = seats_[rank].introduction;
    const std::optional<sys::ProcessStat> stat =
        sys::ReadProcessStat(attendance_.Known(member.process, member.process_namespace).pid);
    if (stat && (stat->state == 'T' || stat->state == 't')) stopped.push_back(rank);
  }
  return stopped;
}

Status Gatherer::NotTaken() const {
  const std::vector<int> stopped = StoppedRanks();
  const std::string what = fmt::format("all {} have come, but the data of the others was not taken by", options_.ranks);
  if (!stopped.empty()) return Late(stopped, what, "A signal has stopped it: SIGCONT lets it go on");
  return Late(UnreadyRanks(), what, "Likely cause: starved of CPU time");
}

}  // namespace tutti::comm
