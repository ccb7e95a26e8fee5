// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_SHM_SEGMENT_H_
#define TUTTI_TRANSPORT_SHM_SEGMENT_H_

// The shared pages of one rank. Each rank owns one segment, writes only there, and maps its peers' segments
// read-only: a rank can not damage what another one writes. Pools of peers in other processes are mapped a second time,
// writable, and only ever read through that: docs/decisions/0003-segments.md says what for.
//
//   +--------+-----------+---------------------------+------------------------+------------------------+
//   | header | black box | credits                   | outgoing rings         | pool                   |
//   | 4 KiB  | trace/    | [channel][sender] 64 B    | [channel][receiver]    | data of Simple's posts |
//   |        | layout.h  | what I consumed from them | LL units, LL128 lines, |                        |
//   |        |           |                           | posts                  |                        |
//   +--------+-----------+---------------------------+------------------------+------------------------+
//
// All offsets follow from (ranks, channels, bytes), which all ranks must agree on; Meet's payload carries them so that
// a difference is found at init.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sys/os/fd.h"
#include "sys/os/memory.h"
#include "transport/link.h"
#include "tutti/status.h"

namespace tutti::transport::shm {

// Where everything lies in a segment.
struct Geometry {
  int ranks = 1;
  int channels = 1;
  RingSizes rings;
  std::size_t box_bytes = 0;  // of the black box, which lies at kBoxOffset
  std::size_t credits_offset = 0;
  std::size_t rings_offset = 0;
  std::size_t lane_bytes = 0;  // one link's three rings
  std::size_t pool_offset = 0;
  std::size_t pool_bytes = 0;
  std::size_t bytes = 0;

  bool operator==(const Geometry& other) const;
};

// Rings shrink as links multiply, so that they take at most a third of `bytes` where that is possible at all; the
// pool gets the rest, and never less than 1 MiB or a third. The black box comes on top of `bytes`.
Geometry MakeGeometry(int ranks, int channels, std::size_t bytes);

using transport::RankState;

inline constexpr std::size_t kReasonBytes = 480;
inline constexpr std::size_t kNoteBytes = 512;

// The first page of a segment.
struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t rank;
  // Stored with release order after reason and culprit.
  std::atomic<RankState> state;
  // Rank that caused the failure, or -1.
  std::int32_t culprit;
  std::uint32_t code;
  char reason[kReasonBytes];
  // 1 while the owner sleeps in FutexWait on this word. A peer that has written something for the owner and sees 1
  // wakes it. Both sides may miss each other (no fence on the writer's side), so the sleep is short.
  alignas(64) std::atomic<std::uint32_t> asleep;
  // The core that the owner was last seen waiting on, or -1: whoever waits for it on the same one should step aside.
  alignas(64) std::atomic<std::int32_t> cpu;
  // Set once the owner has mapped everybody; init ends when all have.
  alignas(64) std::atomic<std::uint32_t> mapped;
  // For what ranks tell each other at init beyond that (comm/agree/measure.h): the owner fills in address and notes, then
  // raises `told` with release order.
  alignas(64) std::atomic<std::uint32_t> told;
  std::uint64_t address;
  std::byte notes[kNoteBytes];
  // How many collectives the owner has called, and the mark of the last (trace/call.h). Written before `state` becomes
  // kLeft.
  alignas(64) std::uint64_t collectives;
  std::uint64_t mark;
  // A value that a peer tries to read through the system call, at this address of the owner.
  alignas(64) std::uint64_t probe;
  std::uint64_t probe_address;
  // A thread of the owner that sleeps as long as its process lives (sys/os/sleeping_thread.h); 0: none.
  std::int32_t sleeper;
};
inline constexpr std::uint64_t kSegmentMagic = 0x3173756974747574;  // "tuttius1"
inline constexpr std::uint32_t kSegmentVersion = 9;

// Where the black box lies: other processes look for it there (`tutti top`).
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kBoxOffset = kHeaderBytes;
static_assert(sizeof(Header) <= kHeaderBytes);
// What shared pages of segments are called in /proc/PID/maps, and what else is called so to a part.
inline constexpr char kSegmentName[] = "tutti";

// One mapped segment, the own one (writable) or a peer's (read-only, but for the second mapping of its pool).
class Segment {
 public:
  Segment() = default;
  // The own segment: created, zeroed, header filled in. The descriptor to pass on is fd().
  static Result<Segment> Create(const Geometry& geometry, int rank);
  // A peer's, from the descriptor it passed. Checks magic, version, size and rank. A peer in this process has its pages
  // mapped already, and they are not mapped again; and a second mapping of the pool that fails is done without.
  static Result<Segment> Open(const Geometry& geometry, int rank, const sys::Fd& fd);

  Header* header() const { return reinterpret_cast<Header*>(base()); }
  proto::Credit* credit(int channel, int sender) const;
  proto::LlLine* ll(int channel, int receiver) const;
  proto::Ll128Line* ll128(int channel, int receiver) const;
  proto::Post* posts(int channel, int receiver) const;
  std::byte* box() const { return base() + kBoxOffset; }
  std::byte* pool() const { return base() + geometry_.pool_offset; }
  // The same pages, for whoever reads long messages (Incoming::PoolData): where there is one, through a mapping that would
  // let this process write. It is handed out for reading only. Some processors then pass lines on in a state in which
  // their owner overwrites them sooner.
  const std::byte* pool_for_long_messages() const {
    return pool_mapping_.data() != nullptr ? pool_mapping_.data() : pool();
  }
  // Gives the pool's pages back to the system; they return zeroed when touched. REQUIRES: the own segment, and no peer
  // reads the pool.
  Status ReleasePool();
  const Geometry& geometry() const { return geometry_; }
  // Closed by ReleaseFd once everybody has it.
  const sys::Fd& fd() const { return fd_; }
  void ReleaseFd() { fd_ = sys::Fd(); }

  // Publishes a failure for peers to see. The first one stays. Only on the own segment; any thread.
  void PublishFailure(Code code, const std::string& reason, int culprit);

 private:
  std::byte* base() const { return static_cast<std::byte*>(mapping_.data()); }
  std::byte* lane(int channel, int receiver) const;
  void MapPoolForLongMessages(const sys::Fd& fd);

  Geometry geometry_;
  sys::SharedMapping mapping_;
  sys::SharedMapping pool_mapping_;  // a peer's pool once more; none where `mapping_` is writable, or where it failed
  sys::Fd fd_;
};

}  // namespace tutti::transport::shm

#endif  // TUTTI_TRANSPORT_SHM_SEGMENT_H_
