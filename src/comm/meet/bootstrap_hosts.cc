// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the rank that gathers has to do with other hosts.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "comm/meet/bootstrap_gatherer.h"
#include "comm/meet/rendezvous.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"

namespace tutti::comm {
namespace {

// The ranks of one host that are started together come within this time, and then need no network.
constexpr std::int64_t kOneHostNs = 5 * sys::kNsPerMs;
constexpr std::int64_t kMissingNs = 10 * sys::kNsPerSecond;  // until the log says who is missing
constexpr std::int64_t kTellMissingNs = sys::kNsPerSecond;   // until those who have come are told
// From where hosts meet something comes twice a second. What was heard so long ago does not tell who is missing any more; and so
// much later the place itself is told of.
constexpr std::int64_t kFreshNs = 800 * sys::kNsPerMs, kSilentNs = 1500 * sys::kNsPerMs;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::int64_t Gatherer::HostsWantedNs() const {
  const bool can = hosts_ == nullptr && !no_hosts_ && !attendance_.id.addresses.empty();
  return can ? attendance_.begin_ns + (options_.hosts_are_known ? 0 : kOneHostNs) : kNever;
}

void Gatherer::LookForHosts() {
  if (seats_taken_ == options_.ranks || sys::NowNs() < HostsWantedNs()) return;
  const std::string host = options_.host.empty() ? sys::HostName() : options_.host;
  Result<std::unique_ptr<Rendezvous>> begun = Rendezvous::Begin({.id = attendance_.id,
                                                                 .rank = options_.rank,
                                                                 .ranks = options_.ranks,
                                                                 .host = host,
                                                                 .deadline_ns = deadline_ns_});
  if (!begun.ok()) {
    TUTTI_WARN("rank {} does not look for ranks on other hosts: {}", options_.rank, begun.status().message());
    no_hosts_ = true;
    return;
  }
  hosts_ = std::move(*begun);
  for (int rank = 0; rank < options_.ranks; ++rank) ReportSeat(rank);
}

void Gatherer::ReportSeat(int rank) {
  const Seat& seat = seats_[rank];
  if (hosts_ == nullptr || !seat.taken) return;
  const Introduction& member = seat.introduction;
  hosts_->Arrived(rank, member.process, member.uid, member.payload);
}

void Gatherer::HearOfHosts() {
  const Result<Rendezvous::Stage> stage = hosts_->Look();
  if (!stage.ok()) {
    if (fault_.ok()) fault_ = stage.status();
    return;
  }
  if (*stage != Rendezvous::Stage::kGathering && seats_taken_ < options_.ranks) SeatRemote();
  all_hosts_have_all_ = *stage == Rendezvous::Stage::kComplete;
}

void Gatherer::SeatRemote() {
  for (const RemoteMember& member : hosts_->members()) {
    Seat& seat = seats_[member.rank];
    if (seat.taken) continue;
    seat.taken = heard_[member.rank] = true;
    ++seats_taken_;
    ++heard_count_;
    seat.payload = member.payload;
    seat.host = hosts_->hosts()[static_cast<std::size_t>(member.host)];
    seat.introduction = {
        .process = {.pid = member.pid}, .uid = member.uid, .remote = 1, .host = seat.host, .payload = seat.payload};
  }
}

void Gatherer::Settle() {
  bool several = false;
  for (int i = 0; i < options_.ranks; ++i) {
    const int rank = (options_.rank + i) % options_.ranks;
    if (seats_[rank].introduction.remote == 0) locals_.push_back(rank);
    several = several || seats_[rank].introduction.remote != 0;
  }
  if (!several) {
    hosts_.reset();  // all have come to this host
    return;
  }
  for (const int rank : locals_) {
    seats_[rank].host = hosts_->hosts()[static_cast<std::size_t>(hosts_->own_host())];
    seats_[rank].introduction.host = seats_[rank].host;
  }
}

Status Gatherer::AwaitHosts() {
  if (hosts_ == nullptr) return Status::Ok();
  hosts_->Ready();
  while (!all_hosts_have_all_) {
    Turn(deadline_ns_);
    if (!fault_.ok()) return fault_;
    if (sys::NowNs() >= deadline_ns_) return HostsLate();
  }
  return Status::Ok();
}

Status Gatherer::HostsLate() const {
  return Status(
      Code::kTimeout,
      fmt::format(
          "the ranks did not meet within {} ms: all {} have come, but not all hosts have heard of all; {}. "
          "Likely cause: such a host was cut off or got no CPU time; look at it, or raise TUTTI_INIT_TIMEOUT_MS",
          (sys::NowNs() - attendance_.begin_ns) / sys::kNsPerMs, options_.ranks, hosts_->DescribeAwaited()));
}

void Gatherer::SayWhoIsMissing() {
  const std::int64_t now_ns = sys::NowNs();
  if (missing_.is_logged || now_ns - attendance_.begin_ns < kMissingNs) return;
  missing_.is_logged = true;
  const std::vector<int> missing = MissingRanks();
  if (missing.empty()) return;
  TUTTI_WARN("rank {} gathers the ranks, and after {} s still waits for {} of {}. {}", options_.rank,
             (now_ns - attendance_.begin_ns) / sys::kNsPerSecond, NamedRanks(missing), options_.ranks, WhyMissing());
}

void Gatherer::TellWhoIsMissing() {
  if (sys::NowNs() - attendance_.begin_ns < kTellMissingNs || seats_taken_ == options_.ranks) return;
  Missing missing{.ranks = MissingRanks()};
  const std::int64_t silent_ns = hosts_ == nullptr ? 0 : hosts_->SilentNs();
  // Rank 0, where it is the one that does not let hosts meet, is missing itself.
  const bool only_zero = attendance_.id.listener == IdListener::kRankZero && missing.ranks == std::vector{0};
  if (silent_ns >= kSilentNs && !only_zero) missing.place = hosts_->Place();
  const bool is_known = silent_ns < kFreshNs || silent_ns >= kSilentNs;
  if (is_known && (missing_.version == 0 || missing != missing_.told)) {
    missing_.told = std::move(missing);
    ++missing_.version;
    if (options_.missing != nullptr) options_.missing(missing_.told);
  }
  if (missing_.version == 0) return;
  const Message message = Encode(missing_.told);
  for (Caller& caller : callers_) {
    if (caller.gone || caller.rank < 0 || caller.told_missing == missing_.version) continue;
    // One that takes nothing now is told later.
    if (sys::SendMessage(caller.socket, message).ok()) caller.told_missing = missing_.version;
  }
}

}  // namespace tutti::comm
