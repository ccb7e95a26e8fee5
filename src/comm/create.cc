// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "comm/bootstrap.h"
#include "comm/impl.h"
#include "comm/launch.h"
#include "comm/machine_file.h"
#include "comm/unique_id.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace tutti {
namespace {

using transport::shm::Fabric;
using transport::shm::RankState;

constexpr std::int64_t kNsPerMs = 1000000;
// How long a wait for a peer on another core spins: with a core for each rank, and where they share cores (about what
// it costs to switch to another rank and back).
constexpr std::int64_t kSpinNs = 10000;
constexpr std::int64_t kCrowdedSpinNs = 700;
constexpr int kCrowdedPolls = 20;
// Ranks beyond which one channel has to do, so that the rings of all links stay small.
constexpr int kManyRanks = 256;

// What each rank tells the others when they meet. The cost model's constants and the filters of rank 0 hold for all.
struct Greeting {
  std::uint64_t shared_bytes;
  std::uint32_t channels;
  std::uint32_t single_copy;
  tune::Machine machine;
  char algo[256];
  char proto[128];
};
static_assert(std::is_trivially_copyable_v<Greeting>);

Status Fit(std::string_view text, std::string_view variable, std::span<char> space) {
  if (text.size() >= space.size()) {
    return Status(Code::kInvalidUsage, fmt::format("{} is {} characters long; at most {} are possible", variable,
                                                   text.size(), space.size() - 1));
  }
  std::memset(space.data(), 0, space.size());
  std::memcpy(space.data(), text.data(), text.size());
  return Status::Ok();
}

int Channels(const CommunicatorOptions& options) {
  return options.ranks > kManyRanks ? 1 : std::max(1, options.settings.max_channels);
}

Status CheckGreeting(const Greeting& own, const Greeting& theirs, int rank, int peer) {
  if (own.shared_bytes == theirs.shared_bytes && own.channels == theirs.channels) return Status::Ok();
  return Status(
      Code::kInvalidUsage,
      fmt::format("ranks {} and {} have different settings: TUTTI_SHARED_BYTES {} and {}, NCCL_MAX_NCHANNELS {} "
                  "and {}; set them alike on all ranks",
                  rank, peer, own.shared_bytes, theirs.shared_bytes, own.channels, theirs.channels),
      peer);
}

}  // namespace

Communicator::Impl::Impl(const CommunicatorOptions& options)
    : rank(options.rank), ranks(options.ranks), settings(options.settings), id(options.id) {}

Communicator::Impl::~Impl() { Leave(); }

// Finds the other ranks, maps their shared pages, agrees on what all must know, and waits until all are that far.
Status Communicator::Impl::Connect(const CommunicatorOptions& options) {
  const std::int64_t deadline_ns = sys::NowNs() + settings.init_timeout_ms * kNsPerMs;
  Greeting greeting{};
  greeting.shared_bytes = settings.shared_bytes;
  greeting.channels = Channels(options);
  greeting.single_copy = static_cast<std::uint32_t>(settings.single_copy);
  const Result<tune::Machine> machine = comm::LoadMachine(settings);
  if (!machine.ok()) return machine.status();
  greeting.machine = *machine;
  TUTTI_RETURN_IF_ERROR(Fit(settings.algo, "NCCL_ALGO", greeting.algo));
  TUTTI_RETURN_IF_ERROR(Fit(settings.proto, "NCCL_PROTO", greeting.proto));

  Result<Fabric> created = Fabric::Create({.rank = rank,
                                           .ranks = ranks,
                                           .channels = static_cast<int>(greeting.channels),
                                           .shared_bytes = static_cast<std::size_t>(settings.shared_bytes),
                                           .try_references = settings.single_copy != SingleCopy::kOff});
  if (!created.ok()) return created.status();
  fabric = std::make_unique<Fabric>(std::move(*created));
  Greeting common = greeting;
  const Status met =
      comm::Meet({.id = options.id,
                  .rank = rank,
                  .ranks = ranks,
                  .timeout_ms = settings.init_timeout_ms,
                  .payload = std::as_bytes(std::span(&greeting, 1)),
                  .shared = &fabric->own().fd()},
                 [&](int peer, comm::Member&& member) -> Status {
                   Greeting theirs;
                   if (member.payload.size() != sizeof(theirs)) {
                     return Status(Code::kRemote,
                                   fmt::format("rank {} runs another build of Tutti than rank {}", peer, rank), peer);
                   }
                   std::memcpy(&theirs, member.payload.data(), sizeof(theirs));
                   TUTTI_RETURN_IF_ERROR(CheckGreeting(greeting, theirs, rank, peer));
                   if (peer == 0) common = theirs;
                   return fabric->Connect(peer, member.shared, member.process);
                 });
  if (!met.ok()) return met;
  fabric->FinishConnecting();
  TUTTI_RETURN_IF_ERROR(WaitForEveryone(deadline_ns));

  settings.algo = common.algo;
  settings.proto = common.proto;
  settings.single_copy = static_cast<SingleCopy>(common.single_copy);
  engine = std::make_unique<exec::cpu::Engine>(fabric.get(), rank, ranks);
  return CreateChooser(common.machine);
}

Status Communicator::Impl::CreateChooser(const tune::Machine& machine) {
  cpus = sys::UsableCpus();
  crowded = ranks > cpus;
  const int channels = fabric == nullptr ? 1 : fabric->channels();
  Result<tune::Chooser> result = tune::Chooser::Create(
      {.ranks = ranks,
       .cpus = cpus,
       .machine = machine,
       .algo_filter = settings.algo,
       .proto_filter = settings.proto,
       .can_refer = fabric != nullptr && settings.single_copy != SingleCopy::kOff && fabric->EveryoneCanRefer(),
       .force_reference = settings.single_copy == SingleCopy::kForce,
       .min_channels = std::min(std::max(settings.min_channels, 1), channels),
       .max_channels = channels,
       .chunk_bytes = [rules = engine->chunks()](
                          const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference,
                          int channels) { return rules.ForPlan(footprint, protocol, by_reference, channels); },
       .transfer_chunk_bytes = [rules = engine->chunks()](
                                   proto::Protocol protocol,
                                   bool by_reference) { return rules.ForTransfer(protocol, by_reference); }});
  if (!result.ok()) return result.status();
  chooser = std::move(*result);
  spin_ns = settings.spin_us >= 0 ? settings.spin_us * 1000 : crowded ? kCrowdedSpinNs : kSpinNs;
  if (crowded) engine->set_spins(kCrowdedPolls);
  return Status::Ok();
}

Status Communicator::Impl::WaitForEveryone(std::int64_t deadline_ns) {
  for (int turn = 0; !fabric->EveryoneConnected(); ++turn) {
    sys::YieldCpu();
    if (turn % 64 != 0) continue;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      if (fabric->StateOf(peer) == RankState::kFailed) {
        return Status(Code::kRemote, fmt::format("rank {} failed: {}", peer, fabric->Describe(peer).reason), peer);
      }
      if (turn % 4096 == 0 && fabric->ProcessIsDead(peer)) {
        return Status(Code::kRemote,
                      fmt::format("rank {} (pid {}) died while rank {} was connecting to it", peer,
                                  fabric->process(peer).pid, rank),
                      peer);
      }
    }
    if (sys::NowNs() > deadline_ns) {
      return Status(Code::kTimeout,
                    fmt::format("rank {} met the other {} ranks, but not all of them finished connecting "
                                "within TUTTI_INIT_TIMEOUT_MS={}",
                                rank, ranks - 1, settings.init_timeout_ms));
    }
  }
  return Status::Ok();
}

void Communicator::Impl::Leave() {
  if (left) return;
  left = true;
  for (const auto& owned : jobs) {
    if (owned->in_use && !owned->job.done && engine != nullptr) (void)WaitFor(owned->job);
  }
  LeaveThread();
  if (fabric == nullptr) return;
  std::atomic<RankState>& state = fabric->own().header()->state;
  RankState ready = RankState::kReady;
  state.compare_exchange_strong(ready, RankState::kLeft, std::memory_order_release, std::memory_order_relaxed);
}

Result<Communicator> Communicator::Create(const CommunicatorOptions& options) {
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} of {} ranks: need at least 1 rank and 0 <= rank < ranks",
                                                      options.rank, options.ranks));
  }
  auto impl = std::make_shared<Impl>(options);
  if (options.ranks == 1) {
    impl->engine = std::make_unique<exec::cpu::Engine>(nullptr, 0, 1);
    const Result<tune::Machine> machine = comm::LoadMachine(options.settings);
    if (!machine.ok()) return machine.status();
    TUTTI_RETURN_IF_ERROR(impl->CreateChooser(*machine));
    return Communicator(std::move(impl));
  }
  if (Status s = impl->Connect(options); !s.ok()) {
    if (impl->fabric != nullptr) {
      impl->fabric->own().PublishFailure(s.code(), s.message(), s.peer());
      impl->left = true;
    }
    return s;
  }
  return Communicator(std::move(impl));
}

Result<Communicator> Communicator::FromEnvironment(const Settings& settings) {
  Result<comm::LaunchIdentity> identity = comm::NextIdentityFromEnvironment();
  if (!identity.ok()) return identity.status();
  return Create({.rank = identity->rank, .ranks = identity->ranks, .id = identity->id, .settings = settings});
}

Communicator::Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (impl_ != nullptr) impl_->Leave();
  impl_ = std::move(other.impl_);
  return *this;
}
Communicator::~Communicator() {
  if (impl_ != nullptr) impl_->Leave();
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::ranks() const { return impl_->ranks; }

void Communicator::Abort(const std::string& reason) {
  impl_->Break(Status(Code::kRemote, fmt::format("rank {} aborted: {}", impl_->rank, reason), impl_->rank));
}

Result<void*> Communicator::AllocateShared(std::size_t bytes) {
  Impl& c = *impl_;
  TUTTI_RETURN_IF_ERROR(c.Broken());
  if (bytes == 0) return Status(Code::kInvalidArgument, "AllocateShared of 0 bytes");
  Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-region", bytes);
  if (!fd.ok()) return fd.status();
  Fabric::Region region;
  region.bytes = bytes;
  Result<sys::SharedMapping> own = sys::Map(*fd, bytes, sys::Access::kReadWrite);
  if (!own.ok()) return own.status();
  region.own = std::move(*own);
  void* address = region.own.data();
  if (c.ranks == 1) {
    c.own_regions.push_back(std::move(region.own));
    return address;
  }
  region.peers.resize(c.ranks);
  // The ranks meet once more, under an id of their own for this allocation.
  const Result<UniqueId> id = comm::NextId(c.id, ++c.shared_allocations);
  if (!id.ok()) return id.status();
  const std::uint64_t size = bytes;
  const Status met = comm::Meet(
      {.id = *id,
       .rank = c.rank,
       .ranks = c.ranks,
       .timeout_ms = c.settings.init_timeout_ms,
       .payload = std::as_bytes(std::span(&size, 1)),
       .shared = &*fd},
      [&](int peer, comm::Member&& member) -> Status {
        std::uint64_t theirs = 0;
        if (member.payload.size() == sizeof(theirs)) {
          std::memcpy(&theirs, member.payload.data(), sizeof(theirs));
        }
        if (theirs != size) {
          return Status(
              Code::kInvalidUsage,
              fmt::format("AllocateShared: rank {} asked for {} bytes, rank {} for {}", c.rank, size, peer, theirs),
              peer);
        }
        if (peer == c.rank) return Status::Ok();
        Result<sys::SharedMapping> mapping = sys::Map(member.shared, size, sys::Access::kRead);
        if (!mapping.ok()) return mapping.status();
        region.peers[peer] = std::move(*mapping);
        return Status::Ok();
      });
  if (!met.ok()) {
    c.Break(met);
    return met;
  }
  c.fabric->AddRegion(std::move(region));
  // Nobody may refer to the region before everybody has it.
  TUTTI_RETURN_IF_ERROR(Run(Barrier()));
  return address;
}

}  // namespace tutti
