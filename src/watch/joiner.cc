// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/joiner.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "watch/abroad.h"

namespace tutti::watch {
namespace {

using diag::CommunicatorLook;
using diag::RankLook;

bool Knows(const CommunicatorLook& c, int rank) {
  return std::ranges::find(c.seen, rank, &RankLook::rank) != c.seen.end();
}

}  // namespace

void Joiner::Add(const diag::Look& far) {
  std::vector<int> place_of;  // of its processes, in the joint look
  for (const diag::ProcessLook& process : far.processes) place_of.push_back(PlaceOf(process));
  for (const CommunicatorLook& theirs : far.communicators) {
    CommunicatorLook* const c = Find(theirs);
    if (c == nullptr) continue;
    for (const RankLook& rank : theirs.seen) {
      if (Knows(*c, rank.rank)) continue;
      RankLook added = rank;
      if (rank.process >= 0) {
        added.process = place_of[static_cast<std::size_t>(rank.process)];
        added.island = IslandOf(*c, look_.processes[static_cast<std::size_t>(added.process)].host);
      }
      c->seen.push_back(std::move(added));
    }
  }
}

void Joiner::AddUnheard(std::uint64_t communicator, const FarRank& who, diag::ProcessState state) {
  const auto c = std::ranges::find(look_.communicators, communicator, &CommunicatorLook::id);
  if (c == look_.communicators.end() || Knows(*c, who.rank)) return;
  const int process = PlaceOf({.host = who.host, .pid = who.pid, .state = state});
  c->seen.push_back({.rank = who.rank,
                     .process = process,
                     .island = IslandOf(*c, who.host),
                     .state = diag::RankState::kReady,
                     .records_calls = false});
}

void Joiner::AddHost(const std::string& name, std::int64_t silent_ns) {
  const auto known = std::ranges::find(look_.hosts, name, &diag::HostLook::name);
  if (known == look_.hosts.end()) {
    look_.hosts.push_back({.name = name, .silent_ns = silent_ns});
  } else {
    known->silent_ns = std::min(known->silent_ns, silent_ns);
  }
}

void Joiner::Finish() {
  for (CommunicatorLook& c : look_.communicators) std::ranges::sort(c.seen, {}, &RankLook::rank);
}

int Joiner::PlaceOf(const diag::ProcessLook& process) {
  const auto known = std::ranges::find_if(look_.processes, [&](const diag::ProcessLook& p) {
    return p.host == process.host && p.pid == process.pid && p.pid != 0;
  });
  if (known != look_.processes.end()) return static_cast<int>(known - look_.processes.begin());
  look_.processes.push_back(process);
  return static_cast<int>(look_.processes.size()) - 1;
}

int Joiner::IslandOf(const CommunicatorLook& c, const std::string& host) const {
  int free = 0;
  for (const RankLook& rank : c.seen) {
    if (rank.process >= 0 && look_.processes[static_cast<std::size_t>(rank.process)].host == host) return rank.island;
    free = std::max(free, rank.island + 1);
  }
  return free;
}

CommunicatorLook* Joiner::Find(const CommunicatorLook& theirs) {
  const auto known = std::ranges::find(look_.communicators, theirs.id, &CommunicatorLook::id);
  if (known != look_.communicators.end()) return known->ranks == theirs.ranks ? &*known : nullptr;
  CommunicatorLook added{.id = theirs.id,
                         .name = theirs.name,
                         .whole = theirs.whole,
                         .ranks = theirs.ranks,
                         .window = theirs.window,
                         .created_unix_ns = theirs.created_unix_ns,
                         .own_collectives = theirs.own_collectives};
  return &look_.communicators.emplace_back(std::move(added));
}

}  // namespace tutti::watch
