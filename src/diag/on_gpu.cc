// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of Walk that judges ranks whose calls lie in streams of a GPU. A call there ends without a word to the host, so of a rank that
// does not wait is known only which of its calls the GPU has begun.
#include <fmt/format.h>

#include <algorithm>

#include "diag/walk.h"

namespace tutti::diag {
namespace {

// Whether the GPU of a rank has begun its part of what another one waits in.
bool HasBegun(const RankLook& rank, const RankLook& waits) {
  if (!waits.running.call.valid()) return true;
  if (!waits.running.call.is_transfer()) return rank.started_sequence >= waits.running.sequence;
  const RankLook::Transfers with = rank.TransfersWith(waits.rank);
  const bool sends = waits.running.call.function() == Collective::kSend;
  return (sends ? with.started_receives : with.started_sends) >= waits.running.sequence;
}

}  // namespace

// It has called what `node` waits in: its GPU has not come to that, or is in it and waits for nobody.
Walk::Step Walk::OnGpu(const Node& peer, const Node& node) {
  const RankLook& theirs = *At(peer).now;
  if (theirs.started && HasBegun(theirs, *At(node).now)) return Stuck(peer, node);
  if (const std::optional<Node> elsewhere = ElsewhereOnGpu(peer)) return {.next = elsewhere};
  if (theirs.started) return {.verdict = GpuLate(peer, docket_.CallOwed(peer, node))};
  return {.verdict = Unknown(
              node.communicator,
              fmt::format("rank {} waits for rank {}, which has called, and the driver does not say what its GPU does",
                          node.rank, peer.rank))};
}

// The stream of a rank's latest call on its GPU, of a part that of the whole; 0: not known.
std::uint64_t Walk::StreamOf(const Node& node) const {
  const CommunicatorLook& c = CommunicatorOf(node);
  const RankLook& rank = *At(node).now;
  const CommunicatorLook* const whole = c.whole == 0 ? nullptr : now_.Find(c.whole);
  const RankLook* const there = whole == nullptr ? nullptr : whole->Find(rank.rank_of_whole);
  return there != nullptr && there->stream != 0 ? there->stream : rank.stream;
}

// Another communicator of its process waits on the GPU: kernels, or what a stream has handed to a thread in a part. That keeps the stream, or
// the program waits for it before it calls. Of several the one in the same stream is what comes before.
std::optional<Node> Walk::ElsewhereOnGpu(const Node& node) const {
  const RankLook& rank = *At(node).now;
  if (rank.process < 0 || rank.gpu_bus_id.empty()) return std::nullopt;
  const std::uint64_t stream = StreamOf(node);
  std::optional<Node> found;
  for (int c = 0; c < static_cast<int>(now_.communicators.size()); ++c) {
    if (c == node.communicator) continue;
    const bool is_part = now_.communicators[static_cast<std::size_t>(c)].whole != 0;
    for (const RankLook& other : now_.communicators[static_cast<std::size_t>(c)].seen) {
      const Node there{c, other.rank};
      const bool same = other.process == rank.process && other.gpu_bus_id == rank.gpu_bus_id;
      if (!same || !(other.wait.on_gpu || is_part) || At(there).standing != Standing::kWaiting) continue;
      if (stream != 0 && StreamOf(there) == stream) return there;
      if (!found) found = there;
    }
  }
  return found;
}

// Whether a rank has called what another one waits in, and its GPU is not known to have come to it.
bool Walk::HasNotBegun(const Node& node, const Node& waits) const {
  const RankLook& rank = *At(node).now;
  const bool in_stream = At(node).standing == Standing::kIdle && HasDone(node, waits) && !rank.finished_is_done;
  return in_stream && !(rank.started && HasBegun(rank, *At(waits).now));
}

// Ranks whose kernels wait for each other in one operation, and each for others too. One that has called it, and whose GPU has not come to it,
// is what all of them wait for.
std::optional<int> Walk::OfOneThatHasNotBegun(const std::vector<Node>& cycle) {
  const Node& waits = cycle[0];
  if (!At(waits).now->wait.on_gpu) return std::nullopt;
  for (const RankLook& rank : CommunicatorOf(waits).seen) {
    const Node node{waits.communicator, rank.rank};
    if (!HasNotBegun(node, waits)) continue;
    if (const std::optional<Node> elsewhere = ElsewhereOnGpu(node)) return ThroughElsewhere(cycle, *elsewhere);
    if (rank.started) return GpuLate(node, docket_.CallOwed(node, waits));
  }
  return std::nullopt;
}

// What a rank that all of the cycle wait for waits for in another communicator: it may be one of them.
int Walk::ThroughElsewhere(const std::vector<Node>& cycle, const Node& elsewhere) {
  std::vector<Node> path{elsewhere};
  while (true) {
    const Step step = From(path.back());
    if (!step.next) return step.verdict;
    if (std::ranges::find(cycle, *step.next) != cycle.end()) {
      path.insert(path.begin(), *step.next);
      return Deadlock(path);
    }
    const auto turn = std::ranges::find(path, *step.next);
    if (turn != path.end()) return OfTwoCycles(cycle, {turn, path.end()});
    path.push_back(*step.next);
  }
}

// Ranks that wait for each other wait for one of others that do, in another communicator: a deadlock, where those wait for one of the first.
int Walk::OfTwoCycles(const std::vector<Node>& cycle, const std::vector<Node>& other) {
  const Node& waits = other.front();
  const auto elsewhere = [&](const Node& node) { return node.communicator != waits.communicator; };
  if (std::ranges::any_of(other, elsewhere)) return Deadlock(other);
  for (const RankLook& rank : CommunicatorOf(waits).seen) {
    const Node node{waits.communicator, rank.rank};
    if (!HasNotBegun(node, waits)) continue;
    const std::optional<Node> back = ElsewhereOnGpu(node);
    if (back && std::ranges::find(cycle, *back) != cycle.end()) return Deadlock({*back, waits});
  }
  return LeastProgress(other);
}

int Walk::GpuLate(const Node& node, const CallOf& call) {
  const int late = docket_.LateInStream(node, call);
  const RankLook& rank = *At(node).now;
  docket_.Show(late, fmt::format("rank {} has made {} calls, and its GPU has begun call {}", node.rank, rank.called,
                                 *rank.started));
  return late;
}

}  // namespace tutti::diag
