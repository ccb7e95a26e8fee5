// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/copy_runner.h"

#include <algorithm>
#include <bit>

#include "exec/gpu/format/program.h"
#include "sys/os/clock.h"

namespace tutti::exec::gpu {
namespace {

using sys::cuda::Address;
using sys::cuda::Check;
using sys::cuda::MemoryOperation;
using sys::cuda::Stream;
using transport::p2p::CopyWords;

// How long Release lets a word be before it looks again: a stream gets through two waits for each operation.
constexpr std::int64_t kReleasePauseNs = 20'000;

constexpr std::size_t kReady = offsetof(CopyWords::Pair, ready), kDone = offsetof(CopyWords::Pair, done),
                      kSignals = offsetof(CopyWords::Pair, signals);
constexpr std::size_t PairAt(int rank) { return offsetof(CopyWords, pair) + rank * sizeof(CopyWords::Pair); }

std::uint32_t Bit(int rank) { return std::uint32_t{1} << rank; }

template <typename Use>
void ForEach(std::uint32_t ranks, Use&& use) {
  for (; ranks != 0; ranks &= ranks - 1) use(std::countr_zero(ranks));
}

bool IsLegacy(Stream stream) {
  return stream == nullptr || reinterpret_cast<std::uintptr_t>(stream) == sys::cuda::kLegacyStream;
}

// Of 32 bits. Comes after everything that the stream wrote before.
MemoryOperation Write(Address address, std::uint32_t value) {
  return {.operation = sys::cuda::kWriteWord, .address = address, .value = value};
}
MemoryOperation Await(Address address) {
  return {.operation = sys::cuda::kWaitWord, .address = address, .value = 1, .flags = sys::cuda::kUntilEqual};
}

std::atomic_ref<std::uint32_t> Word(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word));
}

}  // namespace

Status CopyRunner::Copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  if (to == from) return Status::Ok();
  const sys::cuda::Driver& d = *options_.driver;
  const int result = d.MemcpyAsync(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream);
  if (result == 0) [[likely]]
    return Status::Ok();
  return Check(d, result, "a copy into a peer's window");
}

Status CopyRunner::RunBatch(Stream stream, const char* what) {
  const sys::cuda::Driver& d = *options_.driver;
  const auto count = static_cast<unsigned>(operations_.size());
  return Check(d, d.StreamBatchMemOp(stream, count, operations_.data(), 0), what);
}

// Says that the operation has ended: in one write, `stage` and `ended`.
void CopyRunner::AddEnd(bool captured) {
  static_assert(offsetof(CopyWords, ended) == offsetof(CopyWords, stage) + 4);
  const Address stage = options_.words[options_.rank] + offsetof(CopyWords, stage);
  if (captured) {
    operations_.push_back(Write(stage, transport::p2p::kIdle));
    return;
  }
  const std::uint64_t ended = issued_.load(std::memory_order_relaxed);
  operations_.push_back(
      {.operation = sys::cuda::kWriteLong, .address = stage, .value = ended << 32 | transport::p2p::kIdle});
}

// Writes 1 to a word of this rank's at the peers in `tell`, waits for those of the peers in `await`, and resets them.
void CopyRunner::AddExchange(std::size_t word, std::uint32_t tell, std::uint32_t await) {
  const Address own = options_.words[options_.rank];
  ForEach(tell,
          [&](int peer) { operations_.push_back(Write(options_.words[peer] + PairAt(options_.rank) + word, 1)); });
  ForEach(await, [&](int peer) { operations_.push_back(Await(own + PairAt(peer) + word)); });
  ForEach(await, [&](int peer) { operations_.push_back(Write(own + PairAt(peer) + word, 0)); });
}

void CopyRunner::AddStage(std::uint32_t stage, std::uint32_t await, int way) {
  const Address own = options_.words[options_.rank];
  const std::uint32_t word =
      stage | static_cast<std::uint32_t>(way) << transport::p2p::kWayShift | await << transport::p2p::kPeersShift;
  operations_.push_back(Write(own + offsetof(CopyWords, stage), word));
}

// Says that this rank's output may be written, and waits for those of the peers that it writes to.
Status CopyRunner::Enter(const CopyLaunch& launch, Stream stream) {
  operations_.clear();
  AddStage(transport::p2p::kEntering, launch.list.writes_to, launch.way);
  AddExchange(kReady, launch.list.written_by, launch.list.writes_to);
  return RunBatch(stream, "waiting for peers' windows");
}

// Says that the peers' outputs have been written, and waits for this rank's.
Status CopyRunner::Leave(const CopyLaunch& launch, Stream stream, bool captured) {
  operations_.clear();
  AddStage(transport::p2p::kLeaving, launch.list.written_by, launch.way);
  AddExchange(kDone, launch.list.writes_to, launch.list.written_by);
  AddEnd(captured);
  return RunBatch(stream, "waiting for peers' copies");
}

const CopyLaunch& CopyRunner::Keep(const CopyList& list, std::span<std::byte* const> outputs, int way) {
  kept_.list = list;
  std::ranges::copy(outputs, kept_.outputs.begin());
  kept_.way = way;
  return kept_;
}

Status CopyRunner::Start(const CopyLaunch& launch, Stream stream, bool captured) {
  if (!captured) issued_.fetch_add(1, std::memory_order_release);
  const Status s = IsLegacy(stream) ? EnqueueBeside(launch, stream) : Enqueue(launch, stream, captured);
  if (!s.ok() && !captured) issued_.fetch_sub(1, std::memory_order_release);
  return s;
}

// In a stream beside the legacy default stream: a copy to another GPU that is called in that one waits for all that either
// GPU has to do, so for the peer that waits for it. It can not be captured.
Status CopyRunner::EnqueueBeside(const CopyLaunch& launch, Stream stream) {
  const Result<SideStreams::Side> side = sides_.Fork(stream);
  if (!side.ok()) return side.status();
  TUTTI_RETURN_IF_ERROR(Enqueue(launch, side->stream, false));
  TUTTI_RETURN_IF_ERROR(sides_.End(*side));
  return sides_.Join(*side, stream);
}

// Puts a rank's copy to itself into a stream beside this one, where it has copies to peers too: in one stream, two engines
// would wait for each other, 10 us more. The result's stream is null where there is no such stream.
Result<SideStreams::Side> CopyRunner::CopyToItself(const CopyList& list, std::byte* output, Stream stream) {
  const auto own =
      std::ranges::find(list.copies.begin(), list.copies.begin() + list.count, options_.rank, &CopyList::Copy::peer);
  if (own == list.copies.begin() + list.count || own->from == output + own->offset) return SideStreams::Side();
  if (list.sent_bytes == 0) {
    TUTTI_RETURN_IF_ERROR(Copy(output + own->offset, own->from, own->bytes, stream));
    return SideStreams::Side();
  }
  const OwnCopy copy{own->from, output + own->offset, own->bytes};
  return sides_.Copy(std::span(&copy, 1), stream);
}

Status CopyRunner::Enqueue(const CopyLaunch& launch, Stream stream, bool captured) {
  const CopyList& list = launch.list;
  const Result<SideStreams::Side> side = CopyToItself(list, launch.outputs[options_.rank], stream);
  if (!side.ok()) return side.status();
  TUTTI_RETURN_IF_ERROR(Enter(launch, stream));
  for (int i = 0; i < list.count; ++i) {
    const CopyList::Copy& copy = list.copies[i];
    if (copy.peer == options_.rank) continue;
    TUTTI_RETURN_IF_ERROR(Copy(launch.outputs[copy.peer] + copy.offset, copy.from, copy.bytes, stream));
  }
  TUTTI_RETURN_IF_ERROR(sides_.Join(*side, stream));
  return Leave(launch, stream, captured);
}

Status CopyRunner::Put(int peer, const void* from, std::byte* to, std::size_t bytes, Stream stream) {
  issued_.fetch_add(1, std::memory_order_release);
  Status s;
  if (bytes > 0) s = Copy(to, static_cast<const std::byte*>(from), bytes, stream);
  if (s.ok()) {
    const std::uint32_t count = ++signals_sent_[peer];
    operations_.clear();
    operations_.push_back(Write(options_.words[peer] + PairAt(options_.rank) + kSignals, count));
    AddEnd(false);
    s = RunBatch(stream, "signalling a peer");
  }
  if (!s.ok()) issued_.fetch_sub(1, std::memory_order_release);
  return s;
}

Status CopyRunner::AwaitSignals(std::span<const Awaited> awaited, Stream stream) {
  issued_.fetch_add(1, std::memory_order_release);
  const Address own = options_.words[options_.rank];
  std::uint32_t peers = 0;
  for (const Awaited& a : awaited) peers |= Bit(a.peer);
  operations_.clear();
  AddStage(transport::p2p::kAwaitingSignals, peers, 0);
  for (const Awaited& a : awaited) {
    const std::uint32_t total = signals_awaited_[a.peer].fetch_add(a.count) + a.count;
    operations_.push_back({.operation = sys::cuda::kWaitWord,
                           .address = own + PairAt(a.peer) + kSignals,
                           .value = total,
                           .flags = sys::cuda::kUntilGreaterOrEqual});
  }
  AddEnd(false);
  const Status s = RunBatch(stream, "waiting for a peer's signals");
  if (!s.ok()) issued_.fetch_sub(1, std::memory_order_release);
  return s;
}

bool CopyRunner::Pending() const {
  const CopyWords& own = *options_.own;
  return Word(own.ended).load(std::memory_order_acquire) != issued_.load(std::memory_order_acquire) ||
         Word(own.stage).load(std::memory_order_acquire) != transport::p2p::kIdle;
}

void CopyRunner::Release(std::int64_t most_ns) {
  CopyWords& own = *options_.own;
  const std::int64_t begin = sys::NowNs();
  while (Pending() && sys::NowNs() - begin < most_ns) {
    for (int peer = 0; peer < options_.ranks; ++peer) {
      Word(own.pair[peer].ready).store(1, std::memory_order_release);
      Word(own.pair[peer].done).store(1, std::memory_order_release);
      Word(own.pair[peer].signals).store(signals_awaited_[peer].load(), std::memory_order_release);
    }
    sys::SleepNs(kReleasePauseNs);
  }
  if (!Pending()) Word(own.drained).store(1, std::memory_order_release);
}

bool CopyRunner::Drained(int peer) const {
  return Word(options_.peers[peer]->drained).load(std::memory_order_acquire) != 0;
}

bool CopyRunner::WordSet(std::uint32_t stage, int peer) const {
  const CopyWords::Pair& pair = options_.own->pair[peer];
  if (stage == transport::p2p::kAwaitingSignals) {
    const std::uint32_t more = signals_awaited_[peer].load() - Word(pair.signals).load(std::memory_order_acquire);
    return static_cast<std::int32_t>(more) <= 0;
  }
  return Word(stage == transport::p2p::kEntering ? pair.ready : pair.done).load(std::memory_order_acquire) != 0;
}

std::optional<CopyWait> CopyRunner::Overdue(std::int64_t timeout_ns) {
  using namespace transport::p2p;  // NOLINT: the words' names
  std::uint32_t stage = Word(options_.own->stage).load(std::memory_order_acquire);
  const std::int64_t now = sys::NowNs();
  if (stage == kIdle) return std::nullopt;
  if ((stage & kSeen) == 0) {  // where the stream writes at this moment, it has gone on
    if (Word(options_.own->stage).compare_exchange_strong(stage, stage | kSeen)) since_ns_ = now;
    return std::nullopt;
  }
  if (now - since_ns_ <= timeout_ns) return std::nullopt;
  CopyWait wait{.stage = stage & kStageMask,
                .peer = options_.rank,
                .way = static_cast<int>(stage >> kWayShift) & (kMostWays - 1)};
  for (int peer = options_.ranks; peer-- > 0;) {
    if ((stage >> kPeersShift & Bit(peer)) != 0 && !WordSet(wait.stage, peer)) wait.peer = peer;
  }
  return wait;
}

}  // namespace tutti::exec::gpu
