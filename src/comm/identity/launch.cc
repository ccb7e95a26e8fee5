// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/launch.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/words.h"
#include "comm/identity/launchers.h"
#include "comm/identity/unique_id.h"

namespace tutti::comm {
namespace {

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

// An id that all processes of one user who know `facts` come to alike. `is_safe`: others cannot compute it, because a secret is
// in it.
struct DerivedId {
  UniqueId id;
  bool is_safe = false;
};

Result<DerivedId> DerivePrivately(const LaunchContext& context, const std::string& facts) {
  const Result<std::vector<std::byte>> secret = context.secret();
  if (!secret.ok()) return secret.status();
  const UniqueId id = DeriveId({Bytes(fmt::format("uid={}\n", context.uid)), Bytes(facts), *secret});
  return DerivedId{.id = id, .is_safe = !secret->empty()};
}

// An id that all processes of one job come to alike; those of one host only, where just the launching process tells the job.
Result<DerivedId> DeriveJobId(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity) {
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

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};

// A text host:port as NCCL_COMM_ID has it; an IPv6 address stands in brackets. nullopt for all else.
std::optional<HostAndPort> ParseHostAndPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!brackets && host.find_first_of(":[]") != std::string_view::npos) return std::nullopt;
  const auto port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return std::nullopt;
  if (brackets) host = host.substr(1, host.size() - 2);
  return HostAndPort{.host = std::string(host), .port = *port};
}

constexpr const char* kNoSecret =
    "there is no home folder to keep a secret in, which would protect the meeting of hosts: set TUTTI_SECRET to one "
    "text on "
    "all hosts";

// The id with the place of rank 0 in it; without it, where there is none, for ranks that may all be on one host.
UniqueId WithPlaceIfThereIsOne(const LaunchContext& context, const DerivedId& derived, const Result<UniqueId>& placed) {
  if (placed.ok() && derived.is_safe) return *placed;
  if (context.no_place) context.no_place(derived.id, placed.ok() ? kNoSecret : placed.status().message());
  return derived.id;
}

// The id that NCCL_COMM_ID stands for; nullopt where that is not set.
Result<std::optional<UniqueId>> IdOfAddress(const LaunchContext& context) {
  const std::optional<std::string> address = context.variable("NCCL_COMM_ID");
  if (!address || address->empty()) return std::optional<UniqueId>();
  const std::optional<HostAndPort> place = ParseHostAndPort(*address);
  if (!place) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("NCCL_COMM_ID=\"{}\" is not host:port, [IPv6 address]:port included: correct it (alike on "
                    "all ranks) or unset it",
                    *address));
  }
  const Result<DerivedId> id = DerivePrivately(context, fmt::format("NCCL_COMM_ID={}\n", *address));
  if (!id.ok()) return id.status();
  const std::vector<std::string> hosts = {place->host};
  return std::optional(WithPlaceIfThereIsOne(
      context, *id, WithRootPlace(id->id, hosts, context.resolve, {.first = place->port, .last = place->port})));
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

// Whether the ranks are on several hosts, as far as variables say it.
enum class Spread { kOneHost, kUnknown, kSeveralHosts };

Result<Spread> SpreadOf(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity) {
  const char* name = FirstSet(context, launcher.hosts);
  const Result<int> hosts = name == nullptr ? Result<int>(1) : ReadNumber(context, name);
  if (!hosts.ok()) return hosts.status();
  if (*hosts > 1) return Spread::kSeveralHosts;
  if (!launcher.hosts.empty() || identity.local_ranks >= identity.ranks) return Spread::kOneHost;
  if (launcher.local_is_host && identity.local_ranks > 0) return Spread::kSeveralHosts;
  return Spread::kUnknown;
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

// Part of a launcher's variables, and no launcher that knows the rest.
Status RefuseHalfOfTorchrun(const LaunchContext& context) {
  const bool rank = context.variable("RANK").has_value();
  if (!rank && !context.variable("WORLD_SIZE")) return Status::Ok();
  return Status(Code::kInvalidArgument,
                fmt::format("{} is set and {} is not, so it is not known which rank of how many this process is: set "
                            "both, or none",
                            rank ? "RANK" : "WORLD_SIZE", rank ? "WORLD_SIZE" : "RANK"));
}

// Where rank 0 may be; nothing where the launcher does not say, or names what each host calls itself.
std::vector<std::string> RootHosts(const LaunchContext& context, const Launcher& launcher) {
  std::vector<std::string> hosts;
  for (const char* name : launcher.root) {
    const std::string host = FirstOfNodeList(context.variable(name).value_or(""));
    if (!host.empty() && host != "localhost" && host != "127.0.0.1" && host != "::1") hosts.push_back(host);
  }
  return hosts;
}

Status NoPlace(const Launcher& launcher, const std::string& why) {
  return Status(
      Code::kUnsupported,
      fmt::format("{} started the ranks on several hosts, and they do not know where to meet: {}. Or set "
                  "NCCL_COMM_ID=host:port with an address of rank 0's host, or make an id on rank 0 and pass it on",
                  launcher.name, why));
}

// The id of a job whose launcher may have started it on several hosts.
Result<UniqueId> SpreadJobId(const LaunchContext& context, const Launcher& launcher, const LaunchIdentity& identity,
                             Spread spread) {
  const std::vector<std::string> hosts = RootHosts(context, launcher);
  std::string why = fmt::format("{} does not say where rank 0 is", launcher.name);
  if (spread == Spread::kSeveralHosts && launcher.store != sys::JobStore::kNone) {
    const Result<UniqueId> shared = context.shared_id(launcher.store, identity.rank);
    if (shared.ok() || shared.status().code() != Code::kUnsupported) return shared;
    why = shared.status().message();
  }
  const Result<DerivedId> derived = DeriveJobId(context, launcher, identity);
  if (!derived.ok()) return derived.status();
  const bool can = !hosts.empty() && AnySet(context, launcher.proof);
  if (spread == Spread::kUnknown && !can) return derived->id;
  if (!can) return NoPlace(launcher, why);
  const Result<UniqueId> placed = WithRootPlace(derived->id, hosts, context.resolve, context.ports);
  if (spread == Spread::kUnknown) return WithPlaceIfThereIsOne(context, *derived, placed);
  if (!placed.ok()) return NoPlace(launcher, placed.status().message());
  return derived->is_safe ? placed : NoPlace(launcher, kNoSecret);
}

Result<UniqueId> ChooseId(const LaunchContext& context, const std::optional<UniqueId>& given, const Launcher* launcher,
                          const LaunchIdentity& identity) {
  if (given) return *given;
  if (launcher == nullptr) return CreateUniqueId();
  const Result<Spread> spread = SpreadOf(context, *launcher, identity);
  if (!spread.ok()) return spread.status();
  if (*spread != Spread::kOneHost) return SpreadJobId(context, *launcher, identity, *spread);
  const Result<DerivedId> derived = DeriveJobId(context, *launcher, identity);
  if (!derived.ok()) return derived.status();
  return derived->id;
}

const Launcher* FindLauncher(const LaunchContext& context) {
  for (const Launcher& launcher : Launchers()) {
    if (!context.variable(launcher.rank)) continue;
    if (launcher.needed.empty() || AnySet(context, launcher.needed)) return &launcher;
  }
  return nullptr;
}

}  // namespace

Result<UniqueId> FurtherJobId(const UniqueId& id, JobPurpose purpose, std::uint64_t generation) {
  const char* name = purpose == JobPurpose::kEnvironment ? "environment" : "ncclGetUniqueId";
  const Result<UniqueId> further = FurtherId(id, name, generation);
  if (!further.ok()) return further.status();
  return WithPlaceOf(*further, id);
}

Result<LaunchIdentity> IdentityFrom(const LaunchContext& context, std::uint64_t generation) {
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
  if (id.ok() && generation != 0) id = FurtherJobId(*id, JobPurpose::kEnvironment, generation);
  if (!id.ok()) return id.status();
  identity.id = *id;
  return identity;
}

Result<LaunchIdentity> JobIdentityFrom(const LaunchContext& context, std::uint64_t generation) {
  const auto unasked = [](const Result<UniqueId>& id) -> Result<LaunchIdentity> {
    if (!id.ok()) return id.status();
    return LaunchIdentity{.rank = -1, .id = *id, .launcher = "none"};
  };
  const Result<std::optional<UniqueId>> of_address = IdOfAddress(context);
  if (!of_address.ok()) return of_address.status();
  if (*of_address) return unasked(**of_address);
  const std::string choice = context.variable("TUTTI_UNIQUE_ID").value_or("random");
  if (choice == "random") return unasked(CreateUniqueId());
  if (choice != "job") {
    return Status(
        Code::kInvalidArgument,
        fmt::format("TUTTI_UNIQUE_ID=\"{}\" is not known: `random` makes a fresh id at each call, `job` gives "
                    "every rank of a launcher's job the same",
                    choice));
  }
  Result<LaunchIdentity> identity = IdentityFrom(context, 0);
  if (!identity.ok()) return identity.status();
  if (identity->launcher == "none" && !context.variable("TUTTI_ID")) {
    return Status(Code::kInvalidArgument,
                  "TUTTI_UNIQUE_ID=job asks for the id of the job, and no launcher started this process (tutti run, "
                  "mpirun, srun, torchrun): use one, give all ranks one TUTTI_ID, or unset TUTTI_UNIQUE_ID");
  }
  const Result<UniqueId> id = FurtherJobId(identity->id, JobPurpose::kNcclGetUniqueId, generation);
  if (!id.ok()) return id.status();
  identity->id = *id;
  return identity;
}

}  // namespace tutti::comm
