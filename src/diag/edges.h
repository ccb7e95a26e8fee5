// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_EDGES_H_
#define TUTTI_DIAG_EDGES_H_

// Which end of an edge holds it up, or what lies between them: a table over what sender and receiver do, as data. Both stand still
// while it is asked.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "diag/evidence.h"

namespace tutti::diag {

enum class SenderIs : std::uint8_t {
  kFull,            // waits for room: what was sent beyond what the peer was known to have consumed fills the link
  kIdle,            // is in the operation, has room, posts nothing and waits for nobody
  kWaitsElsewhere,  // waits on another edge
  kOutstanding,     // of what it has handed to its network card nothing more reaches the other host
  kDone,            // has ended the operation
};

// Bits, so that a row can name several.
enum ReceiverIs : std::uint8_t {
  kShort = 1,            // waits for data here, and has received less than was sent
  kStarved = 2,          // waits for data here, and has received all that is known to be sent
  kBusy = 4,             // is in the operation and waits for nobody
  kWaitsElsewhere = 8,   // waits on another edge
  kReceiverIsDone = 16,  // has ended the operation
};

enum class EdgeFinding : std::uint8_t {
  kLink,        // what was sent does not arrive
  kNetwork,     // the same, and the card says so
  kWayBack,     // it has arrived and was consumed, and the sender is not told
  kSender,      // the sender does not send
  kReceiver,    // the receiver has data and does not take it
  kUpstream,    // the sender is held up itself: the edge that it waits on decides
  kDownstream,  // the receiver is
  kNothing,     // no row fits
};

struct EdgeRow {
  SenderIs sender;
  std::uint8_t receiver;  // ReceiverIs, any of these bits
  EdgeFinding finding;
};

inline constexpr int kEdgeRows = 10;
using EdgeTable = std::array<EdgeRow, kEdgeRows>;
// The first row that fits holds.
inline constexpr EdgeTable kEdgeTable = {{
    {SenderIs::kOutstanding, kShort, EdgeFinding::kNetwork},
    {SenderIs::kFull, kShort, EdgeFinding::kLink},
    {SenderIs::kFull, kBusy, EdgeFinding::kReceiver},
    {SenderIs::kIdle, kStarved, EdgeFinding::kSender},
    {SenderIs::kWaitsElsewhere, kStarved, EdgeFinding::kUpstream},
    // Messages shorter than a link never fill it, and credit has a way of its own.
    {SenderIs::kWaitsElsewhere, kShort, EdgeFinding::kLink},
    {SenderIs::kIdle, kShort, EdgeFinding::kLink},
    {SenderIs::kDone, kShort | kStarved, EdgeFinding::kLink},
    {SenderIs::kFull, kStarved | kReceiverIsDone, EdgeFinding::kWayBack},
    {SenderIs::kFull, ReceiverIs::kWaitsElsewhere, EdgeFinding::kDownstream},
}};
EdgeFinding Find(const EdgeTable& table, SenderIs sender, ReceiverIs receiver);

// How a rank of the edge stands in the operation.
enum class EndIs : std::uint8_t { kWaiting, kInside, kDone };

// Both ends of an edge. The counters of an end that waits are exact; those of another are lower bounds.
struct Edge {
  const RankLook* sender = nullptr;
  const RankLook* receiver = nullptr;
  EndIs sender_is = EndIs::kInside, receiver_is = EndIs::kInside;
  int channel = 0;
  std::array<std::uint32_t, trace::kBoxProtocols> window{};
};

// Whether what was handed to a card lies there, or between there and the other host.
bool IsStuck(const FlowLook& flow);
SenderIs SenderOf(const Edge& edge);
ReceiverIs ReceiverOf(const Edge& edge);
// Units that were sent and have not arrived, over all protocols.
std::uint64_t InFlight(const Edge& edge);
// Units that were sent and are not known to be consumed, over all protocols.
std::uint64_t Unconsumed(const LinkLook& link);
// For whom a rank waits; -1: for nobody in particular. Who waits for pages names a peer that may have them. Where that one has consumed
// all that it was sent, it is another one that has not.
int PeerWaitedFor(const RankLook& rank);
// "sent 812, received 700, room for 128; rank 3 waits for room, rank 4 for data": the counters as evidence.
std::string Describe(const Edge& edge);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_EDGES_H_
