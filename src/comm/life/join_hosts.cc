// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/host/placement.h"
#include "comm/life/creation.h"
#include "comm/life/host_member.h"
#include "comm/life/share_of_cores.h"
#include "comm/life/watch_over.h"
#include "comm/life/wire_port.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/meeting_point.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "transport/net/remote_peer.h"

namespace tutti::comm {

using transport::net::RemotePeer;

namespace {

constexpr std::size_t kMostTold = 1000;  // bytes of an error that others hear

// What the other ranks hear of this one.
HostMember MemberOf(const Creation& of, const transport::net::plugin::Network* network,
                    const std::vector<sys::Endpoint>& meeting_point) {
  return {.can_refer = of.can_refer,
          .pid = sys::Self().pid,
          .flows_per_card = of.flows_per_card,
          .network = Creation::OfferOf(network),
          .failure = of.looked.ok() ? std::string() : of.looked.message().substr(0, kMostTold),
          .rail = of.rail,
          .tuner = of.TunerTitle(),
          .cards = of.cards,
          .meeting = meeting_point,
          .machine = of.made.machine};
}

}  // namespace

// All ranks of all hosts meet once more, and learn where each can be called.
Status Creation::JoinHosts() {
  Result<std::shared_ptr<transport::net::Port>> port = WirePort(made.settings);
  if (!port.ok()) return port.status();
  Result<std::vector<sys::Endpoint>> meeting_point = OwnMeetingPoint();
  if (!meeting_point.ok()) return meeting_point.status();
  Result<std::shared_ptr<transport::net::plugin::Network>> chosen = ChooseNetwork();
  if (!chosen.ok()) return chosen.status();
  StartTuner(chosen->get());
  ChooseCards(**port, chosen->get());
  const int cpus = CpusPerRank(*made.placement, made.rank, made.cpus);
  flows_per_card = FlowsPerCard(made.settings, cpus);
  movers = MoversOf(made.settings, cpus);
  const HostMember own = MemberOf(*this, chosen->get(), *meeting_point);
  const std::vector<std::byte> payload = Encode(own);
  const Result<UniqueId> id = HostsId(made.id);
  if (!id.ok()) return id.status();
  MeetOptions meeting = Meeting();
  meeting.id = *id;
  meeting.payload = payload;
  meeting.hosts_are_known = true;
  meeting.timeout_ms = std::max<std::int64_t>((deadline_ns - sys::NowNs()) / sys::kNsPerMs, 1);
  std::vector<RemotePeer> remotes;
  std::string failure;
  int failed = -1;
  std::vector<NetworkOffer> offers(static_cast<std::size_t>(made.ranks), own.network);
  std::vector<std::string> tuners(static_cast<std::size_t>(made.ranks), own.tuner);
  made.placement->meeting_points.resize(static_cast<std::size_t>(made.ranks));
  TUTTI_RETURN_IF_ERROR(comm::Meet(meeting, [&](int peer, Member&& member) -> Status {
    Result<HostMember> theirs = ParseHostMember(member.payload);
    if (!theirs.ok()) return theirs.status();
    if (failure.empty() && !theirs->failure.empty()) {
      failure = fmt::format("rank {} failed: {}", peer, theirs->failure);
      failed = peer;
    }
    offers[static_cast<std::size_t>(peer)] = theirs->network;
    tuners[static_cast<std::size_t>(peer)] = std::move(theirs->tuner);
    can_refer = can_refer && theirs->can_refer;
    if (peer == 0) made.machine = theirs->machine;
    made.placement->meeting_points[static_cast<std::size_t>(peer)] = std::move(theirs->meeting);
    const std::int32_t host = made.placement->host_of[static_cast<std::size_t>(peer)];
    if (host != made.placement->host_of[static_cast<std::size_t>(made.rank)]) {
      remotes.push_back({.rank = peer,
                         .pid = theirs->pid,
                         .host = made.placement->hosts[static_cast<std::size_t>(host)],
                         .cards = std::move(theirs->cards),
                         .flows_per_card = theirs->flows_per_card,
                         .rail = theirs->rail});
    }
    return Status::Ok();
  }));
  TUTTI_RETURN_IF_ERROR(looked);
  if (!failure.empty()) return Status(Code::kRemote, failure, failed);
  TUTTI_RETURN_IF_ERROR(AgreeOnNetwork(offers, *chosen));
  AgreeOnTuner(tuners);
  if (made.rank == 0) TUTTI_INFO(log::kInit | log::kNet, "{} ranks are on {}", made.who, made.placement->Describe());
  TUTTI_RETURN_IF_ERROR(WatchHosts(made, remotes, *port));
  return OpenCourier(std::move(remotes), std::move(*port), std::move(*chosen));
}

}  // namespace tutti::comm
