// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/launch.h"

#include <fmt/format.h>

#include <charconv>
#include <span>
#include <vector>

#include "comm/unique_id.h"

namespace tutti::comm {
namespace {

using internal::LaunchContext;

// How a launcher tells its processes who they are.
struct Launcher {
  const char* name;
  const char* rank;
  std::vector<const char*> ranks;   // the first that is set counts
  std::vector<const char*> needed;  // only where one of these is set too; empty: always
  const char* local_rank;
  const char* local_ranks;         // null: none
  std::vector<const char*> job;    // what tells one job from another
  std::vector<const char*> proof;  // `job` suffices where one of these is set; else the launching process counts too
  const char* process;             // its name, "" where it is not known
};

const std::vector<Launcher>& Launchers() {
  static const std::vector<Launcher> launchers = {
      {.name = "torchrun",
       .rank = "RANK",
       .ranks = {"WORLD_SIZE"},
       .needed = {"WORLD_SIZE"},
       .local_rank = "LOCAL_RANK",
       .local_ranks = "LOCAL_WORLD_SIZE",
       .job = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"},
       .proof = {"TORCHELASTIC_RUN_ID", "MASTER_PORT"},
       .process = ""},
      {.name = "Open MPI",
       .rank = "OMPI_COMM_WORLD_RANK",
       .ranks = {"OMPI_COMM_WORLD_SIZE"},
       .needed = {},
       .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
       .local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
       .job = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri",
               "OMPI_MCA_orte_precondition_transports"},
       .proof = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
       .process = ""},
      {.name = "MPICH",
       .rank = "PMI_RANK",
       .ranks = {"PMI_SIZE"},
       .needed = {"MPI_LOCALNRANKS"},
       .local_rank = "MPI_LOCALRANKID",
       .local_ranks = "MPI_LOCALNRANKS",
       .job = {"PMI_JOBID"},
       .proof = {},
       .process = "hydra_pmi_proxy"},
      {.name = "PMIx",
       .rank = "PMIX_RANK",
       .ranks = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       .needed = {},
       .local_rank = "SLURM_LOCALID",
       .local_ranks = nullptr,
       .job = {"PMIX_NAMESPACE"},
       .proof = {"PMIX_NAMESPACE"},
       .process = ""},
      {.name = "Slurm",
       .rank = "SLURM_PROCID",
       .ranks = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       .needed = {"SLURM_STEP_ID", "SLURM_STEPID"},
       .local_rank = "SLURM_LOCALID",
       .local_ranks = nullptr,
       .job = {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_RESTART_COUNT"},
       .proof = {"SLURM_JOB_ID"},
       .process = ""},
      {.name = "Flux",
       .rank = "FLUX_TASK_RANK",
       .ranks = {"FLUX_JOB_SIZE"},
       .needed = {},
       .local_rank = "FLUX_TASK_LOCAL_ID",
       .local_ranks = nullptr,
       .job = {"FLUX_JOB_ID"},
       .proof = {"FLUX_JOB_ID"},
       .process = ""},
      {.name = "PMI",
       .rank = "PMI_RANK",
       .ranks = {"PMI_SIZE"},
       .needed = {},
       .local_rank = "MPI_LOCALRANKID",
       .local_ranks = nullptr,
       .job = {"PMI_JOBID"},
       .proof = {"PMI_JOBID"},
       .process = ""},
  };
  return launchers;
}

bool AnySet(const LaunchContext& context, const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (context.variable(name)) return true;
  }
  return false;
}

// The variable as a number of 0 or more.
Result<int> ReadNumber(const LaunchContext& context, const char* name) {
  const std::string text = context.variable(name).value_or("");
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}=\"{}\" is not a number of 0 or more: correct or unset it", name, text));
  }
  return number;
}

Status ReadRank(const LaunchContext& context, const char* rank_name, const char* ranks_name, LaunchIdentity& identity) {
  const Result<int> rank = ReadNumber(context, rank_name);
  if (!rank.ok()) return rank.status();
  const Result<int> ranks = ReadNumber(context, ranks_name);
  if (!ranks.ok()) return ranks.status();
  if (*rank >= *ranks) {
    return Status(Code::kInvalidArgument, fmt::format("{}={} and {}={} contradict each other: ranks go from 0 to one "
                                                      "less than their number; unset both or correct them",
                                                      rank_name, *rank, ranks_name, *ranks));
  }
  identity.rank = *rank;
  identity.ranks = *ranks;
  return Status::Ok();
}

Status ReadLocal(const LaunchContext& context, const char* name, int& field) {
  if (name == nullptr || !context.variable(name)) return Status::Ok();
  const Result<int> number = ReadNumber(context, name);
  if (number.ok()) field = *number;
  return number.status();
}

const char* FirstSet(const LaunchContext& context, const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (context.variable(name)) return name;
  }
  return nullptr;
}

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// An id that all processes of one job on this host come to alike.
UniqueId DeriveJobId(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity) {
  std::string facts = fmt::format("launcher={}\nuid={}\nranks={}\n", launcher.name, context.uid, identity.ranks);
  for (const char* name : launcher.job) {
    if (const std::optional<std::string> value = context.variable(name)) facts += fmt::format("{}={}\n", name, *value);
  }
  if (!AnySet(context, launcher.proof)) {
    const sys::ProcessId process = context.launcher(launcher.process);
    facts += fmt::format("process={} since {}\n", process.pid, process.start_ticks);
  }
  return DeriveId({Bytes(facts)});
}

// The id in TUTTI_ID; nullopt where that is not set.
Result<std::optional<UniqueId>> ExplicitId(const LaunchContext& context) {
  const std::optional<std::string> hex = context.variable("TUTTI_ID");
  if (!hex) return std::optional<UniqueId>();
  Result<UniqueId> id = UniqueId::FromHex(*hex);
  if (!id.ok()) return Status(id.status().code(), "TUTTI_ID is not good: " + id.status().message());
  return std::optional<UniqueId>(*id);
}

Status ReadExplicit(const LaunchContext& context, const std::optional<UniqueId>& id, LaunchIdentity& identity) {
  const bool rank = context.variable("TUTTI_RANK").has_value();
  if (!rank || !context.variable("TUTTI_RANKS")) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} is set and {} is not: set both, or none", rank ? "TUTTI_RANK" : "TUTTI_RANKS",
                              rank ? "TUTTI_RANKS" : "TUTTI_RANK"));
  }
  TUTTI_RETURN_IF_ERROR(ReadRank(context, "TUTTI_RANK", "TUTTI_RANKS", identity));
  TUTTI_RETURN_IF_ERROR(ReadLocal(context, "LOCAL_RANK", identity.local_rank));
  TUTTI_RETURN_IF_ERROR(ReadLocal(context, "LOCAL_WORLD_SIZE", identity.local_ranks));
  identity.launcher = "tutti run";
  if (!id && identity.ranks > 1) {
    return Status(Code::kInvalidArgument,
                  fmt::format("TUTTI_RANK={} and TUTTI_RANKS={} are set and TUTTI_ID is not: start the ranks with "
                              "`tutti run`, or give all of them one id in TUTTI_ID (UniqueId::ToHex)",
                              identity.rank, identity.ranks));
  }
  return Status::Ok();
}

Status ReadLauncher(const LaunchContext& context, const Launcher& launcher, LaunchIdentity& identity) {
  const char* ranks = FirstSet(context, launcher.ranks);
  if (ranks == nullptr) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{} is set and {} is not, so the number of ranks is not known: set TUTTI_RANK, TUTTI_RANKS "
                    "and TUTTI_ID, or unset it",
                    launcher.rank, launcher.ranks.front()));
  }
  TUTTI_RETURN_IF_ERROR(ReadRank(context, launcher.rank, ranks, identity));
  TUTTI_RETURN_IF_ERROR(ReadLocal(context, launcher.local_rank, identity.local_rank));
  TUTTI_RETURN_IF_ERROR(ReadLocal(context, launcher.local_ranks, identity.local_ranks));
  identity.launcher = launcher.name;
  return Status::Ok();
}

Result<UniqueId> ChooseId(const LaunchContext& context, const std::optional<UniqueId>& given, const Launcher* launcher,
                          const LaunchIdentity& identity) {
  if (given) return *given;
  if (launcher != nullptr) return DeriveJobId(context, *launcher, identity);
  return CreateUniqueId();
}

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

}  // namespace

Result<LaunchIdentity> internal::IdentityFrom(const LaunchContext& context, int generation) {
  LaunchIdentity identity;
  identity.launcher = "none";
  const Result<std::optional<UniqueId>> given = ExplicitId(context);
  if (!given.ok()) return given.status();
  const Launcher* found = nullptr;
  if (AnySet(context, {"TUTTI_RANK", "TUTTI_RANKS"})) {
    TUTTI_RETURN_IF_ERROR(ReadExplicit(context, *given, identity));
  } else {
    for (const Launcher& launcher : Launchers()) {
      if (!context.variable(launcher.rank)) continue;
      if (!launcher.needed.empty() && !AnySet(context, launcher.needed)) continue;
      TUTTI_RETURN_IF_ERROR(ReadLauncher(context, launcher, identity));
      found = &launcher;
      break;
    }
  }
  const Result<UniqueId> id = ChooseId(context, *given, found, identity);
  if (!id.ok()) return id.status();
  const Result<UniqueId> next = NextId(*id, static_cast<std::uint64_t>(generation));
  if (!next.ok()) return next.status();
  identity.id = *next;
  return identity;
}

Result<LaunchIdentity> IdentityFromEnvironment(int generation) {
  return internal::IdentityFrom({.variable = &sys::GetEnv, .launcher = &FindAncestor, .uid = sys::UserId()},
                                generation);
}

}  // namespace tutti::comm
