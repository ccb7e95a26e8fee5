// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Walk that judges ranks which wait for each other in a circle. The waits of one operation on a ring always do, so a
// circle alone proves nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diag/walk.h"
#include "diag/whole.h"

namespace tutti::diag {

int Walk::OfCycle(const std::vector<Node>& cycle) {
  std::set<std::uint64_t> communicators;
  std::set<std::uint64_t> sequences;
  std::size_t transfers = 0;
  for (const Node& node : cycle) {
    const RankLook::Running& running = At(node).now->running;
    communicators.insert(WholeOf(now_, CommunicatorOf(node)).id);
    sequences.insert(running.sequence);
    transfers += running.call.valid() && running.call.is_transfer() ? 1 : 0;
  }
  if (communicators.size() > 1) return Deadlock(cycle);
  if (transfers == cycle.size()) {
    // Each waits for a send or receive that the next has not called: the order of these calls lets none of them end.
    bool owed = true;
    for (std::size_t i = 0; i < cycle.size(); ++i) owed &= !HasDone(cycle[(i + 1) % cycle.size()], cycle[i]);
    if (owed) return Deadlock(cycle);
  } else if (transfers > 0) {
    // A collective and a send or receive that wait for each other.
    const auto is_transfer = [&](const Node& n) { return At(n).now->running.call.is_transfer(); };
    const Node& odd = *std::ranges::find_if(cycle, is_transfer);
    const Node& other = *std::ranges::find_if_not(cycle, is_transfer);
    const int mismatch = docket_.Open(fmt::format("mismatch|{}", odd.communicator), Kind::kMismatch);
    docket_.Accuse(mismatch, odd);
    docket_[mismatch].confidence = Confidence::kLikely;
    if (docket_[mismatch].calls.empty())
      docket_[mismatch].calls = {docket_.RunningCall(odd), docket_.RunningCall(other)};
    return mismatch;
  }
  if (sequences.size() > 1) {
    if (const std::optional<int> stalled = OverStalledWay(cycle)) return *stalled;
    return Unknown(cycle[0].communicator, "ranks wait for each other in different operations of one communicator");
  }
  // A rank that has not called may be what they wait for all the same, over others.
  for (const RankLook& rank : CommunicatorOf(cycle[0]).seen) {
    const Node node{cycle[0].communicator, rank.rank};
    if (At(node).standing != Standing::kIdle || HasDone(node, cycle[0])) continue;
    return docket_.Late(node, cycle[0], Docket::Owes::kTheCall);
  }
  if (const std::optional<int> held = OfOneThatHasNotBegun(cycle)) return *held;
  if (const std::optional<int> stalled = OverStalledWay(cycle)) return *stalled;
  return LeastProgress(cycle);
}

// A link on the circle over which nothing comes: of two that wait for room to each other, or one whose sender's card says so.
std::optional<int> Walk::OverStalledWay(const std::vector<Node>& cycle) {
  if (const std::optional<int> stalled = OfRoom(cycle)) return stalled;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Node &waits = cycle[i], &peer = cycle[(i + 1) % cycle.size()];
    if (waits.communicator != peer.communicator) continue;
    const Edge edge = EdgeOf(waits, peer, EndIs::kWaiting);
    const FlowLook* const flow = edge.sender->FlowTo(edge.receiver->rank);
    if (edge.sender->island == edge.receiver->island || flow == nullptr || !IsStuck(*flow)) continue;
    return BadLink(edge, waits, EdgeFinding::kNetwork).verdict;
  }
  return std::nullopt;
}

// Two ranks on different hosts that wait for room to each other. Where all that one has sent has arrived and it is not told, the way from the
// other one is what nothing comes over, neither that nor data.
std::optional<int> Walk::OfRoom(const std::vector<Node>& cycle) {
  if (cycle.size() != 2) return std::nullopt;
  for (const Node& node : cycle) {
    const Node& other = node == cycle[0] ? cycle[1] : cycle[0];
    const RankLook &from = *At(node).now, &to = *At(other).now;
    const auto edge_of = [&](const RankLook& sender, const RankLook& receiver) {
      return Edge{.sender = &sender,
                  .receiver = &receiver,
                  .sender_is = EndIs::kWaiting,
                  .receiver_is = EndIs::kWaiting,
                  .channel = sender.wait.channel,
                  .window = CommunicatorOf(node).window};
    };
    const Edge way = edge_of(from, to), back = edge_of(to, from);
    const bool room = from.wait.kind == trace::WaitKind::kRoom && to.wait.kind == trace::WaitKind::kRoom;
    if (!room || from.island == to.island || SenderOf(back) != SenderIs::kFull) continue;
    if (InFlight(way) > 0 && InFlight(back) == 0) return BadLink(way, node, EdgeFinding::kLink).verdict;
  }
  return std::nullopt;
}

int Walk::Deadlock(const std::vector<Node>& cycle) {
  const std::size_t n = cycle.size();
  std::vector<Node> members = cycle;
  std::ranges::sort(members);
  std::string key = "deadlock";
  for (const Node& m : members) key += fmt::format("|{}.{}", m.communicator, m.rank);
  const int deadlock = docket_.Open(key, Kind::kDeadlock);
  Verdict& v = docket_[deadlock];
  if (!v.calls.empty()) return deadlock;
  v.ranks = CommunicatorOf(cycle[0]).ranks;
  v.on_gpu =
      std::ranges::any_of(cycle, [&](const Node& c) { return At(c).now->wait.on_gpu || CommunicatorOf(c).whole != 0; });
  if (v.on_gpu) v.confidence = Confidence::kLikely;
  const auto one = std::ranges::all_of(cycle, [&](const Node& c) { return c.communicator == cycle[0].communicator; });
  for (std::size_t i = 0; i < n; ++i) {
    const Node &waits = cycle[i], &blocks = cycle[(i + 1) % n];
    if (!one && waits.communicator == blocks.communicator) continue;  // it only hands the wait on
    v.culprits.push_back(docket_.PlaceOf(blocks));
    v.calls.push_back(docket_.RunningCall(blocks));
    CallOf owed = docket_.RunningCall(waits);
    if (owed.call.valid() && owed.call.is_transfer()) owed.call = Mirror(owed.call, waits.rank);
    owed.who = docket_.PlaceOf({waits.communicator, At(waits).now->wait.peer});
    v.owed.push_back(owed);
  }
  docket_.Show(deadlock,
               fmt::format("in two looks {} ranks stood still, each inside a call that waits for the next", n));
  return deadlock;
}

int Walk::LeastProgress(const std::vector<Node>& cycle) {
  const int unknown =
      Unknown(cycle[0].communicator,
              fmt::format("all {} ranks of a circle wait for each other in one operation, and nothing is on its way",
                          cycle.size()));
  const auto progress = [&](const Node& n) { return At(n).now->progress; };
  if (!std::ranges::all_of(cycle, [&](const Node& n) { return progress(n).has_value(); })) return unknown;
  const auto least = std::ranges::min_element(cycle, {}, [&](const Node& n) { return *progress(n); });
  const auto as_little = std::ranges::count_if(cycle, [&](const Node& n) { return *progress(n) == *progress(*least); });
  if (as_little == 1) {
    docket_.Show(unknown, fmt::format("rank {} has got least far in it: {} units", least->rank, *progress(*least)));
  }
  return unknown;
}

}  // namespace tutti::diag
