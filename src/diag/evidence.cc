// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence.h"

#include <algorithm>
#include <utility>

#include "proto/protocol.h"
#include "trace/view.h"

namespace tutti::diag {
namespace {

constexpr std::size_t kHistory = 64;
constexpr std::uint8_t kNoAlgorithm = 0xff;  // a GPU's call, or one that moves nothing

FlowLook LookOf(const trace::FlowView& flow, int peer) {
  return {.peer = peer,
          .card = flow.card,
          .posted = flow.posted,
          .completed = flow.completed,
          .stuck_ns = flow.stuck_ns,
          .peer_is_full = flow.peer_is_full,
          .carries_bytes_per_s = flow.carries,
          .carries_little_bytes_per_s = flow.carries_little};
}

// Those that were used, and what goes to other hosts.
void ReadLinks(const trace::View& box, RankLook& rank) {
  for (int channel = 0; channel < box.channels(); ++channel) {
    for (int peer = 0; peer < box.ranks(); ++peer) {
      const trace::LinkView words = box.link(channel, peer);
      for (const trace::FlowView& flow : words.flows) rank.flows.push_back(LookOf(flow, peer));
      const LinkLook link{.peer = peer,
                          .channel = channel,
                          .sent = words.sent,
                          .received = words.received,
                          .credit = words.credit,
                          .data_wait_ns = words.data_wait_ns,
                          .room_wait_ns = words.credit_wait_ns,
                          .pace_bytes_per_s = words.pace,
                          .usual_bytes_per_s = words.usual_pace,
                          .card = words.card,
                          .arrived_bytes_per_s = words.arrived,
                          .queued_percent = words.queued_percent};
      const bool used = link.sent != decltype(link.sent){} || link.received != decltype(link.received){} ||
                        link.data_wait_ns != 0 || link.room_wait_ns != 0 || link.usual_bytes_per_s != 0;
      if (used) rank.links.push_back(link);
    }
  }
}

WaitLook ReadWait(const trace::View& box) {
  const trace::WaitView wait = box.wait();
  const trace::WaiterView waiter = box.waiter();
  return {.kind = wait.kind,
          .peer = wait.peer,
          .channel = wait.channel,
          .number = wait.number,
          .since_ns = wait.since_ns,
          .looked_ns = wait.looked_ns,
          .thread = waiter.thread,
          .inside = waiter.inside && !wait.on_gpu,
          .longest_ns = waiter.longest_ns,
          .on_gpu = wait.on_gpu};
}

}  // namespace

const char* Name(ProcessState state) {
  constexpr const char* kNames[] = {"unknown", "running", "sleeping", "uninterruptible", "stopped", "frozen",
                                    "traced",  "zombie",  "gone",     "silent"};
  return kNames[static_cast<int>(state)];
}

const GpuLook* ProcessLook::FindGpu(const std::string& bus_id) const {
  const auto found = std::ranges::find(gpus, bus_id, &GpuLook::bus_id);
  return found == gpus.end() ? nullptr : &*found;
}

const LinkLook* RankLook::LinkTo(int peer, int channel) const {
  const auto found =
      std::ranges::find_if(links, [&](const LinkLook& l) { return l.peer == peer && l.channel == channel; });
  return found == links.end() ? nullptr : &*found;
}

const FlowLook* RankLook::FlowTo(int peer) const {
  const FlowLook* found = nullptr;
  for (const FlowLook& flow : flows) {
    if (flow.peer != peer) continue;
    const auto more = [](const FlowLook& f) { return std::pair(f.stuck_ns, f.posted); };
    if (found == nullptr || more(flow) > more(*found)) found = &flow;
  }
  return found;
}

RankLook::Transfers RankLook::TransfersWith(int peer) const {
  const auto found = std::ranges::find(transfers, peer, &Transfers::peer);
  return found == transfers.end() ? Transfers{.peer = peer} : *found;
}

const trace::Call* RankLook::CollectiveAt(std::uint64_t number) const {
  const auto run =
      std::ranges::find_if(history, [&](const CallRun& r) { return r.first <= number && number <= r.last; });
  return run == history.end() ? nullptr : &run->call;
}

const RankLook* CommunicatorLook::Find(int rank) const {
  const auto found = std::ranges::lower_bound(seen, rank, {}, &RankLook::rank);
  return found == seen.end() || found->rank != rank ? nullptr : &*found;
}

const EdgeFacts* CommunicatorLook::FactsOf(int from, int to) const {
  const auto found = std::ranges::find_if(edges, [&](const EdgeFacts& e) { return e.from == from && e.to == to; });
  return found == edges.end() ? nullptr : &*found;
}

const CommunicatorLook* Look::Find(std::uint64_t id) const {
  const auto found = std::ranges::find(communicators, id, &CommunicatorLook::id);
  return found == communicators.end() ? nullptr : &*found;
}

const ProcessLook* Look::ProcessOf(const RankLook& rank) const {
  if (rank.process < 0 || rank.process >= static_cast<int>(processes.size())) return nullptr;
  return &processes[static_cast<std::size_t>(rank.process)];
}

namespace {

std::vector<RankLook::Transfers> ReadTransfers(const trace::View& box, std::uint64_t started) {
  std::vector<RankLook::Transfers> all;
  (void)box.FindLatest([&](const trace::CallRecord& r) {
    if (!r.call.is_transfer()) return false;
    auto found = std::ranges::find(all, r.call.root(), &RankLook::Transfers::peer);
    if (found == all.end()) found = all.insert(all.end(), {.peer = r.call.root()});
    const bool sends = r.call.function() == Collective::kSend;
    std::uint64_t& latest = sends ? found->sends : found->receives;
    latest = std::max(latest, r.sequence);
    std::uint64_t& begun = sends ? found->started_sends : found->started_receives;
    if (r.number <= started) begun = std::max(begun, r.sequence);
    return false;
  });
  return all;
}

// The call that runs. Of a group of sends and receives the one that waits; on a GPU the group's last one is what runs.
RankLook::Running ReadRunning(const trace::View& box, std::uint64_t finished, const WaitLook& wait) {
  std::optional<trace::CallRecord> call = box.Find(finished + 1);
  if (!call) return {};
  if (call->call.is_transfer() && wait.kind != trace::WaitKind::kNothing) {
    const Collective wanted = wait.kind == trace::WaitKind::kData ? Collective::kRecv : Collective::kSend;
    const auto waits = box.FindLatest(
        [&](const trace::CallRecord& r) {
          return (wait.on_gpu || r.number > finished) && r.number <= wait.number && r.call.function() == wanted &&
                 r.call.root() == wait.peer;
        },
        [&](const trace::CallRecord& r) { return !wait.on_gpu && r.number <= finished; });
    if (waits) call = waits;
  }
  RankLook::Running running{.number = call->number, .sequence = call->sequence, .call = call->call};
  if (call->how.protocol < proto::kProtocols) running.protocol = call->how.protocol;
  return running;
}

}  // namespace

RankLook ReadRank(const trace::View& box) {
  const trace::OwnView own = box.own();
  RankLook rank{.rank = box.rank(),
                .rank_of_whole = own.rank_of_whole,
                .for_whole = own.waits_in,
                .stream = own.stream,
                .records_calls = box.records_calls(),
                .thread = box.thread()};
  rank.created_ns = box.created_ns();
  const trace::GpuView gpu = box.gpu();
  rank.gpu_bus_id = gpu.bus_id;
  // In this order: what has begun or ended was called before.
  if (gpu.begun > 0) rank.started = gpu.begun;
  rank.finished = box.finished();
  rank.called = box.newest();
  rank.wait = ReadWait(box);
  if (rank.wait.on_gpu && rank.wait.number > 0) rank.finished = std::min(rank.finished, rank.wait.number - 1);
  rank.calls = box.CallsByFunction();
  if (const auto last = box.LastCollective()) {
    rank.sequence = last->sequence;
  } else {
    rank.knows_collectives = !box.forgets();
  }
  if (const auto done = box.LastCollective(rank.finished + 1)) rank.finished_sequence = done->sequence;
  if (rank.started) {
    if (const auto begun = box.LastCollective(*rank.started + 1)) rank.started_sequence = begun->sequence;
  }
  if (const auto done = box.Find(rank.finished)) rank.finished_is_done = done->how.algorithm != kNoAlgorithm;
  if (!rank.finished_is_done || rank.wait.on_gpu) rank.gpu = gpu.number;
  for (const trace::CollectiveRun& run : box.CollectiveRuns(kHistory)) {
    rank.history.push_back({.first = run.first.sequence, .last = run.last, .call = run.first.call});
  }
  rank.transfers = ReadTransfers(box, rank.started.value_or(0));
  const trace::ElsewhereView elsewhere = box.waiter().elsewhere;
  rank.elsewhere = {.communicator = elsewhere.communicator, .thread = elsewhere.thread};
  if (rank.inside()) rank.running = ReadRunning(box, rank.finished, rank.wait);
  ReadLinks(box, rank);
  rank.failure_code = box.failure_code();
  rank.failure = box.failure();
  if (!rank.failure.empty()) rank.state = RankState::kFailed;
  return rank;
}

CommunicatorLook ReadCommunicator(const trace::View& box) {
  return {.id = box.communicator(),
          .name = box.name(),
          .whole = box.own().whole,
          .ranks = box.ranks(),
          .window = box.window(),
          .created_unix_ns = box.created_unix_ns(),
          .own_collectives = box.own().collectives};
}

}  // namespace tutti::diag
