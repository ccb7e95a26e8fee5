// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/job_id.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "comm/identity/launch.h"
#include "comm/identity/unique_id.h"
#include "comm/identity/user_secret.h"
#include "comm/meet/meeting_point.h"
#include "comm/meet/rank_zero_place.h"
#include "sys/net/resolve.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "sys/os/process.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kResolveNs = 5 * sys::kNsPerSecond;

// The nearest ancestor of this name; the parent where there is none.
sys::ProcessId FindAncestor(std::string_view name) {
  constexpr int kMostGenerations = 32;
  const sys::ProcessId parent = sys::Parent();
  std::int32_t pid = name.empty() ? 0 : parent.pid;
  for (int i = 0; i < kMostGenerations && pid > 0; ++i) {
    const std::optional<sys::ProcessStat> stat = sys::ReadProcessStat(pid);
    if (!stat) break;
    if (stat->name == name) return {.pid = pid, .start_ticks = stat->start_ticks};
    pid = stat->parent;
  }
  return parent;
}

// What the launcher's store has handed to this process, once.
struct Shared {
  std::mutex mutex;
  std::optional<Result<UniqueId>> id;  // guarded by it
  std::atomic<bool> made_here{false};
};

Shared& SharedByStore() {
  static Shared& shared = *[] {
    auto* made = new Shared;
    sys::FreeInForkedChildren(made->mutex);
    sys::WatchForks();
    return made;
  }();
  return shared;
}

Result<UniqueId> Share(sys::JobStore store, int rank, Shared& shared) {
  std::string text;
  if (rank == 0) {
    const Result<UniqueId> made = CreateUniqueId();
    if (!made.ok()) return made;
    text = made->ToHex();
    shared.made_here = true;
  }
  const std::int64_t patience_ns = Settings::FromEnvironment().init_timeout_ms * sys::kNsPerMs;
  const Result<std::string> got = sys::ShareText(store, rank, text, sys::NowNs() + patience_ns);
  if (!got.ok()) return got.status();
  return UniqueId::FromHex(*got);
}

// Also what went wrong is kept: the other ranks do not come a second time.
Result<UniqueId> SharedId(sys::JobStore store, int rank) {
  Shared& shared = SharedByStore();
  std::lock_guard lock(shared.mutex);
  if (!shared.id) shared.id = Share(store, rank, shared);
  return *shared.id;
}

LaunchContext ThisProcess() {
  const Settings settings = Settings::FromEnvironment();
  return {.variable = &sys::GetEnv,
          .launcher = &FindAncestor,
          .uid = sys::UserId(),
          .secret = &UserSecret,
          .resolve = [](const std::string& host) { return sys::ResolveHost(host, sys::NowNs() + kResolveNs); },
          .ports = ParsePorts(settings.ports).value_or(Ports{}),
          .shared_id = &SharedId,
          .no_place = &NoteNoPlace};
}

// Where other hosts come to this process they find somebody.
Status AwaitOthers(const Result<LaunchIdentity>& identity) {
  if (!identity.ok()) return identity.status();
  const Result<IdParts> parts = ReadId(identity->id);
  if (!parts.ok()) return parts.status();
  if (identity->rank != 0 || parts->addresses.empty()) return Status::Ok();
  if (parts->listener == IdListener::kMaker) {
    return SharedByStore().made_here ? AwaitHosts(identity->id) : Status::Ok();
  }
  // Rank 0 of the communicator tries the same, and says why that failed where hosts are missing.
  (void)AwaitAsRankZero(identity->id).ok();
  return Status::Ok();
}

}  // namespace

Result<LaunchIdentity> IdentityFromEnvironment(std::uint64_t generation) {
  Result<LaunchIdentity> identity = IdentityFrom(ThisProcess(), generation);
  TUTTI_RETURN_IF_ERROR(AwaitOthers(identity));
  return identity;
}

Result<LaunchIdentity> NextIdentityFromEnvironment() {
  static std::atomic<std::uint64_t> next{0};
  return IdentityFromEnvironment(next.fetch_add(1, std::memory_order_relaxed));
}

Result<UniqueId> JobUniqueId() {
  static std::atomic<std::uint64_t> next{0};
  const Result<LaunchIdentity> identity = JobIdentityFrom(ThisProcess(), next.fetch_add(1, std::memory_order_relaxed));
  TUTTI_RETURN_IF_ERROR(AwaitOthers(identity));
  return identity->id;
}

Status AwaitJob(const UniqueId& id) {
  for (const JobPurpose purpose : {JobPurpose::kEnvironment, JobPurpose::kNcclGetUniqueId}) {
    for (std::uint64_t generation = 0; generation < kAwaitedIds; ++generation) {
      const Result<UniqueId> further = FurtherJobId(id, purpose, generation);
      if (!further.ok()) return further.status();
      TUTTI_RETURN_IF_ERROR(AwaitHosts(*further));
    }
  }
  return Status::Ok();
}

}  // namespace tutti::comm
