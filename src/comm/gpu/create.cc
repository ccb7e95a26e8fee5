// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The life of a GpuCommunicator: segments allocated and exchanged, every pair tried, everything given back.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/keep_for_ever.h"
#include "base/log.h"
#include "comm/agree/gpu_machine.h"
#include "comm/gpu/impl.h"
#include "comm/host/waiter.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"

namespace tutti {
namespace {

using exec::gpu::HostWords;
using sys::cuda::ScopedContext;
using transport::p2p::Fabric;
using transport::p2p::Geometry;
using transport::p2p::Identity;
using transport::p2p::kMaxRanks;
using transport::p2p::kSeats;
using transport::p2p::Memory;
using transport::p2p::Place;
using transport::p2p::Round;
using transport::p2p::Sections;

// How long kernels may take to end after an abort, and how often they are asked whether they have.
constexpr std::int64_t kAbortNs = 2 * sys::kNsPerSecond;
constexpr std::int64_t kShortestPauseNs = 20'000, kLongestPauseNs = sys::kNsPerMs;
// How long the trial of all pairs may take: the last rank's kernel must have started by then.
constexpr std::int64_t kTrialNs = 5 * sys::kNsPerSecond;
// The first compute capability whose launches overlap (WaitForPreviousKernel), and that has clusters.
constexpr int kHopper = 9;
// Behind the kernels' words: what barriers use, what the trial uses, and a copy of the counts of launches.
constexpr std::size_t kBarrierAt = exec::gpu::Failures::kSlots * sizeof(HostWords), kSeenAt = kBarrierAt + 64,
                      kCountsAt = kBarrierAt + 128;
static_assert(kSeenAt + kSeats * sizeof(std::uint32_t) <= kCountsAt);
constexpr std::size_t kHostBytes = kBarrierAt + 256;

struct GpuGreeting {
  Identity identity;
  Sections sections;
};
static_assert(std::is_trivially_copyable_v<GpuGreeting>);

// Whether any variable whose name begins so was set.
bool IsSet(const Settings& settings, std::string_view prefix) {
  return std::ranges::any_of(settings.origins, [&](const auto& origin) { return origin.first.starts_with(prefix); });
}

// The limit that is the narrowest.
int MostChannels(const tune::GpuMachine& machine, const GpuOptions& options, const Settings& settings) {
  const bool set = IsSet(settings, "NCCL_MAX_");
  const int most = set ? std::min(options.max_channels, settings.max_channels) : options.max_channels;
  return std::clamp(most, 1, machine.most_channels);
}
int LeastChannels(const GpuOptions& options, const Settings& settings) {
  const bool set = IsSet(settings, "NCCL_MIN_");
  return std::max(set ? std::max(options.min_channels, settings.min_channels) : options.min_channels, 1);
}

// That links of any kind have, for collectives.
int MostChannels(const Sections& sections, proto::Protocol protocol) {
  int most = 0;
  for (int s = sections.many() ? sections.rounds() : 0; s < sections.count(); ++s) {
    most = std::max(most, sections.At(s).collectives.Channels(static_cast<int>(protocol)));
  }
  return most;
}

// Whether peer access is switched off.
bool ForbidsPeerAccess(const Settings& settings) {
  return settings.p2p_disable || settings.p2p_level == "LOC" || settings.p2p_level == "0";
}

Sections SectionsFor(int ranks, const tune::GpuMachine& machine, const GpuOptions& options, const Settings& settings) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(options.scratch_bytes, 0));
  return Sections::Fit(ranks, MostChannels(machine, options, settings), std::min(bytes, machine.most_scratch_bytes));
}

}  // namespace

// What every rank says of itself; the first error by rank, on all of them.
Status GpuCommunicator::Impl::AgreeOnAll(const Status& own, const char* what) {
  struct Verdict {
    std::int32_t code;
    std::int32_t peer;
    char sentence[504];
  };
  Verdict mine{};
  mine.code = static_cast<std::int32_t>(own.code());
  mine.peer = own.peer();
  std::strncpy(mine.sentence, own.message().c_str(), sizeof(mine.sentence) - 1);
  std::vector<Verdict> all(host.ranks);
  if (host.ranks == 1) return own;
  TUTTI_RETURN_IF_ERROR(communicator.Run({.kind = Collective::kAllGather,
                                          .in = &mine,
                                          .out = all.data(),
                                          .count = sizeof(Verdict),
                                          .type = DataType::kUint8}));
  for (int rank = 0; rank < host.ranks; ++rank) {
    if (all[rank].code == 0) continue;
    if (rank == host.rank) return own;
    return host.InParent(
        Status(static_cast<Code>(all[rank].code), fmt::format("rank {} {}: {}", rank, what, all[rank].sentence), rank));
  }
  return Status::Ok();
}

Status GpuCommunicator::Impl::HandAround(std::span<const std::byte> offer, const sys::Fd& shared, const OnOffer& take) {
  const Result<UniqueId> id = comm::NextId(host.id, ++host.shared_allocations);
  if (!id.ok()) return id.status();
  Status taken;
  const Status met = comm::Meet(
      {.id = *id,
       .rank = host.rank,
       .ranks = host.ranks,
       .timeout_ms = host.settings.init_timeout_ms,
       .payload = offer,
       .shared = shared.valid() ? &shared : nullptr,
       .look = [this] { return host.FindDead(); }},
      [&](int peer, comm::Member&& member) -> Status {
        if (member.payload.size() != offer.size()) {
          return Status(Code::kRemote, fmt::format("rank {} runs another build of Tutti than rank {}", peer, host.rank),
                        peer);
        }
        const Status s = take(peer, member.payload.data(), member.shared);
        if (taken.ok()) taken = s;
        return Status::Ok();
      });
  return met.ok() ? taken : host.InParent(met);
}

// Exchanges segments with all ranks. kUnsupported where one can not be reached.
Status GpuCommunicator::Impl::MeetPeers() {
  const GpuGreeting greeting{.identity = fabric->identity(), .sections = fabric->sections()};
  return HandAround(
      std::as_bytes(std::span(&greeting, 1)), fabric->descriptor(),
      [&](int peer, const std::byte* offer, const sys::Fd& shared) -> Status {
        GpuGreeting theirs;
        std::memcpy(&theirs, offer, sizeof(theirs));
        if (std::memcmp(&theirs.sections, &greeting.sections, sizeof(Sections)) != 0) {
          return Status(Code::kInvalidUsage,
                        fmt::format("ranks {} and {} ask for different scratch_bytes or max_channels", host.rank, peer),
                        peer);
        }
        return fabric->Connect(peer, theirs.identity, shared);
      });
}

// Every rank stores a word at every peer while all ranks' kernels run, and sees theirs: only this shows that a pair can
// really talk.
Status GpuCommunicator::Impl::TryPeers() {
  const Sections& sections = fabric->sections();
  for (int r = 0; r < sections.rounds(); ++r) {
    std::vector<int> rank_of;
    for (int seat = 0; seat < std::min(host.ranks, kSeats); ++seat) {
      rank_of.push_back(sections.many() ? Round(host.ranks, r, host.rank).RankAt(seat) : seat);
    }
    TUTTI_RETURN_IF_ERROR(TryPeersIn(r, rank_of));
  }
  return Status::Ok();
}

// The same of the ranks that have seats in a section; -1: nobody.
Status GpuCommunicator::Impl::TryPeersIn(int section, const std::vector<int>& rank_of) {
  const Geometry& g = fabric->sections().At(section).collectives;
  const std::size_t begin = fabric->sections().Begin(section);
  const auto seats = static_cast<int>(rank_of.size());
  const auto self = static_cast<int>(std::ranges::find(rank_of, host.rank) - rank_of.begin());
  exec::gpu::Handshake handshake{};
  for (int seat = 0; seat < seats; ++seat) {
    const int rank = rank_of[static_cast<std::size_t>(seat)];
    handshake.segments[seat] = fabric->segment(rank < 0 ? host.rank : rank) + begin;
    // Where nobody sits, this rank stores the word that it waits for itself.
    if (seat != self) handshake.peer_word[seat] = g.Handshake(rank < 0 ? Place(self, seat) : Place(seat, self));
  }
  handshake.own_words = g.Handshake(0);
  handshake.rank = self;
  handshake.ranks = seats;
  handshake.token = 0x7475747469;  // all segments are fresh and hold zeros
  handshake.timeout_ns = kTrialNs;
  auto* seen_here = reinterpret_cast<volatile std::uint32_t*>(static_cast<std::byte*>(words.host()) + kSeenAt);
  handshake.seen = reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(words.device()) + kSeenAt);
  for (int seat = 0; seat < seats; ++seat) seen_here[seat] = 0;                  // of a trial before this one
  const Result<sys::cuda::Kernel> kernel = executor.launcher().FindHandshake();  // loaded by Connect, on all ranks
  if (!kernel.ok()) return kernel.status();
  TUTTI_RETURN_IF_ERROR(executor.launcher().StartHandshake(*kernel, handshake, inner));
  TUTTI_RETURN_IF_ERROR(sys::cuda::Check(*driver, driver->StreamSynchronize(inner), "the trial of GPU peer access"));
  for (int seat = 0; seat < seats; ++seat) {
    const int peer = rank_of[static_cast<std::size_t>(seat)];
    if (peer < 0 || peer == host.rank || seen_here[seat] != 0) continue;
    if (fabric->staged()) {
      return Status(
          Code::kSystem,
          fmt::format("the GPU of rank {} did not see a store from the GPU of rank {} into host memory within "
                      "{} s; look for errors of the GPUs in the kernel's log (dmesg, Xid)",
                      host.rank, peer, kTrialNs / sys::kNsPerSecond),
          peer);
    }
    return Status(
        Code::kUnsupported,
        fmt::format("the GPU of rank {} did not see a store from the GPU of rank {} within {} s, although the "
                    "driver calls them peers; check `nvidia-smi topo -m`, IOMMU and ACS settings",
                    host.rank, peer, kTrialNs / sys::kNsPerSecond),
        peer);
  }
  return Status::Ok();
}

Status GpuCommunicator::Impl::Connect() {
  if (host.ranks > kMaxRanks) {
    return Status(Code::kUnsupported,
                  fmt::format("{} ranks: at most {} can use device memory on one host", host.ranks, kMaxRanks));
  }
  Result<sys::cuda::PrimaryContext> retained = sys::cuda::PrimaryContext::Retain(driver, options.device);
  Status own = retained.status();
  if (own.ok()) context = std::move(*retained);
  TUTTI_RETURN_IF_ERROR(AgreeOnAll(own, "has no GPU"));
  const ScopedContext scope(driver, context.get());

  Result<sys::cuda::MappedHostMemory> host_words = sys::cuda::MappedHostMemory::Create(driver, kHostBytes);
  own = host_words.status();
  if (host_words.ok()) words = std::move(*host_words);
  if (own.ok()) {
    own = sys::cuda::Check(*driver, driver->StreamCreate(&inner, sys::cuda::kNonBlocking), "a CUDA stream");
  }
  TUTTI_RETURN_IF_ERROR(AgreeOnAll(own, "could not get its GPU memory"));
  if (host.ranks > 1) {  // one rank alone waits for nobody, and may load its few kernels when it needs them
    TUTTI_RETURN_IF_ERROR(AgreeOnAll(executor.launcher().LoadAll(), "could not load its GPU kernels"));
  }

  const bool staged = host.ranks > 1 && ForbidsPeerAccess(host.settings);
  Status connected = ConnectSegments(staged ? Memory::kHost : Memory::kDevice);
  if (!staged && connected.code() == Code::kUnsupported) {  // so on all ranks
    if (host.rank == 0) {
      TUTTI_WARN(
          "{} some GPUs do not reach each other: {}. Operations on device memory go through host memory, which is "
          "slower",
          host.who, connected.message());
    }
    connected = ConnectSegments(Memory::kHost);
  }
  if (connected.code() == Code::kUnsupported) connected = ConnectSegments(Memory::kPages);
  TUTTI_RETURN_IF_ERROR(connected);
  return SetLimits();
}

// Makes this rank's segment and connects it with all others, in device or in host memory. The same error on all ranks;
// kUnsupported where two GPUs do not reach each other's memory.
Status GpuCommunicator::Impl::ConnectSegments(Memory memory) {
  const bool staged = memory != Memory::kDevice;
  const sys::ProcessId self = sys::Self();
  const Result<tune::GpuMachine> agreed =
      comm::AgreeOnGpuMachine(communicator, host.settings, comm::ProfileOf(*driver, options.device), staged, host.who);
  if (!agreed.ok()) return agreed.status();
  machine = *agreed;
  fabric.reset();
  Result<Fabric> created = Fabric::Create({.driver = driver,
                                           .device = options.device,
                                           .rank = host.rank,
                                           .sections = SectionsFor(host.ranks, machine, options, host.settings),
                                           .process = self.pid,
                                           .start = self.start_ticks,
                                           .force_ipc = options.legacy_ipc,
                                           .memory = memory});
  if (created.ok()) fabric = std::make_unique<Fabric>(std::move(*created));
  TUTTI_RETURN_IF_ERROR(AgreeOnAll(created.status(), "could not get its GPU memory"));
  if (host.ranks == 1) return Status::Ok();

  TUTTI_RETURN_IF_ERROR(AgreeOnAll(MeetPeers(), "could not reach a peer's GPU memory"));
  fabric->CloseDescriptor();
  return AgreeOnAll(TryPeers(), "could not reach a peer's GPU");
}

// What every operation needs to know of this GPU and of its neighbours.
Status GpuCommunicator::Impl::SetLimits() {
  const bool alone = fabric->RanksOnGpuOf(host.rank) <= 1;
  int capability = 0;
  driver->DeviceGetAttribute(&capability, sys::cuda::kComputeCapabilityMajor, context.device());
  if (alone && capability >= kHopper && options.overlap_launches) {
    const int most = tune::MostBlocks(machine, fabric->multiprocessors(host.rank), 1);
    executor.overlap_limit().SetTo(most / 2, most / machine.beside_parts);
  }
  int multiprocessors = INT_MAX;  // for every rank: blocks of ranks that share a GPU must all be there at once
  bool shared = false;
  for (int peer = 0; peer < host.ranks; ++peer) {
    const int sharing = fabric->RanksOnGpuOf(peer);
    shared |= sharing > 1;
    multiprocessors = std::min(multiprocessors, tune::MostBlocks(machine, fabric->multiprocessors(peer), sharing));
  }
  blocks_where_shared = shared ? multiprocessors : 0;
  most_blocks = std::min(MostChannels(machine, options, host.settings), multiprocessors);
  const int part = std::clamp(std::max(std::min(machine.team_blocks, multiprocessors / machine.team_parts),
                                       LeastChannels(options, host.settings)),
                              1, most_blocks);
  // What decides about the way of an operation must be the same on all ranks.
  const int own[2] = {fabric->LinesArriveWhole() ? 1 : 0, part};
  int all[2] = {own[0], own[1]};
  if (host.ranks > 1) {
    TUTTI_RETURN_IF_ERROR(communicator.Run(AllReduce(std::span(own), std::span(all), ReduceOp::kMin)));
  }
  const bool whole_lines = all[0] != 0;
  const int team_blocks = all[1];
  SetUpExecutor({.cuts = machine.cuts,
                 .most_blocks = most_blocks,
                 .team_blocks = team_blocks,
                 .whole_lines = whole_lines,
                 .own_beside_bytes = team_blocks <= machine.own_beside_blocks ? machine.own_beside_bytes : SIZE_MAX,
                 .sent_beside_bytes = team_blocks <= machine.sent_beside_blocks ? machine.own_beside_bytes : SIZE_MAX});
  // Clusters of ranks that share a GPU could keep each other out.
  if (alone && capability >= kHopper) executor.launcher().UseClustersUpTo(machine.team_blocks);
  if (host.ranks > 1) presence.Begin(options.device);
  tune::GpuChooserOptions choosing{
      .ranks = host.ranks,
      .max_channels = std::min(most_blocks, MostChannels(fabric->sections(), proto::Protocol::kLl)),
      .max_simple_channels = MostChannels(fabric->sections(), proto::Protocol::kSimple),
      .min_channels = LeastChannels(options, host.settings),
      .direct = true,
      .most_peers = kSeats - 1,
      .rounds = fabric->sections().rounds(),
      .whole_lines = whole_lines,
      .machine = machine,
      .algo_filter = host.settings.algo,
      .proto_filter = host.settings.proto};
  Result<tune::GpuChooser> made = tune::GpuChooser::Create(choosing);
  if (!made.ok()) return made.status();
  chooser = std::move(*made);
  choosing.direct = false;  // batches are run by the interpreter
  made = tune::GpuChooser::Create(choosing);
  if (!made.ok()) return made.status();
  batch_chooser = std::move(*made);
  return Status::Ok();
}

void GpuCommunicator::Impl::SetUpExecutor(const exec::gpu::GroupLimits& limits) {
  std::vector<std::byte*> segments;
  for (int peer = 0; peer < host.ranks; ++peer) segments.push_back(fabric->segment(peer));
  barrier_bytes = static_cast<std::byte*>(words.device()) + kBarrierAt;
  executor.SetUp(host.rank, {.sections = fabric->sections(),
                             .segments = segments,
                             .state_shifts = fabric->state_shifts(),
                             .host_words = static_cast<HostWords*>(words.host()),
                             .device_words = static_cast<HostWords*>(words.device()),
                             .timeout_ns = static_cast<std::uint64_t>(host.settings.timeout_ms) * sys::kNsPerMs,
                             .limits = limits});
}

// Waits until this communicator's kernels have ended; false where some have not after `timeout_ns`. Asks by a copy on a
// stream of its own, since waiting for the context would wait for everybody's kernels.
bool GpuCommunicator::Impl::AwaitKernels(std::int64_t timeout_ns) {
  const auto* counts =
      reinterpret_cast<const transport::p2p::LaunchCounts*>(static_cast<std::byte*>(words.host()) + kCountsAt);
  const auto to = reinterpret_cast<sys::cuda::Address>(words.device()) + kCountsAt;
  const auto from = reinterpret_cast<sys::cuda::Address>(fabric->counts());
  const std::int64_t begin = sys::NowNs();
  std::int64_t pause_ns = kShortestPauseNs;
  while (true) {
    if (driver->MemcpyAsync(to, from, sizeof(*counts), inner) != 0) return true;
    if (driver->StreamSynchronize(inner) != 0) return true;
    const bool kernels_ended =
        counts->ended == executor.ends_to_count() && counts->captured_begun == counts->captured_ended;
    if (kernels_ended && !windows->Pending()) return true;
    if (executor.failures().ending()) windows->Release();
    if (sys::NowNs() - begin > timeout_ns) return false;
    sys::SleepNs(pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestPauseNs);
  }
}

bool GpuCommunicator::Impl::Drain() {
  if (context.get() == nullptr || words.host() == nullptr || inner == nullptr || fabric == nullptr) return true;
  const ScopedContext scope(driver, context.get());
  if (host.broken.load(std::memory_order_relaxed)) executor.failures().EndKernels();
  bool ended = AwaitKernels(host.settings.timeout_ms * sys::kNsPerMs + kAbortNs);
  if (!ended) {
    executor.failures().EndKernels();
    ended = AwaitKernels(kAbortNs);
  }
  windows->Release();
  if (host.broken.load(std::memory_order_relaxed)) windows->AwaitPeers();
  return ended;
}

GpuCommunicator::Impl::~Impl() {
  const bool ended = Drain();
  if (context.get() == nullptr) return;
  const ScopedContext scope(driver, context.get());
  if (!ended) {  // a kernel that still runs must find its memory
    KeepForEver(std::move(fabric));
    KeepForEver(std::move(words));
    KeepForEver(std::move(windows));
    KeepForEver(std::move(executor.sides()));
    return;
  }
  if (inner != nullptr) driver->StreamDestroy(inner);
  executor.sides().reset();
  windows.reset();
  fabric.reset();
  words = {};
}

// A kernel's own report, once.
Status GpuCommunicator::Impl::KernelFailure() {
  const std::optional<exec::gpu::FailedWait> failed = executor.failures().Find();
  if (!failed) return Status::Ok();
  return Status(
      Code::kTimeout,
      fmt::format("rank {} gave up an operation on its GPU: {} for TUTTI_TIMEOUT_MS={}; raise it if that rank "
                  "may be so late, else find out what holds it up (of several communicators, the order of their calls "
                  "may differ between ranks)",
                  host.rank, exec::gpu::Describe(*failed), host.settings.timeout_ms),
      failed->peer);
}

Result<GpuCommunicator> GpuCommunicator::Create(Communicator& communicator, const GpuOptions& options) {
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  auto impl = std::make_unique<Impl>(communicator, options, driver.ok() ? *driver : nullptr);
  TUTTI_RETURN_IF_ERROR(impl->AgreeOnAll(driver.status(), "can not use GPUs"));
  TUTTI_RETURN_IF_ERROR(impl->Connect());
  return GpuCommunicator(std::move(impl));
}

GpuCommunicator::GpuCommunicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuCommunicator::GpuCommunicator(GpuCommunicator&&) noexcept = default;
GpuCommunicator& GpuCommunicator::operator=(GpuCommunicator&&) noexcept = default;
GpuCommunicator::~GpuCommunicator() = default;

Status GpuCommunicator::Impl::EndIfBroken() {
  if (const Status failure = KernelFailure(); !failure.ok()) host.Break(failure);
  if (const Status failure = windows->Overdue(); !failure.ok()) host.Break(failure);
  if (!host.broken.load(std::memory_order_relaxed)) return Status::Ok();
  presence.End();
  executor.failures().EndKernels();
  windows->Release();
  return host.Broken();
}

Status GpuCommunicator::Check() {
  Impl& c = *impl_;
  TUTTI_RETURN_IF_ERROR(c.EndIfBroken());
  const Status peers = c.host.waiter.TestPeers();
  if (peers.ok()) return peers;
  c.host.Break(peers);
  return c.EndIfBroken();
}

void GpuCommunicator::Abort(const std::string& reason) {
  impl_->executor.failures().EndKernels();
  impl_->communicator.Abort(reason);
}

std::size_t GpuCommunicator::device_bytes() const { return impl_->fabric->device_bytes(); }
std::size_t GpuCommunicator::host_bytes() const { return impl_->fabric->host_bytes(); }

}  // namespace tutti
