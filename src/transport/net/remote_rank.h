// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_REMOTE_RANK_H_
#define TUTTI_TRANSPORT_NET_REMOTE_RANK_H_

// A rank of another host: the links with it (cut_links.h), the flows that carry them (flow.h), and what it has said of itself.
//
// Small things leave by one flow, the fastest. Large data leave in pieces by all of them: each takes the next piece where it would
// be there first by it, judged by what the flow has under way and by the rate at which it was seen to carry that. So a slow flow gets
// what it can deliver in time, and none waits for it. One that was not seen to be busy for a second is tried again.
//
// The first flows, one for each card, are looked at all the time. Looking at the others costs a system call for each, so the thread
// that waits does that now and then only, unless much was under way within the last moments; or threads of their own do (movers.h).
// Then a thread that has written goes on with its own work, and one that waits helps, a piece at a time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sys/net/unix_socket.h"
#include "transport/link.h"
#include "transport/net/cut_links.h"
#include "transport/net/remote_peer.h"
#include "transport/remote.h"
#include "tutti/status.h"

namespace tutti::transport::net {

struct Flow;
struct FrameHeader;
class Wire;

// The flows of a pair of ranks: all, and those that are looked at all the time.
struct FlowCount {
  int all = 1, first = 1;
};

// Threads: any, except NoteWritten and Await: the executor's.
class RemoteRank {
 public:
  using Credits = CutLinks::Credits;

  RemoteRank(RemotePeer who, FlowCount flows, const RingSizes& rings, Outgoing& outgoing, Incoming& incoming,
             const std::byte* pool, std::byte* memory);
  ~RemoteRank();

  const RemotePeer& who() const { return who_; }
  int flows() const { return static_cast<int>(flows_.size()); }
  int first_flows() const { return first_; }
  int connected() const { return connected_.load(std::memory_order_relaxed); }
  bool IsConnected(int flow) const;
  // Whether so much was under way just now that flows besides the first ones are of use.
  bool IsBusy() const;
  // What its flows were seen to carry together where they had enough to do; 0: not known.
  double BytesPerSecond() const;
  // What a flow has carried; the card is not known here.
  FlowPace PaceOf(int flow);
  // Whether so much has been sent or waits to be sent that more flows than one are of use.
  bool WantsMoreFlows() const { return wants_more_.load(std::memory_order_relaxed); }
  // What becomes ready where its flows can go on: those that one of `movers` threads serves; without that, all that movers do not.
  void AddWatched(std::vector<sys::Watched>& watched, int mover = 0, int movers = 0);

  // A new connection of a flow, instead of the one it had. The caller's side speaks first: what the other side says before may
  // have been read with the end of the hello.
  enum class Side : std::uint8_t { kCaller, kCalled };
  // `small_packets`: it was made for a network that loses large ones.
  void Join(int flow, Side side, std::unique_ptr<Wire> wire, std::uint64_t name, bool small_packets = false);

  void NoteWritten();
  void Await(const Awaited& message);
  // Takes what has come over each flow and sends what there is for it. Whether that was anything. Passes over a flow that another
  // thread is at, and over those that others serve.
  bool ExchangeAll(Credits credits);
  // Sends only, over the same flows.
  bool Send(Credits credits);
  // So many movers serve all flows but the first ones from now on; one of them exchanges what is its.
  // False: they did so already.
  bool LeaveToMovers(int movers) {
    return movers_.load(std::memory_order_relaxed) == 0 && movers_.exchange(movers) == 0;
  }
  bool ExchangeBy(int mover, int movers);
  // No data leave any more, and none are put where they were awaited. Connections end over which data were leaving.
  void Stop();
  // Tells the peer this rank's state, with everything that was sent before it.
  void Tell(const PeerState& own);

  // Whether data wait to be sent; whether data were written that it is not known to have consumed; whether anything waits, or is owed, that others may wait for.
  bool HasUnsent() const;
  bool HasUnconsumed() const;
  bool Unfinished(Credits credits) const;
  // The same, or something is not known to have reached the other host.
  bool Unacknowledged();
  // Whether the peer has to be told what was consumed of its data, or this rank's state: all of it once more after a connection has ended.
  bool Owes(Credits credits) const;

  RankState state() const { return state_.load(std::memory_order_acquire); }
  PeerState said() const;
  // Why the last connection ended; and whether one has ended because nothing arrived any more, here or there, as where a network
  // loses large packets without a word.
  Status why_lost() const;
  bool has_timed_out() const { return has_timed_out_.load(std::memory_order_relaxed); }

 private:
  struct Sink;
  struct Lost {
    int flow = 0;
    std::uint64_t name = 0;
    bool timed_out = false;  // nothing arrived over it any more
  };

  // Whether a thread has nothing else to do, or has just written something.
  enum class Caller : std::uint8_t { kWaits, kWrites };

  bool Exchange(int flow, Credits credits);
  int FlowsToServe();
  void AddWatched(Flow& flow, std::vector<sys::Watched>& watched);
  // With the flow's lock held.
  bool SendOver(Flow& flow, Credits credits, Caller caller);
  void Lose(Flow& flow, const Status& why);
  void Rate(Flow& flow);
  void NotePace(Flow& flow, std::int64_t now_ns, std::int64_t ns, std::uint64_t bytes);
  bool HasStalled(Flow& flow);
  // With the links' lock held.
  void Fill(Flow& flow, Credits credits, Caller caller);
  std::size_t MostOfPiece() const;
  void NoteUnderWay(std::size_t bytes);
  bool IsAlone(const Flow& flow) const;
  std::span<const std::unique_ptr<Flow>> Leading() const;
  static double FastestRate(std::span<const std::unique_ptr<Flow>> among);
  bool Leads(const Flow& flow) const;
  bool ShouldTake(const Flow& flow, std::size_t under_way) const;
  bool MayTake(const Flow& flow, std::size_t under_way, bool alone, bool leads, Caller caller) const;
  bool HelpsMovers(const Flow& flow) const;
  Status TakeFrame(const FrameHeader& header, std::span<const std::byte> payload, int flow);
  Status TakeState(const FrameHeader& header, std::span<const std::byte> payload, int flow);
  void NoteDrained(int flow);
  // With no lock held.
  void EndWhatThePeerHasLost();
  std::string Describe();  // how far the links and each flow are

  const RemotePeer who_;
  const int first_;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::atomic<int> movers_{0};
  std::atomic<bool> has_timed_out_{false};
  std::atomic<std::int64_t> busy_ns_{0};  // when much was under way last
  std::atomic<std::uint32_t> looks_{0};
  std::atomic<int> connected_{0};
  std::atomic<bool> wants_more_{false};

  mutable std::mutex mutex_;  // over what follows; taken after a flow's
  CutLinks links_;
  bool stopped_ = false;
  bool told_ = false, owes_state_ = false;  // this rank's own state; whether the peer has to be told
  PeerState own_;
  std::vector<Lost> to_tell_;  // connections that this side has lost
  std::vector<Lost> to_end_;   // and those that the other side has
  PeerState said_;
  std::uint32_t undrained_ = 0;  // flows on which data may lie that were sent before `said_`, one bit each
  Status why_lost_;
  std::atomic<RankState> state_{RankState::kReady};
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_REMOTE_RANK_H_
