// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/fabric.h"

#include <fmt/format.h>

#include <algorithm>

#include "sys/os/futex.h"
#include "sys/os/sleeping_thread.h"
#include "transport/remote.h"

namespace tutti::transport::shm {
namespace {

// Values of Header::mapped.
constexpr std::uint32_t kMapped = 1;
constexpr std::uint32_t kMappedAndReadable = 2;

// What links to other hosts see in place of a peer's own word.
constexpr std::atomic<std::uint32_t> kAlways{1}, kNever{0};

}  // namespace

Result<Fabric> Fabric::Create(const FabricOptions& options) {
  Fabric f;
  f.options_ = options;
  f.self_ = sys::Self();
  const Geometry geometry = MakeGeometry(options.ranks, options.channels, options.shared_bytes);
  Result<Segment> own = Segment::Create(geometry, options.rank);
  if (!own.ok()) return own.status();
  f.own_ = std::move(*own);
  f.peers_.resize(options.ranks);
  f.processes_.resize(options.ranks);
  f.asleep_.resize(options.ranks, &kNever);
  f.outgoing_.resize(static_cast<std::size_t>(options.ranks) * options.channels);
  f.incoming_.resize(f.outgoing_.size());
  f.can_refer_to_all_ = options.try_references;
  if (options.try_references) {
    sys::AllowPeersToRead();
    f.own_.header()->sleeper = sys::SleepingThread();
  }
  return f;
}

Status Fabric::Connect(int peer, const sys::Fd& fd, sys::ProcessId process) {
  processes_[peer] = process;
  if (peer == options_.rank) return Status::Ok();
  Result<Segment> segment = Segment::Open(own_.geometry(), peer, fd);
  if (!segment.ok()) return segment.status();
  peers_[peer] = std::move(*segment);
  const Segment& theirs = peers_[peer];
  asleep_[peer] = &theirs.header()->asleep;
  const Reach reach = FindReach(peer);
  const std::int32_t thread = reach == Reach::kSystemCall ? FindThread(peer) : 0;
  if (reach == Reach::kNone) can_refer_to_all_ = false;
  for (int channel = 0; channel < options_.channels; ++channel) {
    Outgoing& tx = out(channel, peer);
    tx.ll = own_.ll(channel, peer);
    tx.ll128 = own_.ll128(channel, peer);
    tx.posts = own_.posts(channel, peer);
    tx.credit = theirs.credit(channel, options_.rank);
    Incoming& rx = in(channel, peer);
    rx.ll = theirs.ll(channel, options_.rank);
    rx.ll128 = theirs.ll128(channel, options_.rank);
    rx.posts = theirs.posts(channel, options_.rank);
    rx.credit = own_.credit(channel, peer);
    rx.short_pool = theirs.pool();
    rx.long_pool = theirs.pool_for_long_messages();
    rx.thread = thread;
    rx.reach = reach;
  }
  return Status::Ok();
}

void Fabric::AddRemote(int peer) {
  remotes_.resize(options_.ranks, false);
  remotes_[peer] = true;
  asleep_[peer] = &kAlways;
  Outgoing& tx = out(0, peer);
  tx.ll = own_.ll(0, peer);
  tx.ll128 = own_.ll128(0, peer);
  tx.posts = own_.posts(0, peer);
  Incoming& rx = in(0, peer);
  rx.credit = own_.credit(0, peer);
  rx.reach = Reach::kOtherHost;
}

bool Fabric::CanRead(int peer, std::int32_t thread) const {
  const Header* theirs = peers_[peer].header();
  std::uint64_t seen = 0;
  const Result<std::size_t> got =
      sys::ReadProcessMemory(thread, reinterpret_cast<const void*>(theirs->probe_address), &seen, sizeof(seen));
  return got.ok() && *got == sizeof(seen) && seen == theirs->probe;
}

Reach Fabric::FindReach(int peer) const {
  if (!options_.try_references) return Reach::kNone;
  if (processes_[peer] == self_) return Reach::kSameProcess;
  return CanRead(peer, processes_[peer].pid) ? Reach::kSystemCall : Reach::kNone;
}

std::int32_t Fabric::FindThread(int peer) const {
  const std::int32_t sleeper = peers_[peer].header()->sleeper;
  return sleeper != 0 && CanRead(peer, sleeper) ? sleeper : processes_[peer].pid;
}

void Fabric::FinishConnecting() {
  own_.ReleaseFd();
  own_.header()->state.store(RankState::kReady, std::memory_order_relaxed);
  own_.header()->mapped.store(can_refer_to_all_ ? kMappedAndReadable : kMapped, std::memory_order_release);
}

bool Fabric::EveryoneConnected() {
  for (; connected_ < options_.ranks; ++connected_) {
    if (connected_ == options_.rank || IsRemote(connected_)) continue;
    if (peers_[connected_].header()->mapped.load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

bool Fabric::EveryoneCanRefer() const {
  for (int peer = 0; peer < options_.ranks; ++peer) {
    if (IsRemote(peer)) continue;
    const Header* h = segment(peer).header();
    if (h->mapped.load(std::memory_order_acquire) != kMappedAndReadable) return false;
  }
  return true;
}

PeerState Fabric::Describe(int peer) const {
  if (IsRemote(peer)) return remote_->Describe(peer);
  const Header* h = peers_[peer].header();
  PeerState s;
  s.state = h->state.load(std::memory_order_acquire);
  // A rank writes what belongs to a state before it takes it on, and may be at that now.
  if (s.state == RankState::kLeft) {
    s.collectives = h->collectives;
    s.mark = h->mark;
  }
  if (s.state == RankState::kFailed) {
    s.code = static_cast<Code>(h->code);
    s.culprit = h->culprit;
    s.reason.assign(h->reason, strnlen(h->reason, kReasonBytes));
  }
  return s;
}

void Fabric::Watch(int peer, std::shared_ptr<const sys::Fd> handle, std::int32_t pid_there) {
  foreigners_[peer] = {.handle = std::move(handle), .pid_there = pid_there};
}

std::string Fabric::PidOf(int peer) const {
  if (IsRemote(peer)) return remote_->PidOf(peer);
  const auto foreigner = foreigners_.find(peer);
  if (foreigner == foreigners_.end()) return fmt::format("{}", processes_[peer].pid);
  return fmt::format("{} of another pid name space", foreigner->second.pid_there);
}

std::shared_ptr<const sys::Fd> Fabric::HandleOf(int peer) const {
  const auto foreigner = foreigners_.find(peer);
  return foreigner == foreigners_.end() ? nullptr : foreigner->second.handle;
}

std::string Fabric::WhyGone(int peer) const {
  if (IsRemote(peer)) return remote_ == nullptr ? "" : remote_->WhyGone(peer);
  bool gone = false;
  if (const auto foreigner = foreigners_.find(peer); foreigner != foreigners_.end()) {
    gone = foreigner->second.handle != nullptr && sys::ProbeHandle(*foreigner->second.handle) == sys::Liveness::kDead;
  } else if (peer != options_.rank && processes_[peer].pid != processes_[options_.rank].pid) {
    gone = sys::ProbeProcess(processes_[peer]) == sys::Liveness::kDead;
  }
  return gone ? "died: its process is gone" : "";
}

std::string ProcessLook::WhyGone(int peer) {
  const sys::ProcessId& process = fabric_.process(peer);
  if (process.pid != 0 && process == there_) return "";
  std::string why = fabric_.WhyGone(peer);
  if (why.empty()) there_ = process;
  return why;
}

int Regions::Add(Region region) {
  regions_.push_back(std::move(region));
  return static_cast<int>(regions_.size()) - 1;
}

bool Regions::Find(const void* data, std::size_t bytes, std::uint32_t* region, std::uint64_t* offset) const {
  const auto* first = static_cast<const std::byte*>(data);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const auto* base = static_cast<const std::byte*>(regions_[i].own.data());
    if (first >= base && first + bytes <= base + regions_[i].bytes) {
      *region = static_cast<std::uint32_t>(i);
      *offset = static_cast<std::uint64_t>(first - base);
      return true;
    }
  }
  return false;
}

const std::byte* Regions::Address(std::uint32_t region, int peer, std::uint64_t offset) const {
  return static_cast<const std::byte*>(regions_[region].peers[peer].data()) + offset;
}

std::byte* Regions::InPeer(int peer, std::uint64_t address, std::size_t bytes) const {
  for (const Region& region : regions_) {
    const std::uint64_t offset = address - region.peer_addresses[peer];  // of one before the region: too large
    if (offset <= region.bytes && bytes <= region.bytes - offset) return region.peers[peer].data() + offset;
  }
  return nullptr;
}

RankState Fabric::RemoteState(int peer) const {
  return remote_ == nullptr ? RankState::kStarting : remote_->StateOf(peer);
}

void Fabric::DozeRemote(std::int64_t timeout_ns) { remote_->Sleep(timeout_ns); }

void Fabric::Wake(int peer) {
  if (IsRemote(peer)) return remote_->Written(peer);
  sys::FutexWakeAll(&peers_[peer].header()->asleep);
}

void Fabric::Doze(std::int64_t timeout_ns) { sys::FutexWait(&own_.header()->asleep, 1, timeout_ns); }

}  // namespace tutti::transport::shm
