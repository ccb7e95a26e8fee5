// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_COURIER_H_
#define TUTTI_TRANSPORT_NET_COURIER_H_

// Carries the links between a rank and those of other hosts: what lies in this host's halves (cut_links.h) goes over the network
// to the other halves, and what comes from there into these.
//
// A pair of ranks has one flow for each network card (routes.h). The first is made when one of the two has something to send or
// waits for the other, by the thread that does; the others when much is to be sent, by a thread of the courier's own (connector.h).
// Either rank may make a flow; where both do at once, that of the lower rank stays. One that breaks is made anew, and what it
// carried goes over the others meanwhile. A rank with which there is no flow any more, and whose host says that nothing listens
// there, has died.
//
// Who moves data: the thread that waits in the engine, by Turn; threads beside it (movers.h), where there is much; and the port's
// thread (port.h), by Tend, where something is left and no other thread has been here for a while.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sys/net/unix_socket.h"
#include "sys/os/memory.h"
#include "transport/net/connector.h"
#include "transport/net/open_courier.h"
#include "transport/net/port.h"
#include "transport/net/remote_rank.h"
#include "transport/remote.h"
#include "tutti/status.h"

namespace tutti::transport::net {

class Movers;

// Ranks of another version are refused.
inline constexpr std::uint32_t kWireVersion = 3;

class Courier final : public RemoteLinks, public Caller {
 public:
  // OpenCourier.
  static Result<std::shared_ptr<Courier>> Create(CourierOptions options, std::shared_ptr<Port> port);
  ~Courier() override;

  void Open(int peer) override;
  void Written(int peer) override;
  void Await(int peer, const Awaited& message) override;
  bool Turn(int waits_for) override;
  void Sleep(std::int64_t timeout_ns) override;
  void Rest() override;
  RankState StateOf(int peer) const override;
  PeerState Describe(int peer) const override;
  std::string WhyGone(int peer) const override;
  std::string PidOf(int peer) const override;
  std::vector<FlowPace> Paces() const override;
  void Tell(const PeerState& own) override;
  void Flush(std::int64_t timeout_ns) override;

  // Of the port.
  void Called(sys::ProvenConnection&& call) override;
  Left Tend() override;

 private:
  using Credits = RemoteRank::Credits;
  struct Peer;

  Courier(CourierOptions options, std::shared_ptr<Port> port);
  sys::HelloTerms TermsOf(int rank, int flow) const;
  bool IsServed(int rank) const {
    return rank >= 0 && rank < options_.ranks && seats_[static_cast<std::size_t>(rank)].who;
  }
  const RemotePeer& WhoIs(int rank) const { return *seats_[static_cast<std::size_t>(rank)].who; }
  FlowCount FlowsWith(const RemotePeer& who) const;
  // Takes what was made, by whichever side, from any thread.
  void Made(MadeFlow made);
  // Null: not served, or there was nothing to do with it so far.
  Peer* Find(int rank) const { return seats_[static_cast<std::size_t>(rank)].peer.load(std::memory_order_acquire); }

  // All of these with the lock held.
  Peer& PeerOf(int rank);
  void TakeConnections();
  void Take(MadeFlow made);
  void GiveUp(Peer& peer, std::string why);
  Route RouteTo(const Peer& peer, int flow) const;
  void TellOfSmallSegments(Peer& peer, int flow);
  void Connect(Peer& peer);
  void AskWhatBecameOf(Peer& peer, const Status& why);
  bool Exchange(Peer& peer, Credits credits);
  Credits Which(Credits credits) const;
  bool Wanted(const Peer& peer, int waits_for) const;
  void Activate(Peer& peer);
  void LookWhatIsLeft();
  void LetMoversHelp(RemoteRank& rank);  // this and the next two: courier_movers.cc
  bool TakeNewsOfMovers();
  void WaitForNews(std::int64_t timeout_ns);  // without the lock; for what is watched, too
  void Note(bool moved);

  const CourierOptions options_;
  const std::shared_ptr<Port> port_;
  sys::PrivatePages memory_;  // of the links with all peers, one after the other
  // A rank of another host, and what there is with it: made when one of the two first has something for the other, and kept.
  struct Seat {
    const RemotePeer* who = nullptr;  // null: of this host
    std::atomic<Peer*> peer{nullptr};
  };
  std::vector<Seat> seats_;  // by rank

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> connected_;
  std::vector<Peer*> active_;  // with which there was ever something to do
  bool told_ = false;
  bool leaving_ = false;  // all credit is told at once
  PeerState own_;
  std::uint32_t turns_ = 0;
  std::uint32_t idle_turns_ = 0;
  std::atomic<std::int64_t> last_turn_ns_{0};
  std::int64_t took_ns_ = 0;  // when Tend last took what has come
  // Something has to be sent; something was, and is not known to be consumed, so that it may have to be sent once more.
  std::atomic<bool> unsent_{false}, unconsumed_{false};
  std::vector<sys::Watched> watched_;  // of the thread in Sleep

  std::mutex made_mutex_;
  std::vector<MadeFlow> made_;  // that were not looked at
  std::atomic<bool> any_made_{false};

  // The last ones: they call the others.
  std::shared_ptr<Movers> movers_;  // none before there is much to move
  std::unique_ptr<Connector> connector_;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_COURIER_H_
