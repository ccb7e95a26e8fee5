// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "diag/reasons.h"
#include "diag/xid.h"

namespace tutti::diag {
namespace {

using trace::WaitKind;

// The thread that would make a rank's next call: the one that waited last in one, else the one that made the communicator.
std::int32_t ThreadOf(const RankLook& rank) { return rank.wait.thread != 0 ? rank.wait.thread : rank.thread; }

// So long a rank that runs does not leave its wait alone, in times of how far apart looks are, but for crowded cores.
constexpr std::int64_t kAsleepNs = kSecond;
constexpr int kAsleepLooks = 2;

// Of what arrives on a link on which nothing moves; the rest are a connection's own words.
constexpr std::uint64_t kMovesBytesPerS = 16 << 10;

// Whether whole messages do not arrive between two looks, and parts of them do, or the card that they leave or come back by is slow: then
// they take their time. Whether it is too slow is another question.
bool IsSlowPlace(const CommunicatorLook& c, const Edge& edge) {
  const LinkLook* out = edge.sender->LinkTo(edge.receiver->rank, 0);
  if (out != nullptr && out->arrived_bytes_per_s >= kMovesBytesPerS) return true;
  return std::ranges::any_of(c.seen, [&](const RankLook& rank) {
    if (rank.island != edge.sender->island && rank.island != edge.receiver->island) return false;
    return std::ranges::any_of(rank.links, [](const LinkLook& link) {
      return link.arrived_bytes_per_s >= kMovesBytesPerS && link.pace_bytes_per_s > 0 &&
             link.pace_bytes_per_s < link.usual_bytes_per_s / 2;
    });
  });
}

bool IsCollective(const RankLook::Running& running) { return running.call.valid() && !running.call.is_transfer(); }

}  // namespace

Walk::Cause Walk::CauseOf(const Node& node) {
  std::vector<Node> path;
  Cause end;
  std::size_t innocent = 0;  // of the path, from its beginning on, who is not in the cycle that it leads into
  for (Node at = node;;) {
    if (const auto known = known_.find(at); known != known_.end()) {
      end = {.verdict = known->second.verdict, .direct = false};
      innocent = path.size();
      break;
    }
    if (const auto turn = std::ranges::find(path, at); turn != path.end()) {
      innocent = static_cast<std::size_t>(turn - path.begin());
      end = {.verdict = OfCycle({turn, path.end()}), .direct = false};
      break;
    }
    path.push_back(at);
    const Step step = From(at);
    if (step.next) {
      at = *step.next;
      continue;
    }
    innocent = path.size();
    end = {.verdict = step.verdict, .direct = true};
    break;
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool last = i + 1 == path.size();
    known_[path[i]] = {.verdict = end.verdict, .direct = i >= innocent || (last && end.direct)};
  }
  return known_[node];
}

// The questions in their order: who is held by the system, who has not called, who has called and not begun, which edge.
Walk::Step Walk::From(const Node& node) {
  if (closed_[static_cast<std::size_t>(node.communicator)] != kNoCause) {
    return {.verdict = closed_[static_cast<std::size_t>(node.communicator)]};
  }
  const int peer_rank = PeerWaitedFor(*At(node).now);
  // Of pages the peer that is named may be one of several.
  if (peer_rank < 0 || At(node).now->wait.kind == WaitKind::kPages) {
    if (const std::optional<Step> somebody = ForSomebody(node)) return *somebody;
  }
  if (peer_rank < 0) {
    return {.verdict =
                Unknown(node.communicator, fmt::format("rank {} waits for pages that some peer reads", node.rank))};
  }
  const Node peer{node.communicator, peer_rank};
  const Seen& seen = At(peer);
  switch (seen.standing) {
    case Standing::kUnseen:
      return {.verdict =
                  Unknown(node.communicator,
                          fmt::format("rank {} waits for rank {}, of which nothing can be seen: it is on another "
                                      "host, or its process may not be looked at",
                                      node.rank, peer_rank))};
    case Standing::kHostSilent:
    case Standing::kGone:
    case Standing::kStopped:
    case Standing::kTraced:
      return {.verdict = docket_.Held(peer, seen.standing)};
    case Standing::kLeft:
    case Standing::kFailed:
    case Standing::kStarting:
      return {.verdict = Unknown(
                  node.communicator,
                  fmt::format("rank {} waits for rank {}, which is not in its communicator", node.rank, peer_rank))};
    case Standing::kMoving:
      return {};
    case Standing::kIdle:
      return ToIdle(peer, node);
    case Standing::kInside:
      return OverEdge(peer, node, EndIs::kInside);
    case Standing::kWaiting:
      return OverEdge(peer, node, EndIs::kWaiting);
  }
  return {};
}

// Waits for pages that some peer still reads: any that holds the others up may be the one.
std::optional<Walk::Step> Walk::ForSomebody(const Node& node) {
  for (const RankLook& rank : CommunicatorOf(node).seen) {
    const Node peer{node.communicator, rank.rank};
    if (rank.rank == node.rank) continue;
    const Standing standing = At(peer).standing;
    if (standing == Standing::kHostSilent || standing == Standing::kGone || standing == Standing::kStopped ||
        standing == Standing::kTraced) {
      return Step{.verdict = docket_.Held(peer, standing)};
    }
    if (standing == Standing::kMoving) return Step{};
    if (standing == Standing::kIdle && !HasDone(peer, node)) return ToIdle(peer, node);
    if (standing == Standing::kInside) return Stuck(peer, node);
  }
  return std::nullopt;
}

bool Walk::HasDone(const Node& peer, const Node& waits) const {
  const RankLook &rank = *At(peer).now, &other = *At(waits).now;
  const bool of_graph = other.wait.on_gpu && other.wait.number == 0;
  if (!rank.records_calls || of_graph || !other.running.call.valid()) return false;
  // Nobody is called late of whom that is not known.
  if (IsCollective(other.running)) return !rank.knows_collectives || rank.finished_sequence >= other.running.sequence;
  const RankLook::Transfers with = rank.TransfersWith(waits.rank);
  const bool sends = other.running.call.function() == Collective::kSend;
  return (sends ? with.receives : with.sends) >= other.running.sequence;
}

Walk::Step Walk::ToIdle(const Node& peer, const Node& node) {
  if (HasDone(peer, node)) {
    const bool in_stream = At(node).now->wait.on_gpu && !At(peer).now->finished_is_done;
    return in_stream ? OnGpu(peer, node) : OverEdge(peer, node, EndIs::kDone);
  }
  if (const std::optional<Node> elsewhere = Elsewhere(peer)) return {.next = elsewhere};
  if (const std::optional<Node> elsewhere = ElsewhereOnGpu(peer)) return {.next = elsewhere};
  if (const std::optional<Step> hidden = OutOfSight(peer)) return *hidden;
  return {.verdict = docket_.Late(peer, node, Docket::Owes::kTheCall)};
}

std::optional<Walk::Step> Walk::OutOfSight(const Node& node) {
  const RankLook& rank = *At(node).now;
  const RankLook::Elsewhere& there = rank.elsewhere;
  if (there.communicator == 0 || there.thread != ThreadOf(rank) || now_.Find(there.communicator) != nullptr)
    return std::nullopt;
  return Step{.verdict = Unknown(node.communicator,
                                 fmt::format("rank {} waits in communicator {:#x}, of which nothing can be seen from "
                                             "here; its own log says for whom",
                                             node.rank, there.communicator))};
}

std::optional<Node> Walk::Elsewhere(const Node& node) const {
  const RankLook& rank = *At(node).now;
  const std::int32_t thread = ThreadOf(rank);
  if (rank.process < 0 || thread == 0) return std::nullopt;
  for (int c = 0; c < static_cast<int>(now_.communicators.size()); ++c) {
    if (c == node.communicator) continue;
    for (const RankLook& other : now_.communicators[static_cast<std::size_t>(c)].seen) {
      const Node there{c, other.rank};
      const bool same = other.process == rank.process && other.wait.thread == thread;
      if (same && other.wait.inside && At(there).standing == Standing::kWaiting) return there;
    }
  }
  return std::nullopt;
}

Edge Walk::EdgeOf(const Node& node, const Node& peer, EndIs peer_is) const {
  const RankLook &theirs = *At(peer).now, &own = *At(node).now;
  const bool data = own.wait.kind == WaitKind::kData;
  return {.sender = data ? &theirs : &own,
          .receiver = data ? &own : &theirs,
          .sender_is = data ? peer_is : EndIs::kWaiting,
          .receiver_is = data ? EndIs::kWaiting : peer_is,
          .channel = own.wait.channel,
          .window = CommunicatorOf(node).window};
}

Walk::Step Walk::OverEdge(const Node& peer, const Node& node, EndIs peer_is) {
  const Seen& theirs = At(peer);
  const bool begun = !theirs.now->started || *theirs.now->started >= theirs.now->running.number;
  if (peer_is == EndIs::kInside && !begun) {
    return {.verdict = GpuLate(peer, docket_.RunningCall(peer))};
  }
  const Edge edge = EdgeOf(node, peer, peer_is);
  return Decide(Find(rules_.edges, SenderOf(edge), ReceiverOf(edge)), edge, peer, node);
}

Walk::Step Walk::Decide(EdgeFinding finding, const Edge& edge, const Node& peer, const Node& node) {
  const bool peer_sends = edge.sender->rank == peer.rank;
  switch (finding) {
    case EdgeFinding::kSender:
      return Stuck(peer_sends ? peer : node, peer_sends ? node : peer);
    case EdgeFinding::kReceiver:
      return Stuck(peer_sends ? node : peer, peer_sends ? peer : node);
    case EdgeFinding::kUpstream:
    case EdgeFinding::kDownstream:
      // Only the peer can be what holds up who asks.
      if ((finding == EdgeFinding::kUpstream) == peer_sends) return {.next = peer};
      break;
    case EdgeFinding::kLink:
    case EdgeFinding::kNetwork:
    case EdgeFinding::kWayBack:
      return BadLink(edge, node, finding);
    case EdgeFinding::kNothing:
      break;
  }
  return {.verdict = Unknown(node.communicator, Describe(edge))};
}

// It is in the operation, waits for nobody and does not go on.
Walk::Step Walk::Stuck(const Node& node, const Node& waits) {
  const RankLook& rank = *At(node).now;
  if (At(node).standing == Standing::kWaiting) {
    return {.verdict = Unknown(node.communicator, fmt::format("rank {} waits, and nobody holds it up", node.rank))};
  }
  if (rank.gpu < 0) {
    // What it has started moves on while its thread waits in another call of Tutti.
    if (const std::optional<Node> elsewhere = Elsewhere(node)) return {.next = elsewhere};
    if (const std::optional<Step> hidden = OutOfSight(node)) return *hidden;
    return {.verdict = docket_.Late(node, waits, Docket::Owes::kToGoOn)};
  }
  const int hung = docket_.Open(fmt::format("gpu hung|{}|{}", node.communicator, node.rank), Kind::kGpuHung);
  docket_.Accuse(hung, node);
  docket_[hung].confidence = Confidence::kLikely;
  if (docket_[hung].calls.empty())
    docket_[hung].calls.push_back(rank.inside() ? docket_.RunningCall(node) : docket_.CallOwed(node, waits));
  docket_.Show(
      hung, fmt::format("rank {} is in the operation and waits for nobody, rank {} waits for it, and no counter moves",
                        node.rank, waits.rank));
  return {.verdict = hung};
}

const RankLook* Walk::Asleep(const Edge& edge, int ranks) const {
  const std::int64_t long_ns = std::max(kAsleepNs, kAsleepLooks * ApartNs(ranks));
  for (const RankLook* end : {edge.sender, edge.receiver}) {
    const EndIs is = end == edge.sender ? edge.sender_is : edge.receiver_is;
    if (is == EndIs::kWaiting && now_.taken_ns - end->wait.looked_ns >= long_ns) return end;
  }
  return nullptr;
}

Walk::Step Walk::BadLink(const Edge& edge, const Node& node, EdgeFinding finding) {
  const Node from{node.communicator, edge.sender->rank}, to{node.communicator, edge.receiver->rank};
  if (const RankLook* end = Asleep(edge, CommunicatorOf(node).ranks)) {
    const Node asleep = end == edge.sender ? from : to, other = end == edge.sender ? to : from;
    if (docket_.IsStarved(asleep)) return {.verdict = docket_.Late(asleep, other, Docket::Owes::kToGoOn)};
    return {.verdict = Unknown(node.communicator,
                               fmt::format("rank {} waits, and has not come to look around for {:.1f} s", end->rank,
                                           static_cast<double>(now_.taken_ns - end->wait.looked_ns) * 1e-9))};
  }
  if (edge.sender->island == edge.receiver->island) {
    // Nothing is on its way in shared memory: what is sent is there. A message may be half written, or read with help.
    if (edge.sender_is == EndIs::kInside) return Stuck(from, to);
    if (std::vector<std::string> faults = NvLinkFaults(now_, *edge.sender, *edge.receiver); !faults.empty())
      return BadNvLink(from, to, std::move(faults));
    return {.verdict = Unknown(node.communicator, Describe(edge) + ", though they share memory")};
  }
  if (IsSlowPlace(CommunicatorOf(node), edge)) return {};
  const int stalled =
      docket_.Open(fmt::format("link|{}|{}|{}", node.communicator, from.rank, to.rank), Kind::kLinkStalled);
  Verdict& v = docket_[stalled];
  v.ranks = CommunicatorOf(node).ranks;
  v.confidence = edge.sender_is == EndIs::kWaiting ? Confidence::kProven : Confidence::kLikely;
  // What is on its way was sent before the sender began to wait.
  if (edge.sender_is == EndIs::kWaiting && edge.receiver_is == EndIs::kWaiting && InFlight(edge) > 0)
    v.stood_ns = now_.taken_ns - std::max(edge.sender->wait.since_ns, edge.receiver->wait.since_ns);
  if (v.links.empty()) {
    LinkPlace link{.from = docket_.PlaceOf(from), .to = docket_.PlaceOf(to), .channel = edge.channel};
    NameCards(CommunicatorOf(node), link);
    v.links.push_back(link);
  }
  if (v.calls.empty()) v.calls.push_back(docket_.RunningCall(node));
  docket_.Show(stalled, Describe(edge));
  if (finding == EdgeFinding::kWayBack)
    docket_.Show(stalled, "what was sent has arrived, and the way back does not tell the sender");
  if (finding == EdgeFinding::kNetwork)
    docket_.Show(stalled, "it is between the two hosts, or in the card that it was handed to");
  return {.verdict = stalled};
}

// Their counters meet in memory, and the way to it is at fault.
Walk::Step Walk::BadNvLink(const Node& from, const Node& to, std::vector<std::string> faults) {
  const int fault =
      docket_.Open(fmt::format("nvlink|{}|{}|{}", from.communicator, from.rank, to.rank), Kind::kNvLinkFault);
  Verdict& v = docket_[fault];
  if (!v.links.empty()) return {.verdict = fault};
  v.without = Kind::kLinkStalled;
  v.ranks = CommunicatorOf(from).ranks;
  v.confidence = Confidence::kLikely;
  v.links.push_back({.from = docket_.PlaceOf(from), .to = docket_.PlaceOf(to)});
  v.common = CommonOf(faults);
  v.reasons = std::move(faults);
  v.remedy = FindXid(kNvLinkXid).next_step;
  return {.verdict = fault};
}

int Walk::Unknown(int communicator, const std::string& evidence) {
  const int unknown = docket_.Open(fmt::format("unknown|{}", communicator), Kind::kUnknown);
  docket_[unknown].confidence = Confidence::kUnsure;
  docket_[unknown].ranks = now_.communicators[static_cast<std::size_t>(communicator)].ranks;
  docket_.Show(unknown, evidence);
  return unknown;
}

}  // namespace tutti::diag
