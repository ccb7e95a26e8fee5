// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_COURIER_H_
#define TUTTI_TRANSPORT_NET_COURIER_H_

// Carries the links between a rank and those of other hosts: what lies in this host's halves (cut_links.h) goes over the network
// to the other halves, and what comes from there into these.
//
// A pair of ranks has one connection, made when one of the two first has something to send or waits for the other. Either may
// make it; where both do at once, that of the lower rank stays. One that breaks is made anew, and both go on from where the
// other is (Positions). A rank that broke off and whose host says that nothing listens there any more has died.
//
// Who moves data: the thread that waits in the engine, by Turn; and the port's thread (port.h), by Tend, where something is
// unsent and no other thread has been here for a while.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sys/net/proven_connection.h"
#include "sys/os/memory.h"
#include "transport/net/cut_links.h"
#include "transport/net/open_courier.h"
#include "transport/net/port.h"
#include "transport/remote.h"
#include "tutti/status.h"

namespace tutti::transport::net {

// Ranks of another version are refused.
inline constexpr std::uint32_t kWireVersion = 1;

class Courier final : public RemoteLinks, public Caller {
 public:
  // OpenCourier.
  static Result<std::shared_ptr<Courier>> Create(CourierOptions options, std::shared_ptr<Port> port);
  ~Courier() override;

  void Written(int peer) override;
  bool Turn(int waits_for) override;
  void Sleep(std::int64_t timeout_ns) override;
  void Rest() override;
  RankState StateOf(int peer) const override;
  PeerState Describe(int peer) const override;
  std::string WhyGone(int peer) const override;
  std::string PidOf(int peer) const override;
  void Tell(const PeerState& own) override;
  void Flush(std::int64_t timeout_ns) override;

  // Of the port.
  void Called(sys::ProvenConnection connection) override;
  bool Tend() override;

 private:
  struct Peer;
  enum class Side : std::uint8_t { kCaller, kCalled };

  Courier(CourierOptions options, std::shared_ptr<Port> port);
  sys::HelloTerms TermsOf(int rank) const;
  Peer& PeerOf(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }

  // All of these with the lock held.
  void TakeCalls();
  void Join(Peer& peer, sys::TcpConnection connection, Side side);
  void Greet(Peer& peer);
  bool Exchange(Peer& peer, CutLinks::Credits credits);
  bool SendNews(Peer& peer, CutLinks::Credits credits);
  void Connect(Peer& peer);
  void AskWhatBecameOf(Peer& peer, const Status& why);
  void Lose(Peer& peer, const Status& why);
  void SendState(Peer& peer);
  bool Wanted(const Peer& peer, int waits_for) const;
  bool AnyUnsent() const;
  void Note(bool moved);

  const CourierOptions options_;
  const std::shared_ptr<Port> port_;
  sys::PrivatePages memory_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: of this host

  mutable std::mutex mutex_;
  std::vector<Peer*> connected_;
  bool told_ = false;
  bool leaving_ = false;  // all credit is told at once
  PeerState own_;
  std::uint32_t turns_ = 0;
  std::uint32_t idle_turns_ = 0;
  std::atomic<std::int64_t> last_turn_ns_{0};
  std::atomic<bool> unsent_{false};

  std::mutex calls_mutex_;
  std::vector<sys::ProvenConnection> calls_;  // that have come and were not looked at
  std::atomic<bool> called_{false};
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_COURIER_H_
