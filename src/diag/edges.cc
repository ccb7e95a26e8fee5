// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "proto/protocol.h"

namespace tutti::diag {
namespace {

using trace::WaitKind;

std::uint64_t Sum(const std::array<std::uint64_t, trace::kBoxProtocols>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Whether a sender that says so has no room. A link of posts may have some where the pages for the data are used up. Others wait
// for as much as the next message takes, at least a quarter of the link (exec/cpu/wire.h): so from half of it on they may.
bool IsFull(const LinkLook& link, int protocol, const std::array<std::uint32_t, trace::kBoxProtocols>& window) {
  if (protocol != static_cast<int>(proto::Protocol::kLl) && protocol != static_cast<int>(proto::Protocol::kLl128))
    return true;
  const auto p = static_cast<std::size_t>(protocol);
  return window[p] == 0 || link.sent[p] - link.credit[p] >= window[p] / 2;
}

// A word that something has come is on its way for less.
constexpr std::int64_t kStuckNs = 500 * kMs;

// "of 812 bytes handed to card eth0 700 have arrived, none for 3.2 s"
std::string Describe(const FlowLook& flow) {
  const std::string card = flow.card.empty() ? "the network" : "card " + flow.card;
  if (flow.posted == flow.completed) return fmt::format("all {} bytes handed to {} have arrived", flow.posted, card);
  return fmt::format("of {} bytes handed to {} {} have arrived, none for {:.1f} s{}", flow.posted, card, flow.completed,
                     static_cast<double>(flow.stuck_ns) * 1e-9,
                     flow.peer_is_full ? ", since the process there takes no more" : "");
}

const char* WordFor(WaitKind kind) {
  switch (kind) {
    case WaitKind::kNothing:
      return "for nobody";
    case WaitKind::kData:
      return "for data";
    case WaitKind::kRoom:
      return "for room";
    case WaitKind::kReaders:
      return "for its buffer to be read";
    case WaitKind::kPages:
      return "for pages to be read";
  }
  return "";
}

}  // namespace

EdgeFinding Find(const EdgeTable& table, SenderIs sender, ReceiverIs receiver) {
  const auto row =
      std::ranges::find_if(table, [&](const EdgeRow& r) { return r.sender == sender && (r.receiver & receiver) != 0; });
  return row == table.end() ? EdgeFinding::kNothing : row->finding;
}

bool IsStuck(const FlowLook& flow) {
  return flow.posted != flow.completed && !flow.peer_is_full && flow.stuck_ns >= kStuckNs;
}

SenderIs SenderOf(const Edge& edge) {
  if (edge.sender_is == EndIs::kDone) return SenderIs::kDone;
  const LinkLook* link = edge.sender->LinkTo(edge.receiver->rank, edge.channel);
  // Words on what has come go the same way, so it counts only where the receiver waits for something of this edge that is missing.
  const FlowLook* flow = edge.sender->FlowTo(edge.receiver->rank);
  if (flow != nullptr && IsStuck(*flow) && ReceiverOf(edge) == kShort) return SenderIs::kOutstanding;
  if (edge.sender_is == EndIs::kInside) return SenderIs::kIdle;
  const WaitLook& wait = edge.sender->wait;
  if (wait.kind == WaitKind::kData || PeerWaitedFor(*edge.sender) != edge.receiver->rank)
    return SenderIs::kWaitsElsewhere;
  return link == nullptr || IsFull(*link, edge.sender->running.protocol, edge.window) ? SenderIs::kFull
                                                                                      : SenderIs::kWaitsElsewhere;
}

ReceiverIs ReceiverOf(const Edge& edge) {
  if (edge.receiver_is == EndIs::kDone) return kReceiverIsDone;
  if (edge.receiver_is == EndIs::kInside) return kBusy;
  const WaitLook& wait = edge.receiver->wait;
  const bool here = wait.kind == WaitKind::kData && wait.peer == edge.sender->rank && wait.channel == edge.channel;
  if (!here) return ReceiverIs::kWaitsElsewhere;
  return InFlight(edge) > 0 ? kShort : kStarved;
}

std::uint64_t InFlight(const Edge& edge) {
  const LinkLook* out = edge.sender->LinkTo(edge.receiver->rank, edge.channel);
  const LinkLook* in = edge.receiver->LinkTo(edge.sender->rank, edge.channel);
  if (out == nullptr) return 0;
  std::uint64_t units = 0;
  for (std::size_t p = 0; p < trace::kBoxProtocols; ++p) {
    const std::uint64_t received = in == nullptr ? 0 : in->received[p];
    if (out->sent[p] > received) units += out->sent[p] - received;
  }
  return units;
}

std::uint64_t Unconsumed(const LinkLook& link) {
  std::uint64_t units = 0;
  for (std::size_t p = 0; p < trace::kBoxProtocols; ++p) {
    units += link.sent[p] > link.credit[p] ? link.sent[p] - link.credit[p] : 0;
  }
  return units;
}

int PeerWaitedFor(const RankLook& rank) {
  const WaitLook& wait = rank.wait;
  if (wait.kind != WaitKind::kPages) return wait.peer;
  const LinkLook* const named = rank.LinkTo(wait.peer, wait.channel);
  if (named == nullptr || Unconsumed(*named) > 0) return wait.peer;
  const auto found = std::ranges::find_if(rank.links, [](const LinkLook& link) { return Unconsumed(link) > 0; });
  return found == rank.links.end() ? wait.peer : found->peer;
}

std::string Describe(const Edge& edge) {
  const LinkLook* out = edge.sender->LinkTo(edge.receiver->rank, edge.channel);
  const LinkLook* in = edge.receiver->LinkTo(edge.sender->rank, edge.channel);
  std::string text = fmt::format("sent {}, received {}, known to be consumed {}", out == nullptr ? 0 : Sum(out->sent),
                                 in == nullptr ? 0 : Sum(in->received), out == nullptr ? 0 : Sum(out->credit));
  const FlowLook* flow = edge.sender->FlowTo(edge.receiver->rank);
  if (flow != nullptr && (InFlight(edge) > 0 || IsStuck(*flow))) text += ", " + Describe(*flow);
  const auto says = [](const RankLook& rank, EndIs is) {
    if (is == EndIs::kDone) return fmt::format("rank {} has done its part", rank.rank);
    return fmt::format("rank {} waits {}", rank.rank,
                       WordFor(is == EndIs::kInside ? WaitKind::kNothing : rank.wait.kind));
  };
  return fmt::format("{}; {}, {}", text, says(*edge.sender, edge.sender_is), says(*edge.receiver, edge.receiver_is));
}

}  // namespace tutti::diag
