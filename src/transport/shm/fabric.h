// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_SHM_FABRIC_H_
#define TUTTI_TRANSPORT_SHM_FABRIC_H_

// One rank's ends of all its links over shared pages, and what it knows of the ranks at their other ends. Ranks may be
// processes or threads of one process. Links to ranks of other hosts begin and end in this rank's pages like all others, and
// something else carries them (transport/remote.h).
//
//   Result<Fabric> fabric = Fabric::Create({.rank = 0, .ranks = 4, ...});
//   ... pass fabric->own().fd() to everybody; for each peer: fabric->Connect(peer, fd, process) ...
//   fabric->FinishConnecting();  then, once everybody has:  fabric->everyone_can_refer()

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sys/os/process.h"
#include "transport/link.h"
#include "transport/shm/segment.h"
#include "tutti/status.h"

namespace tutti::transport {
class RemoteLinks;
}

namespace tutti::transport::shm {

struct FabricOptions {
  int rank = 0;
  int ranks = 1;
  int channels = 1;
  std::size_t shared_bytes = 0;
  // False: never look into a peer's memory, not even to try.
  bool try_references = true;
};

using transport::PeerState;

// Memory that all ranks have mapped; numbered in the order in which it was made, alike on all ranks.
class Regions {
 public:
  struct Region {
    std::size_t bytes = 0;
    sys::SharedMapping own;
    std::vector<sys::SharedMapping> peers;      // by rank, writable; the own rank's is empty
    std::vector<std::uint64_t> peer_addresses;  // by rank: where that rank has its own mapped
  };
  int Add(Region region);
  // Region and offset of [data, data + bytes), if it lies in one of the own regions.
  bool Find(const void* data, std::size_t bytes, std::uint32_t* region, std::uint64_t* offset) const;
  const std::byte* Address(std::uint32_t region, int peer, std::uint64_t offset) const;
  const std::byte* OwnAddress(std::uint32_t region, std::uint64_t offset) const {
    return static_cast<const std::byte*>(regions_[region].own.data()) + offset;
  }
  // Where `bytes` bytes of a peer are mapped here that lie at `address` there; null where they are not in one of its regions.
  std::byte* InPeer(int peer, std::uint64_t address, std::size_t bytes) const;
  bool empty() const { return regions_.empty(); }

 private:
  std::vector<Region> regions_;
};

class Fabric {
 public:
  Fabric() = default;
  static Result<Fabric> Create(const FabricOptions& options);

  // Maps a peer's segment and finds out whether its memory can be read from here. Takes the own rank too (no effect).
  Status Connect(int peer, const sys::Fd& fd, sys::ProcessId process);
  // For a peer of another pid name space, whose `process` above is unknown: what shows its end, and its pid over there.
  void Watch(int peer, std::shared_ptr<const sys::Fd> handle, std::int32_t pid_there);
  // Prepares the links of channel 0 to a rank of another host; there are no others. Then SetRemote.
  void AddRemote(int peer);
  // What carries those links. REQUIRES: AddRemote for each rank that it serves.
  void SetRemote(std::shared_ptr<RemoteLinks> remote) { remote_ = std::move(remote); }
  bool IsRemote(int peer) const { return !remotes_.empty() && peer >= 0 && remotes_[peer]; }
  // Null where all ranks are on this host.
  RemoteLinks* remote() const { return remote_.get(); }

  // Tells the peers that this rank has mapped them all, and whether it can read all their memory.
  void FinishConnecting();
  // Of the ranks of this host: whether every one has got that far; and then, whether each can read every other's memory.
  // Asked again, it goes on with the first that had not.
  bool EveryoneConnected();
  bool EveryoneCanRefer() const;

  int rank() const { return options_.rank; }
  int ranks() const { return options_.ranks; }
  int channels() const { return options_.channels; }
  const RingSizes& rings() const { return own_.geometry().rings; }
  Segment& own() { return own_; }
  const Segment& own() const { return own_; }
  // A rank's pages as mapped here, the own ones included. REQUIRES: it is connected, and on this host.
  const Segment& segment(int rank) const { return rank == options_.rank ? own_ : peers_[rank]; }

  Outgoing& out(int channel, int peer) { return outgoing_[channel * options_.ranks + peer]; }
  Incoming& in(int channel, int peer) { return incoming_[channel * options_.ranks + peer]; }

  // Wakes `peer` if it sleeps; called after something was written that it may wait for. One of another host always counts as
  // asleep.
  void Nudge(int peer) {
    if (asleep_[peer]->load(std::memory_order_relaxed) != 0) [[unlikely]]
      Wake(peer);
  }
  // Sleeps until a peer nudges or `timeout_ns` has passed, unless `ready` says true after the sleep was announced. Where
  // `waits_for` is of another host: until something comes over the network.
  template <typename Ready>
  void Sleep(int waits_for, std::int64_t timeout_ns, Ready&& ready) {
    if (IsRemote(waits_for)) return DozeRemote(timeout_ns);
    std::atomic<std::uint32_t>& asleep = own_.header()->asleep;
    asleep.store(1, std::memory_order_seq_cst);
    if (!ready()) Doze(timeout_ns);
    asleep.store(0, std::memory_order_relaxed);
  }

  // The core that a rank was last seen waiting on.
  void PublishCpu(int cpu) {
    std::atomic<std::int32_t>& own = own_.header()->cpu;
    if (own.load(std::memory_order_relaxed) != cpu) own.store(cpu, std::memory_order_relaxed);
  }
  // -1 where it is not known, and of ranks of other hosts.
  int CpuOf(int peer) const { return IsRemote(peer) ? -1 : peers_[peer].header()->cpu.load(std::memory_order_relaxed); }

  // The peer's own word, and whether its process is still there. WhyGone costs a few system calls.
  RankState StateOf(int peer) const {
    return IsRemote(peer) ? RemoteState(peer) : peers_[peer].header()->state.load(std::memory_order_acquire);
  }
  PeerState Describe(int peer) const;
  // "died: its process is gone", or why it will never answer; empty while it is there.
  std::string WhyGone(int peer) const;
  const sys::ProcessId& process(int peer) const { return processes_[peer]; }
  // What shows the end of a peer of another pid name space; null for others, and where there is no such thing.
  std::shared_ptr<const sys::Fd> HandleOf(int peer) const;
  // "17", "17 of another pid name space" or "17 on host b".
  std::string PidOf(int peer) const;

  Regions& regions() { return regions_; }

 private:
  void Wake(int peer);
  void Doze(std::int64_t timeout_ns);
  void DozeRemote(std::int64_t timeout_ns);
  RankState RemoteState(int peer) const;
  Reach FindReach(int peer) const;
  // Whether system calls that name this thread reach into the memory of the peer's process.
  bool CanRead(int peer, std::int32_t thread) const;
  // By which thread to name it: one that sleeps is no slower for it.
  std::int32_t FindThread(int peer) const;

  FabricOptions options_;
  sys::ProcessId self_;
  Segment own_;
  std::vector<Segment> peers_;
  std::vector<sys::ProcessId> processes_;
  struct Foreigner {
    std::shared_ptr<const sys::Fd> handle;
    std::int32_t pid_there = 0;
  };
  std::map<int, Foreigner> foreigners_;  // by rank
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  Regions regions_;
  std::vector<const std::atomic<std::uint32_t>*> asleep_;  // by rank
  std::vector<bool> remotes_;                              // by rank: on another host; empty where none is
  std::shared_ptr<RemoteLinks> remote_;
  bool can_refer_to_all_ = true;
  int connected_ = 0;  // ranks from 0 on that were seen to be, by EveryoneConnected
};

// A look at the processes of many ranks: one that several ranks share is looked for once.
class ProcessLook {
 public:
  explicit ProcessLook(const Fabric& fabric) : fabric_(fabric) {}
  // As Fabric::WhyGone.
  std::string WhyGone(int peer);

 private:
  const Fabric& fabric_;
  sys::ProcessId there_;  // the last that was
};

}  // namespace tutti::transport::shm

#endif  // TUTTI_TRANSPORT_SHM_FABRIC_H_
