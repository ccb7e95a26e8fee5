// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "comm/agree/profiles.h"
#include "comm/host/placement.h"
#include "comm/life/creation.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/rank_zero_place.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

// Notes where a rank is. In rank order.
void Place(Placement& placement, int rank, const std::string& host) {
  const auto found = std::ranges::find(placement.hosts, host);
  placement.host_of.resize(static_cast<std::size_t>(rank) + 1);
  placement.host_of.back() = static_cast<std::int32_t>(found - placement.hosts.begin());
  if (found == placement.hosts.end()) placement.hosts.push_back(host);
}

// What has not come, where no rank of another host could: `listens`, of rank 0.
Status WithReason(const Status& failed, const Status& listens, const UniqueId& id) {
  if (failed.code() != Code::kTimeout) return failed;
  const std::string no_place = WhyNoPlace(id);
  std::string sentence = failed.message();
  if (!no_place.empty()) sentence += fmt::format(". Ranks of other hosts could not come: {}", no_place);
  if (!listens.ok()) sentence += fmt::format(". Rank 0 could not listen for other hosts: {}", listens.message());
  return Status(failed.code(), sentence, failed.peer());
}

}  // namespace

Status Creation::Meet() {
  made.placement = std::make_shared<Placement>();
  MeetOptions meeting = Meeting();
  const Status listens = made.rank == 0 ? AwaitAsRankZero(made.id) : Status::Ok();
  const std::vector<std::byte> payload = profiles->Encode();
  meeting.payload = payload;
  meeting.shared = &made.fabric->own().fd();
  const Status met = comm::Meet(meeting, [&](int peer, Member&& member) -> Status {
    const Result<bool> agree = profiles->Add(peer, member.payload);
    if (!agree.ok()) return agree.status();
    Place(*made.placement, peer, member.host);
    if (member.remote) made.fabric->AddRemote(peer);
    // Pages of another size cannot be used; but all meet to the end, to say the same of who differs.
    return *agree && !member.remote ? made.fabric->Connect(peer, member.shared, member.process) : Status::Ok();
  });
  if (!met.ok()) return WithReason(met, listens, made.id);
  made.several_hosts = made.placement->several();
  with_rank_zero = !made.fabric->IsRemote(0);
  return profiles->Check();
}

std::span<const std::int32_t> Creation::HostOf() const {
  if (!made.several_hosts) return {};
  return made.placement->host_of;
}

}  // namespace tutti::comm
