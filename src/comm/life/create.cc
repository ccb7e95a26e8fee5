// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/log.h"
#include "base/one_line.h"
#include "comm/agree/machine_file.h"
#include "comm/agree/measure.h"
#include "comm/agree/rank_profile.h"
#include "comm/host/comparer.h"
#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "comm/host/origin.h"
#include "comm/host/planner.h"
#include "comm/host/submitter.h"
#include "comm/identity/launch.h"
#include "comm/identity/settings_source.h"
#include "comm/identity/unique_id.h"
#include "comm/life/foreigners.h"
#include "comm/meet/bootstrap.h"
#include "exec/cpu/chunks.h"
#include "exec/cpu/engine.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "sys/os/process.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"
#include "tune/chooser.h"

namespace tutti {
namespace {

using transport::shm::Fabric;
using transport::shm::RankState;

constexpr std::int64_t kNsPerMs = 1000000;
// How long a wait for a peer on another core spins: with a core for each rank, and where they share cores (about what
// it costs to switch to another rank and back).
constexpr std::int64_t kSpinNs = 10000;
constexpr std::int64_t kCrowdedSpinNs = 700;
// A wait at init gives the core away, and after so many turns sleeps, so as not to be in the way of the others.
constexpr int kTurnsBeforeSleep = 1000;
constexpr std::int64_t kSleepAtInitNs = 50000;
// Ranks beyond which one channel has to do, so that the rings of all links stay small.
constexpr int kManyRanks = 256;

// Of host memory. Settings may allow more, for GPUs.
int Channels(const CommunicatorOptions& options) {
  return options.ranks > kManyRanks ? 1 : std::clamp(options.settings.max_channels, 1, trace::kMaxChannels);
}

// What is kept of a name: one line of text, as long as the black box has room for.
std::string ShortName(const std::string& name) {
  std::string text = name.substr(0, trace::kNameBytes - 1);
  ReplaceControls(text, '?');
  return text;
}

std::string Describe(const CommunicatorOptions& options) {
  std::string text = fmt::format("rank {} nranks {}", options.rank, options.ranks);
  if (!options.name.empty()) text += fmt::format(" commName \"{}\"", ShortName(options.name));
  return text;
}

std::uint64_t HashOf(const UniqueId& id) {
  return Fnv1a({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

}  // namespace

// Finds the other ranks, maps their shared pages, agrees on what all must know, and waits until all are that far.
Status Communicator::Impl::Connect(const CommunicatorOptions& options) {
  const std::int64_t deadline_ns = sys::NowNs() + settings.init_timeout_ms * kNsPerMs;
  const Result<tune::TuningFile> stored = comm::LoadTables(settings);
  if (!stored.ok()) return stored.status();
  cpus = sys::UsableCpus();
  Result<comm::RankProfile> profile = comm::MakeProfile(settings, stored->host, cpus);
  if (!profile.ok()) return profile.status();
  const std::vector<std::byte> payload = comm::Encode(*profile);

  Result<Fabric> created = Fabric::Create({.rank = rank,
                                           .ranks = ranks,
                                           .channels = Channels(options),
                                           .shared_bytes = static_cast<std::size_t>(settings.shared_bytes),
                                           .try_references = settings.single_copy != SingleCopy::kOff});
  if (!created.ok()) return created.status();
  fabric = std::make_shared<Fabric>(std::move(*created));
  CreateBlackBox();
  const auto look = [this] { return origin == nullptr ? Status::Ok() : origin->FindDead(); };
  comm::RankProfile common;  // rank 0's
  comm::SettingsComparison comparison(profile->settings);
  const Status met = comm::Meet(
      {.id = options.id,
       .rank = rank,
       .ranks = ranks,
       .timeout_ms = settings.init_timeout_ms,
       .payload = payload,
       .shared = &fabric->own().fd(),
       .cancel = cancel,
       .look = look},
      [&](int peer, comm::Member&& member) -> Status {
        Result<comm::RankProfile> theirs = comm::ParseProfile(member.payload);
        if (!theirs.ok()) {
          return Status(theirs.status().code(),
                        fmt::format("rank {} cannot work with rank {}: {}", rank, peer, theirs.status().message()),
                        peer);
        }
        const bool agree = comparison.Add(theirs->settings);
        if (peer == 0) common = std::move(*theirs);
        // Pages of another size cannot be used; but all meet to the end, to say the same of who differs.
        return agree ? fabric->Connect(peer, member.shared, member.process) : Status::Ok();
      });
  if (!met.ok()) return met;
  TUTTI_RETURN_IF_ERROR(comparison.Check());
  TUTTI_RETURN_IF_ERROR(
      comm::WatchForeigners(*fabric, {.id = options.id,
                                      .rank = rank,
                                      .ranks = ranks,
                                      .timeout_ms = std::max<std::int64_t>((deadline_ns - sys::NowNs()) / kNsPerMs, 1),
                                      .cancel = cancel,
                                      .look = look}));
  fabric->FinishConnecting();
  TUTTI_RETURN_IF_ERROR(WaitAtInit(
      deadline_ns, [&] { return fabric->EveryoneConnected(); },
      "met the others, but not all of them finished connecting"));
  if (!common.machine_known) {
    const Result<tune::Machine> measured = comm::MeasureMachine(
        *fabric,
        [&](const std::function<bool()>& ready, const char* what) { return WaitAtInit(deadline_ns, ready, what); });
    if (!measured.ok()) return measured.status();
    common.machine = *measured;
  }

  if (rank == 0 || profile->warnings != common.warnings) comm::ReportSettings(settings);
  if (rank == 0) {
    for (const std::string& warning : comparison.Warnings()) TUTTI_WARN("{}", warning);
  }
  comm::TakeFromRankZero(common.settings, settings);
  recorder.Switch(settings.black_box);
  engine = std::make_shared<exec::cpu::Engine>(fabric.get(), &recorder, rank, ranks);
  TUTTI_RETURN_IF_ERROR(OpenBlackBoxes());
  machine = std::make_shared<tune::Machine>(common.machine);
  return CreateChooser(common.cpus);
}

// Formats the own black box. The peers do so before they say that they are connected.
void Communicator::Impl::CreateBlackBox() {
  recorder = trace::Recorder(fabric->own().box(), {.communicator = HashOf(id),
                                                   .name = name,
                                                   .rank = rank,
                                                   .ranks = ranks,
                                                   .channels = fabric->channels(),
                                                   .pid = sys::Self().pid,
                                                   .created_ns = sys::NowNs(),
                                                   .created_unix_ns = sys::UnixNs()});
}

Status Communicator::Impl::OpenBlackBoxes() {
  for (int r = 0; r < ranks; ++r) {
    const Result<trace::View> view = trace::View::Open(fabric->segment(r).box(), fabric->own().geometry().box_bytes);
    if (!view.ok()) return Status(Code::kRemote, fmt::format("rank {}: {}", r, view.status().message()), r);
    boxes.push_back(*view);
  }
  return Status::Ok();
}

Status Communicator::Impl::CreateChooser(int common_cpus) {
  crowded = ranks > cpus;
  const int channels = fabric == nullptr ? 1 : fabric->channels();
  Result<tune::Chooser> result = tune::Chooser::Create(
      {.ranks = ranks,
       .cpus = common_cpus,
       .machine = *machine,
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
  if (rank == 0 && !result->ignored_algorithms().empty()) {
    const std::string line =
        fmt::format("NCCL_ALGO=\"{}\": {} is ignored: an algorithm of network switches, which Tutti does not have",
                    settings.algo, fmt::join(result->ignored_algorithms(), ", "));
    if (log::FirstTime(line)) TUTTI_WARN("{}", line);
  }
  planner.Start(std::move(*result), engine->chunks());
  spin_ns = settings.spin_us >= 0 ? settings.spin_us * 1000 : crowded ? kCrowdedSpinNs : kSpinNs;
  if (crowded) engine->set_spins(0);  // Pause decides first whether anything is worth polling for
  return Status::Ok();
}

Status Communicator::Impl::Cancelled() const {
  if (cancel == nullptr || !cancel->load(std::memory_order_acquire)) return Status::Ok();
  return Status(Code::kRemote,
                fmt::format("rank {} gave up while the ranks were connecting: its program aborted the "
                            "communicator",
                            rank),
                rank);
}

Status Communicator::Impl::WaitAtInit(std::int64_t deadline_ns, const std::function<bool()>& ready, const char* what) {
  for (int turn = 0; !ready(); ++turn) {
    if (turn < kTurnsBeforeSleep) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kSleepAtInitNs);
    }
    if (turn % 64 != 0) continue;
    TUTTI_RETURN_IF_ERROR(Cancelled());
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      if (fabric->StateOf(peer) == RankState::kFailed) {
        if (ready()) return Status::Ok();  // it was done with this, went on, and broke the communicator later
        const transport::shm::PeerState said = fabric->Describe(peer);
        if (said.culprit >= 0 && said.culprit != rank) return Status(Code::kRemote, said.reason, said.culprit);
        return Status(Code::kRemote, fmt::format("rank {} failed: {}", peer, said.reason), peer);
      }
      if (turn % 4096 == 0 && fabric->ProcessIsDead(peer)) {
        // It did what it was waited for, and went; others may still be waited for.
        if (fabric->StateOf(peer) == RankState::kLeft) continue;
        if (ready()) return Status::Ok();
        return Status(
            Code::kRemote,
            fmt::format("rank {} (pid {}) died while rank {} was connecting to it", peer, fabric->PidOf(peer), rank),
            peer);
      }
    }
    if (sys::NowNs() > deadline_ns) {
      return Status(Code::kTimeout, fmt::format("rank {} of {} {} within TUTTI_INIT_TIMEOUT_MS={}", rank, ranks, what,
                                                settings.init_timeout_ms));
    }
  }
  return Status::Ok();
}

void Communicator::Impl::LogCreated(std::int64_t begin_ns) const {
  const bool single_copy = fabric != nullptr && settings.single_copy != SingleCopy::kOff && fabric->EveryoneCanRefer();
  TUTTI_INFO(log::kInit,
             "{} commId 0x{:x} channels {} shared memory {} bytes single copy {} cpus {} - Init COMPLETE in {:.2f} ms",
             who, HashOf(id), fabric == nullptr ? 1 : fabric->channels(), fabric == nullptr ? 0 : settings.shared_bytes,
             single_copy ? "yes" : "no", cpus, static_cast<double>(sys::NowNs() - begin_ns) / kNsPerMs);
}

void Communicator::Impl::Leave() {
  if (left) return;
  left = true;
  (void)submitter.Wait();
  comm::ForgetOnThread(submitter);
  TUTTI_INFO(log::kInit | log::kDestroy, "{} commId 0x{:x} - Destroy COMPLETE", who, HashOf(id));
  if (fabric == nullptr) return;
  transport::shm::Header& header = *fabric->own().header();
  header.collectives = ledger.collectives();
  header.mark = ledger.mark_of_all();
  RankState ready = RankState::kReady;
  header.state.compare_exchange_strong(ready, RankState::kLeft, std::memory_order_release, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // of two ranks that leave at once, one sees the other
  if (const Status s = comparer.CompareAtEnd(); !s.ok()) {
    TUTTI_WARN("{} has ended with results that are likely wrong: {}", who, InParent(s).message());
  }
}

Result<Communicator> Communicator::Create(const CommunicatorOptions& options) {
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} of {} ranks: need at least 1 rank and 0 <= rank < ranks",
                                                      options.rank, options.ranks));
  }
  if (options.ranks > kMostRanks) {  // before anything is allocated for each of them
    return Status(
        Code::kInvalidArgument,
        fmt::format("a communicator of {} ranks was asked for; at most {} are possible", options.ranks, kMostRanks));
  }
  const std::int64_t begin_ns = sys::NowNs();
  comm::StartLog(options.settings, options.rank);
  auto impl = std::make_shared<Impl>(options, Describe(options), ShortName(options.name));
  if (options.ranks == 1) {
    impl->engine = std::make_shared<exec::cpu::Engine>(nullptr, &impl->recorder, 0, 1);
    const Result<tune::TuningFile> stored = comm::LoadTables(options.settings);
    if (!stored.ok()) return stored.status();
    impl->machine = std::make_shared<tune::Machine>(stored->host.value_or(tune::Machine{}));
    impl->cpus = sys::UsableCpus();
    TUTTI_RETURN_IF_ERROR(impl->CreateChooser(impl->cpus));
    comm::ReportSettings(options.settings);
    impl->LogCreated(begin_ns);
    return Communicator(std::move(impl));
  }
  if (Status s = impl->Connect(options); !s.ok()) {
    comm::ReportSettings(options.settings);
    const Status told = impl->InParent(s);
    TUTTI_WARN("{} commId 0x{:x} - Init FAILED: {}", impl->who, HashOf(options.id), told.message());
    if (impl->fabric != nullptr) {
      impl->fabric->own().PublishFailure(s.code(), s.message(), s.peer());
      impl->left = true;
    }
    return told;
  }
  impl->cancel = nullptr;
  impl->LogCreated(begin_ns);
  return Communicator(std::move(impl));
}

Result<Communicator> Communicator::FromEnvironment(const Settings& settings) {
  Result<comm::LaunchIdentity> identity = comm::NextIdentityFromEnvironment();
  if (!identity.ok()) return identity.status();
  return Create({.rank = identity->rank, .ranks = identity->ranks, .id = identity->id, .settings = settings});
}

Result<void*> Communicator::AllocateShared(std::size_t bytes) {
  Impl& c = *impl_;
  TUTTI_RETURN_IF_ERROR(c.Broken());
  if (bytes == 0) return Status(Code::kInvalidArgument, "AllocateShared of 0 bytes");
  Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-region", bytes);
  if (!fd.ok()) return fd.status();
  Fabric::Region region;
  region.bytes = bytes;
  Result<sys::SharedMapping> own = sys::MapOnce(*fd, bytes, sys::Access::kReadWrite);
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
       .shared = &*fd,
       .look = [&] { return c.FindDead(); }},
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
        Result<sys::SharedMapping> mapping = sys::MapOnce(member.shared, size, sys::Access::kRead);
        if (!mapping.ok()) return mapping.status();
        region.peers[peer] = std::move(*mapping);
        return Status::Ok();
      });
  if (!met.ok()) {
    c.Break(met);
    return c.InParent(met);
  }
  c.fabric->AddRegion(std::move(region));
  // Nobody may refer to the region before everybody has it.
  TUTTI_RETURN_IF_ERROR(Run(Barrier()));
  return address;
}

}  // namespace tutti
