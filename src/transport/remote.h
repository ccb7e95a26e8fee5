// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_REMOTE_H_
#define TUTTI_TRANSPORT_REMOTE_H_

// What a fabric of shared pages asks of whoever carries the links to ranks of other hosts (net/courier.h).

#include <cstdint>
#include <string>
#include <vector>

#include "transport/link.h"

namespace tutti::transport {

// What has gone over a connection, as the system counts it, however little it was.
struct Traffic {
  std::int64_t busy_ns = 0;        // in which something had not reached the peer's host, and the peer took what came
  std::uint64_t arrived = 0;       // bytes that reached it
  std::int64_t round_trip_ns = 0;  // how long the latest took, and the word that they had come
  std::uint32_t packet_bytes = 0;  // at most
  bool is_queued = false;          // now something waits in the queues of the own card
};

// What was sent to a peer by one connection, since the beginning.
struct FlowPace {
  int peer = -1;
  int flow = 0;              // its number, among those with the peer
  std::string card;          // the own one that it leaves by; empty: not known
  std::int64_t busy_ns = 0;  // in which it had enough to send, and the peer took what came
  std::uint64_t bytes = 0;   // that reached the peer's host in that time
  Traffic traffic;           // of the connection that there is now; all 0 where the system does not say
  // Of the same connection, in bytes: what it was handed, and what of that is known to have reached the peer's host. Whether the rest waits
  // for the other process, which takes no more.
  std::uint64_t posted = 0, completed = 0;
  bool peer_is_full = false;
};

// Threads: Open, Written, Await, Turn and Rest are called by the thread that runs the communicator's engine; the rest by any.
class RemoteLinks {
 public:
  virtual ~RemoteLinks() = default;

  // Makes the links with `peer` ready for the engine: until then their pointers point nowhere. As often as one likes.
  virtual void Open(int peer) = 0;
  // Something was written into links to `peer`, or read from links from it. REQUIRES: Open.
  virtual void Written(int peer) = 0;
  // The data of this message from `peer` may be put there, from now until it has come or Tell has said that this rank has failed.
  // Its post says whether they were (proto::PostKind::kPlaced). REQUIRES: Open; one of the next messages of its link, fewer than a
  // ring has posts.
  virtual void Await(int peer, const Awaited& message) = 0;
  // Moves data between this host's halves of the links and the network, for a rank that waits for `waits_for` (-1: for nobody
  // in particular). Whether something has come or gone.
  virtual bool Turn(int waits_for) = 0;
  // Sleeps until something comes, but no longer than `timeout_ns`.
  virtual void Sleep(std::int64_t timeout_ns) = 0;
  // A job has ended: tells senders what has been read, as far as they may wait for it.
  virtual void Rest() = 0;

  virtual RankState StateOf(int peer) const = 0;
  virtual PeerState Describe(int peer) const = 0;
  // Why a peer that said nothing more will never answer: "died: ..."; empty while it may.
  virtual std::string WhyGone(int peer) const = 0;
  // "1234 on host b".
  virtual std::string PidOf(int peer) const = 0;
  // Of all connections over which something went. Some system calls for each; any thread.
  virtual std::vector<FlowPace> Paces() const = 0;
  // Tells all peers this rank's own state; the last one that is told stays.
  virtual void Tell(const PeerState& own) = 0;
  // Waits until all that was written has left this host, or `timeout_ns` has passed.
  virtual void Flush(std::int64_t timeout_ns) = 0;
};

}  // namespace tutti::transport

#endif  // TUTTI_TRANSPORT_REMOTE_H_
