// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "base/words.h"
#include "comm/identity/unique_id.h"
#include "comm/identity/user_secret.h"

namespace tutti::comm {
namespace {

using internal::LaunchContext;

// Names of variables, at most six.
struct Names {
  std::array<const char*, 6> names{};

  bool empty() const { return names[0] == nullptr; }
  const char* front() const { return names[0]; }
  auto begin() const { return names.begin(); }
  auto end() const { return std::ranges::find(names, nullptr); }
};

// How a launcher tells its processes who they are.
struct Launcher {
  const char* name;
  const char* rank;
  Names ranks;   // the first that is set counts
  Names needed;  // only where one of these is set too; empty: always
  const char* local_rank;
  const char* local_ranks;  // null: none
  Names job;                // what tells one job from another
  Names proof;              // `job` suffices where one of these is set; else the launching process counts too
  const char* process;      // its name, "" where it is not known
  // What shows that the job has several hosts: variables that count them, and whether local_ranks is the number of
  // ranks on this host (and not that of one of several agents on it).
  Names hosts;
  bool local_is_host = false;
};

constexpr Launcher kLaunchers[] = {
    {.name = "torchrun",
     .rank = "RANK",
     .ranks = {{"WORLD_SIZE"}},
     .needed = {{"WORLD_SIZE"}},
     .local_rank = "LOCAL_RANK",
     .local_ranks = "LOCAL_WORLD_SIZE",
     .job = {{"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"}},
     .proof = {{"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
     .process = ""},
    {.name = "Open MPI",
     .rank = "OMPI_COMM_WORLD_RANK",
     .ranks = {{"OMPI_COMM_WORLD_SIZE"}},
     .needed = {},
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = {{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri",
              "OMPI_MCA_orte_precondition_transports"}},
     .proof = {{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
     .process = "",
     .local_is_host = true},
    {.name = "MVAPICH2",
     .rank = "MV2_COMM_WORLD_RANK",
     .ranks = {{"MV2_COMM_WORLD_SIZE"}},
     .needed = {},
     .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
     .local_ranks = "MV2_COMM_WORLD_LOCAL_SIZE",
     .job = {{"MPISPAWN_GLOBAL_NPROCS", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"}},
     .proof = {},
     .process = "mpispawn",
     .local_is_host = true},
    {.name = "MPICH",
     .rank = "PMI_RANK",
     .ranks = {{"PMI_SIZE"}},
     .needed = {{"MPI_LOCALNRANKS"}},
     .local_rank = "MPI_LOCALRANKID",
     .local_ranks = "MPI_LOCALNRANKS",
     .job = {{"PMI_JOBID"}},
     .proof = {},
     .process = "hydra_pmi_proxy",
     .local_is_host = true},
    {.name = "PMIx",
     .rank = "PMIX_RANK",
     .ranks = {{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
     .needed = {},
     .local_rank = "SLURM_LOCALID",
     .local_ranks = nullptr,
     .job = {{"PMIX_NAMESPACE"}},
     .proof = {{"PMIX_NAMESPACE"}},
     .process = "",
     .hosts = {{"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}}},
    {.name = "Slurm",
     .rank = "SLURM_PROCID",
     .ranks = {{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
     .needed = {{"SLURM_STEP_ID", "SLURM_STEPID"}},
     .local_rank = "SLURM_LOCALID",
     .local_ranks = nullptr,
     .job = {{"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_RESTART_COUNT"}},
     .proof = {{"SLURM_JOB_ID"}},
     .process = "",
     .hosts = {{"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}}},
    {.name = "Flux",
     .rank = "FLUX_TASK_RANK",
     .ranks = {{"FLUX_JOB_SIZE"}},
     .needed = {},
     .local_rank = "FLUX_TASK_LOCAL_ID",
     .local_ranks = nullptr,
     .job = {{"FLUX_JOB_ID"}},
     .proof = {{"FLUX_JOB_ID"}},
     .process = "",
     .hosts = {{"FLUX_JOB_NNODES"}}},
    {.name = "JSM",
     .rank = "JSM_NAMESPACE_RANK",
     .ranks = {{"JSM_NAMESPACE_SIZE"}},
     .needed = {},
     .local_rank = "JSM_NAMESPACE_LOCAL_RANK",
     .local_ranks = "JSM_NAMESPACE_LOCAL_SIZE",
     .job = {{"LSB_JOBID", "JSM_NAMESPACE_ID", "PMIX_NAMESPACE"}},
     .proof = {{"PMIX_NAMESPACE"}},
     .process = "",
     .local_is_host = true},
    {.name = "PMI",
     .rank = "PMI_RANK",
     .ranks = {{"PMI_SIZE"}},
     .needed = {},
     .local_rank = "MPI_LOCALRANKID",
     .local_ranks = nullptr,
     .job = {{"PMI_JOBID"}},
     .proof = {{"PMI_JOBID"}},
     .process = ""},
};

bool AnySet(const LaunchContext& context, const Names& names) {
  for (const char* name : names) {
    if (context.variable(name)) return true;
  }
  return false;
}

// The variable as a number of 0 or more.
Result<int> ReadNumber(const LaunchContext& context, const char* name) {
  const std::string text = context.variable(name).value_or("");
  const std::optional<int> number = ParseNumber<int>(text);
  if (!number || *number < 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}=\"{}\" is not a number of 0 or more: correct or unset it", name, text));
  }
  return *number;
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

const char* FirstSet(const LaunchContext& context, const Names& names) {
  for (const char* name : names) {
    if (context.variable(name)) return name;
  }
  return nullptr;
}

using sys::Bytes;

// An id that all processes of one user who know `facts` come to alike.
Result<UniqueId> DerivePrivately(const LaunchContext& context, const std::string& facts) {
  const Result<std::vector<std::byte>> secret = context.secret();
  if (!secret.ok()) return secret.status();
  return DeriveId({Bytes(fmt::format("uid={}\n", context.uid)), Bytes(facts), *secret});
}

// An id that all processes of one job on this host come to alike.
Result<UniqueId> DeriveJobId(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity) {
  std::string facts = fmt::format("launcher={}\nranks={}\n", launcher.name, identity.ranks);
  for (const char* name : launcher.job) {
    if (const std::optional<std::string> value = context.variable(name)) facts += fmt::format("{}={}\n", name, *value);
  }
  if (!AnySet(context, launcher.proof)) {
    const sys::ProcessId process = context.launcher(launcher.process);
    facts += fmt::format("process={} since {}\n", process.pid, process.start_ticks);
  }
  return DerivePrivately(context, facts);
}

// Whether a text is host:port as NCCL_COMM_ID has it; an IPv6 address stands in brackets.
bool IsHostAndPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon), digits = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!brackets && host.find_first_of(":[]") != std::string_view::npos) return false;
  const std::optional<int> port = ParseNumber<int>(digits);
  return port && *port > 0 && *port < 65536;
}

// The id that NCCL_COMM_ID stands for; nullopt where that is not set.
Result<std::optional<UniqueId>> IdOfAddress(const LaunchContext& context) {
  const std::optional<std::string> address = context.variable("NCCL_COMM_ID");
  if (!address || address->empty()) return std::optional<UniqueId>();
  if (!IsHostAndPort(*address)) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("NCCL_COMM_ID=\"{}\" is not host:port, [IPv6 address]:port included: correct it (alike on "
                    "all ranks) or unset it",
                    *address));
  }
  const Result<UniqueId> id = DerivePrivately(context, fmt::format("NCCL_COMM_ID={}\n", *address));
  if (!id.ok()) return id.status();
  return std::optional<UniqueId>(*id);
}

// The id that the user gave in TUTTI_ID or NCCL_COMM_ID; nullopt where neither is set.
Result<std::optional<UniqueId>> GivenId(const LaunchContext& context) {
  const std::optional<std::string> hex = context.variable("TUTTI_ID");
  if (!hex) return IdOfAddress(context);
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

Status CheckOneHost(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity) {
  const char* name = FirstSet(context, launcher.hosts);
  const Result<int> hosts = name == nullptr ? Result<int>(1) : ReadNumber(context, name);
  if (!hosts.ok()) return hosts.status();
  const bool elsewhere = launcher.local_is_host && identity.local_ranks > 0 && identity.local_ranks < identity.ranks;
  if (*hosts <= 1 && !elsewhere) return Status::Ok();
  const std::string proof = *hosts > 1 ? fmt::format("{}={}", name, *hosts)
                                       : fmt::format("{}={} of {}={}", launcher.local_ranks, identity.local_ranks,
                                                     launcher.ranks.front(), identity.ranks);
  return Status(Code::kUnsupported,
                fmt::format("{} started the ranks on several hosts ({}), and this version of Tutti connects the ranks "
                            "of one host only: start all of them on one",
                            launcher.name, proof));
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
  return CheckOneHost(context, launcher, identity);
}

// Part of a launcher's variables, and no launcher that knows the rest.
Status RefuseHalfOfTorchrun(const LaunchContext& context) {
  const bool rank = context.variable("RANK").has_value();
  if (!rank && !context.variable("WORLD_SIZE")) return Status::Ok();
  return Status(Code::kInvalidArgument,
                fmt::format("{} is set and {} is not, so it is not known which rank of how many this process is: set "
                            "both, or none",
                            rank ? "RANK" : "WORLD_SIZE", rank ? "WORLD_SIZE" : "RANK"));
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

const Launcher* FindLauncher(const LaunchContext& context) {
  for (const Launcher& launcher : kLaunchers) {
    if (!context.variable(launcher.rank)) continue;
    if (launcher.needed.empty() || AnySet(context, launcher.needed)) return &launcher;
  }
  return nullptr;
}

LaunchContext ThisProcess() {
  return {.variable = &sys::GetEnv, .launcher = &FindAncestor, .uid = sys::UserId(), .secret = &UserSecret};
}

}  // namespace

Result<LaunchIdentity> internal::IdentityFrom(const LaunchContext& context, std::uint64_t generation) {
  LaunchIdentity identity;
  identity.launcher = "none";
  const Result<std::optional<UniqueId>> given = GivenId(context);
  if (!given.ok()) return given.status();
  const Launcher* found = nullptr;
  if (AnySet(context, {{"TUTTI_RANK", "TUTTI_RANKS"}})) {
    TUTTI_RETURN_IF_ERROR(ReadExplicit(context, *given, identity));
  } else if (found = FindLauncher(context); found != nullptr) {
    TUTTI_RETURN_IF_ERROR(ReadLauncher(context, *found, identity));
  } else {
    TUTTI_RETURN_IF_ERROR(RefuseHalfOfTorchrun(context));
  }
  Result<UniqueId> id = ChooseId(context, *given, found, identity);
  if (id.ok() && generation != 0) id = FurtherId(*id, "environment", generation);
  if (!id.ok()) return id.status();
  identity.id = *id;
  return identity;
}

Result<UniqueId> internal::JobUniqueIdFrom(const LaunchContext& context, std::uint64_t generation) {
  const Result<std::optional<UniqueId>> of_address = IdOfAddress(context);
  if (!of_address.ok()) return of_address.status();
  if (*of_address) return **of_address;
  const std::string choice = context.variable("TUTTI_UNIQUE_ID").value_or("random");
  if (choice == "random") return CreateUniqueId();
  if (choice != "job") {
    return Status(
        Code::kInvalidArgument,
        fmt::format("TUTTI_UNIQUE_ID=\"{}\" is not known: `random` makes a fresh id at each call, `job` gives "
                    "every rank of a launcher's job the same",
                    choice));
  }
  const Result<LaunchIdentity> identity = IdentityFrom(context, 0);
  if (!identity.ok()) return identity.status();
  if (identity->launcher == "none" && !context.variable("TUTTI_ID")) {
    return Status(Code::kInvalidArgument,
                  "TUTTI_UNIQUE_ID=job asks for the id of the job, and no launcher started this process (tutti run, "
                  "mpirun, srun, torchrun): use one, give all ranks one TUTTI_ID, or unset TUTTI_UNIQUE_ID");
  }
  return FurtherId(identity->id, "ncclGetUniqueId", generation);
}

Result<LaunchIdentity> IdentityFromEnvironment(std::uint64_t generation) {
  return internal::IdentityFrom(ThisProcess(), generation);
}

Result<LaunchIdentity> NextIdentityFromEnvironment() {
  static std::atomic<std::uint64_t> next{0};
  return IdentityFromEnvironment(next.fetch_add(1, std::memory_order_relaxed));
}

Result<UniqueId> JobUniqueId() {
  static std::atomic<std::uint64_t> next{0};
  return internal::JobUniqueIdFrom(ThisProcess(), next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace tutti::comm
