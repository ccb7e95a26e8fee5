// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/launch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>

#include "comm/identity/unique_id.h"

namespace tutti::comm {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr sys::ProcessId kLauncher = {.pid = 100, .start_ticks = 7};

struct Outside {
  sys::ProcessId launcher = kLauncher;
  std::uint32_t uid = 1000;
  std::vector<std::byte> secret = {std::byte{7}};
  Result<UniqueId> shared = Status(Code::kUnsupported, "this launcher has no store");  // what its store says
};

// Every name has one address, but for one that nobody knows.
Result<std::vector<sys::IpAddress>> Resolve(const std::string& host) {
  if (host == "nowhere") return Status(Code::kInvalidUsage, "host \"nowhere\" has no address");
  const Result<sys::IpAddress> address = sys::IpAddress::Parse(host);
  return std::vector<sys::IpAddress>{address.ok() ? *address : sys::IpAddress::V4(10, 0, 0, 7)};
}

// REQUIRES: `variables` outlives the context.
LaunchContext ContextOf(const Variables& variables, const Outside& outside) {
  const auto variable = [&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return {.variable = variable,
          .launcher = [outside](std::string_view) { return outside.launcher; },
          .uid = outside.uid,
          .secret = [outside]() -> Result<std::vector<std::byte>> { return outside.secret; },
          .resolve = &Resolve,
          .ports = {},
          .shared_id = [outside](sys::JobStore, int) { return outside.shared; }};
}

Result<LaunchIdentity> From(const Variables& variables, const Outside& outside = {}, std::uint64_t generation = 0) {
  return IdentityFrom(ContextOf(variables, outside), generation);
}

Result<UniqueId> JobIdFrom(const Variables& variables, std::uint64_t generation = 0) {
  const Result<LaunchIdentity> identity = JobIdentityFrom(ContextOf(variables, {}), generation);
  if (!identity.ok()) return identity.status();
  return identity->id;
}

std::string Complaint(const Variables& variables) {
  const Result<LaunchIdentity> identity = From(variables);
  EXPECT_FALSE(identity.ok());
  EXPECT_EQ(identity.status().code(), Code::kInvalidArgument);
  return identity.status().message();
}

Variables With(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"OMPI_MCA_ess_base_jobid", "77"},
                            {"PMIX_NAMESPACE", "77"},
                            {"PMIX_RANK", "2"}};
const Variables kHydra = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"PMI_FD", "6"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "16"}, {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_LOCALID", "5"}, {"SLURM_JOB_ID", "9"},  {"SLURM_STEP_ID", "0"}};

void ExpectIdentity(const Variables& variables, const char* launcher, int rank, int ranks, int local_rank) {
  const Result<LaunchIdentity> identity = From(variables);
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  EXPECT_EQ(identity->launcher, launcher);
  EXPECT_EQ(identity->rank, rank);
  EXPECT_EQ(identity->ranks, ranks);
  EXPECT_EQ(identity->local_rank, local_rank);
}

TEST(LaunchTest, NoLauncherMeansAlone) {
  ExpectIdentity({}, "none", 0, 1, -1);
  ExpectIdentity({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}}, "none", 0, 1, -1);
  EXPECT_NE(From({})->id.bytes, From({})->id.bytes);
}

TEST(LaunchTest, LaunchersAreKnown) {
  ExpectIdentity(kTorchrun, "torchrun", 3, 8, 1);
  ExpectIdentity(kOpenMpi, "Open MPI", 2, 4, 2);
  ExpectIdentity(kHydra, "MPICH", 1, 4, 1);
  ExpectIdentity(kSlurm, "Slurm", 5, 8, 5);
  ExpectIdentity(With(kSlurm, {{"PMIX_RANK", "5"}, {"PMIX_NAMESPACE", "slurm.pmix.9.0"}}), "PMIx", 5, 8, 5);
  ExpectIdentity({{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}, {"FLUX_JOB_ID", "f1"}}, "Flux", 1, 2, -1);
  ExpectIdentity({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "PMI", 0, 2, -1);
  ExpectIdentity({{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "4"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}},
                 "MVAPICH2", 1, 4, 1);
  ExpectIdentity({{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "2"}}, "JSM", 1, 2, -1);
  EXPECT_EQ(From(kTorchrun)->local_ranks, 2);
}

TEST(LaunchTest, TheInnerLauncherCounts) {
  ExpectIdentity(With(kSlurm, kTorchrun), "torchrun", 3, 8, 1);
  ExpectIdentity(With(kOpenMpi, {{"RANK", "3"}}), "Open MPI", 2, 4, 2);  // of some other program
  ExpectIdentity(With(kSlurm, kOpenMpi), "Open MPI", 2, 4, 2);
  ExpectIdentity(With(kSlurm, kHydra), "MPICH", 1, 4, 1);  // srun starts hydra's proxies, one per host
  const std::string hex = CreateUniqueId()->ToHex();
  ExpectIdentity(With(kTorchrun, {{"TUTTI_RANK", "0"}, {"TUTTI_RANKS", "2"}, {"TUTTI_ID", hex}}), "tutti run", 0, 2, 1);
}

TEST(LaunchTest, AnExplicitIdCountsWhoeverGivesTheRank) {
  const UniqueId id = *CreateUniqueId();
  EXPECT_EQ(From(With(kOpenMpi, {{"TUTTI_ID", id.ToHex()}}))->id.bytes, id.bytes);
  const Variables by_hand = {{"TUTTI_RANK", "1"}, {"TUTTI_RANKS", "2"}, {"TUTTI_ID", id.ToHex()}};
  EXPECT_EQ(From(by_hand)->id.bytes, id.bytes);
  EXPECT_TRUE(From({{"TUTTI_RANK", "0"}, {"TUTTI_RANKS", "1"}}).ok());
}

TEST(LaunchTest, RanksOfOneJobAgreeOnTheId) {
  EXPECT_EQ(From(kTorchrun)->id.bytes, From(With(kTorchrun, {{"RANK", "4"}, {"LOCAL_RANK", "0"}}))->id.bytes);
  EXPECT_EQ(From(kOpenMpi)->id.bytes,
            From(With(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}}))->id.bytes);
  EXPECT_EQ(From(kHydra)->id.bytes,
            From(With(kHydra, {{"PMI_RANK", "0"}, {"PMI_FD", "8"}, {"MPI_LOCALRANKID", "0"}}))->id.bytes);
  EXPECT_EQ(From(kSlurm)->id.bytes, From(With(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}))->id.bytes);
  EXPECT_EQ(ReadId(From(kSlurm)->id)->kind, IdKind::kDerived);
}

TEST(LaunchTest, JobsDiffer) {
  EXPECT_NE(From(kTorchrun)->id.bytes, From(With(kTorchrun, {{"MASTER_PORT", "29501"}}))->id.bytes);
  EXPECT_NE(From(kTorchrun)->id.bytes, From(With(kTorchrun, {{"TORCHELASTIC_RUN_ID", "b"}}))->id.bytes);
  EXPECT_NE(From(kTorchrun)->id.bytes, From(With(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}}))->id.bytes);
  EXPECT_NE(From(kOpenMpi)->id.bytes, From(With(kOpenMpi, {{"PMIX_NAMESPACE", "78"}}))->id.bytes);
  EXPECT_NE(From(kSlurm)->id.bytes, From(With(kSlurm, {{"SLURM_STEP_ID", "1"}}))->id.bytes);
  EXPECT_NE(From(kSlurm)->id.bytes, From(kSlurm, {.uid = 1001})->id.bytes);
  EXPECT_NE(From(kSlurm, {}, 0)->id.bytes, From(kSlurm, {}, 1)->id.bytes);
  EXPECT_NE(From(kSlurm, {}, 1)->id.bytes, From(kSlurm, {}, 2)->id.bytes);
}

TEST(LaunchTest, WhoDoesNotKnowTheSecretCanNotComputeTheId) {
  for (const Variables& job : {kTorchrun, kOpenMpi, kHydra, kSlurm, With(kTorchrun, {{"NCCL_COMM_ID", "a:1"}})}) {
    EXPECT_NE(From(job)->id.bytes, From(job, {.secret = {std::byte{8}}})->id.bytes);
    EXPECT_NE(From(job)->id.bytes, From(job, {.secret = {}})->id.bytes);
  }
}

TEST(LaunchTest, TheLaunchingProcessTellsJobsApartWhereNothingElseDoes) {
  const sys::ProcessId later = {.pid = kLauncher.pid, .start_ticks = kLauncher.start_ticks + 1};
  EXPECT_NE(From(kHydra)->id.bytes, From(kHydra, {.launcher = later})->id.bytes);
  EXPECT_EQ(From(kSlurm)->id.bytes, From(kSlurm, {.launcher = later})->id.bytes);
  const Variables bare = {{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  EXPECT_NE(From(bare)->id.bytes, From(bare, {.launcher = later})->id.bytes);
}

TEST(LaunchTest, ContradictionsAreNamed) {
  const auto names = [](const std::string& sentence, std::initializer_list<const char*> words) {
    for (const char* word : words) EXPECT_NE(sentence.find(word), std::string::npos) << word << " not in: " << sentence;
  };
  names(Complaint(With(kTorchrun, {{"RANK", "8"}})), {"RANK=8", "WORLD_SIZE=8"});
  names(Complaint(With(kTorchrun, {{"RANK", "x"}})), {"RANK=\"x\""});
  names(Complaint(With(kTorchrun, {{"WORLD_SIZE", ""}})), {"WORLD_SIZE=\"\""});
  names(Complaint(With(kTorchrun, {{"LOCAL_RANK", "-1"}})), {"LOCAL_RANK=\"-1\""});
  names(Complaint({{"OMPI_COMM_WORLD_RANK", "0"}}), {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"});
  names(Complaint({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "a"}}), {"PMIX_RANK", "TUTTI_RANKS"});
  names(Complaint({{"TUTTI_RANK", "0"}}), {"TUTTI_RANK is set", "TUTTI_RANKS is not"});
  names(Complaint({{"TUTTI_RANKS", "2"}}), {"TUTTI_RANKS is set"});
  names(Complaint({{"TUTTI_RANK", "0"}, {"TUTTI_RANKS", "2"}}), {"TUTTI_ID", "tutti run"});
  names(Complaint({{"TUTTI_RANK", "2"}, {"TUTTI_RANKS", "2"}}), {"TUTTI_RANK=2", "TUTTI_RANKS=2"});
  names(Complaint({{"TUTTI_ID", "abc"}}), {"TUTTI_ID", "256"});
  names(Complaint({{"RANK", "3"}}), {"RANK is set", "WORLD_SIZE is not"});
  names(Complaint({{"WORLD_SIZE", "4"}}), {"WORLD_SIZE is set", "RANK is not"});
  for (const char* wrong : {"host", "host:", ":80", "host:0", "host:65536", "1::2:80", "host:80x", "[]:80"}) {
    names(Complaint(With(kTorchrun, {{"NCCL_COMM_ID", wrong}})), {"NCCL_COMM_ID", wrong, "host:port"});
  }
}

const Variables kSeveralHosts[] = {With(kSlurm, {{"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_NNODES", "4"}}),
                                   With(kSlurm, {{"SLURM_NNODES", "2"}}),
                                   With(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
                                   With(kHydra, {{"MPI_LOCALNRANKS", "2"}}),
                                   {{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}, {"FLUX_JOB_NNODES", "2"}}};

TEST(LaunchTest, SeveralHostsNeedAPlaceToMeet) {
  for (const Variables& variables : kSeveralHosts) {
    const Result<LaunchIdentity> identity = From(variables);
    EXPECT_EQ(identity.status().code(), Code::kUnsupported);
    EXPECT_NE(identity.status().message().find("do not know where to meet"), std::string::npos)
        << identity.status().message();
  }
  EXPECT_TRUE(From(With(kSlurm, {{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_NNODES", "4"}})).ok());
}

TEST(LaunchTest, TheLaunchersStoreHandsOutTheIdWhereThereAreSeveralHosts) {
  IdParts parts = *ReadId(*CreateUniqueId());
  parts.addresses = {{sys::IpAddress::V4(10, 0, 0, 9), 500}};
  const UniqueId fresh = MakeId(parts);
  for (const Variables& variables : {kSeveralHosts[2], kSeveralHosts[3], kSeveralHosts[4]}) {
    EXPECT_EQ(From(variables, {.shared = fresh})->id.bytes, fresh.bytes);
    const UniqueId second = From(variables, {.shared = fresh}, 1)->id;
    EXPECT_NE(ReadId(second)->name, parts.name);
    EXPECT_EQ(ReadId(second)->addresses, parts.addresses);
  }
  // Where all ranks are on one host nobody asks it.
  for (const Variables& variables : {kOpenMpi, kHydra}) {
    EXPECT_EQ(From(variables, {.shared = fresh})->id.bytes, From(variables)->id.bytes);
  }
  const Status broken(Code::kTimeout, "rank 0 has not come");
  EXPECT_EQ(From(kSeveralHosts[2], {.shared = broken}).status().code(), Code::kTimeout);
}

TEST(LaunchTest, WhereRankZeroIsTheyMeet) {
  const Variables nodes = {{"SLURM_STEP_NODELIST", "east[03-04]"}, {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.3"}};
  const Variables torch_by_hand = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.3"}, {"MASTER_PORT", "29500"}};
  for (const Variables& variables : {With(kSeveralHosts[0], nodes), kTorchrun, torch_by_hand}) {
    const IdParts parts = *ReadId(From(variables)->id);
    EXPECT_EQ(parts.kind, IdKind::kDerived);
    EXPECT_EQ(parts.listener, IdListener::kRankZero);
    EXPECT_GT(parts.ports, 1);
    ASSERT_FALSE(parts.addresses.empty());
    const IdParts second = *ReadId(From(variables, {}, 1)->id);
    EXPECT_NE(second.name, parts.name);
    EXPECT_EQ(second.addresses, parts.addresses);
  }
  EXPECT_EQ(ReadId(From(With(kSeveralHosts[0], nodes))->id)->addresses.size(), 2u);
  // Nobody needs a place where all are on one host, or where others could compute the id.
  for (const Variables& variables :
       {With(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}), With(kSlurm, nodes),
        With(kTorchrun, {{"MASTER_ADDR", "localhost"}}), With(kTorchrun, {{"MASTER_ADDR", "nowhere"}})}) {
    EXPECT_TRUE(ReadId(From(variables)->id)->addresses.empty());
  }
  EXPECT_TRUE(ReadId(From(kTorchrun, {.secret = {}})->id)->addresses.empty());
  const Status no_secret = From(With(kSeveralHosts[0], nodes), {.secret = {}}).status();
  EXPECT_NE(no_secret.message().find("TUTTI_SECRET"), std::string::npos) << no_secret.message();
  const Status no_name = From(With(kSeveralHosts[0], {{"SLURM_STEP_NODELIST", "nowhere"}})).status();
  EXPECT_NE(no_name.message().find("\"nowhere\""), std::string::npos) << no_name.message();
}

TEST(LaunchTest, NcclCommIdNamesTheJob) {
  const Variables by_address = {{"NCCL_COMM_ID", "10.0.0.1:5000"}};
  const UniqueId id = *JobIdFrom(by_address);
  EXPECT_EQ(JobIdFrom(by_address, 1)->bytes, id.bytes);  // as with NCCL the same at each call
  EXPECT_EQ(From(With(kTorchrun, by_address))->id.bytes, id.bytes);
  EXPECT_EQ(From(With(kHydra, by_address))->id.bytes, id.bytes);
  EXPECT_NE(JobIdFrom({{"NCCL_COMM_ID", "[fe80::1]:5000"}})->bytes, id.bytes);
  EXPECT_NE(JobIdFrom({{"NCCL_COMM_ID", "host:5000"}})->bytes, id.bytes);
  const IdParts parts = *ReadId(id);
  EXPECT_EQ(parts.kind, IdKind::kDerived);
  EXPECT_EQ(parts.listener, IdListener::kRankZero);
  EXPECT_EQ(sys::ListEndpoints(parts.Endpoints()), "10.0.0.1:5000");
  EXPECT_EQ(sys::ListEndpoints(ReadId(*JobIdFrom({{"NCCL_COMM_ID", "[fd00::1]:5000"}}))->Endpoints()),
            "[fd00::1]:5000");
  EXPECT_TRUE(ReadId(*JobIdFrom({{"NCCL_COMM_ID", "nowhere:5000"}}))->addresses.empty());  // one host needs none
}

TEST(LaunchTest, TheJobsIdIsGivenToWhoAsksForIt) {
  EXPECT_NE(JobIdFrom(kOpenMpi)->bytes, JobIdFrom(kOpenMpi)->bytes);
  EXPECT_EQ(ReadId(*JobIdFrom(kOpenMpi))->kind, IdKind::kRandom);
  for (const Variables& job : {kTorchrun, kOpenMpi, kHydra, kSlurm}) {
    const Variables asks = With(job, {{"TUTTI_UNIQUE_ID", "job"}});
    EXPECT_EQ(JobIdFrom(asks, 0)->bytes, JobIdFrom(asks, 0)->bytes);
    EXPECT_NE(JobIdFrom(asks, 0)->bytes, JobIdFrom(asks, 1)->bytes);
    EXPECT_NE(JobIdFrom(asks, 0)->bytes, From(asks)->id.bytes);
    EXPECT_NE(JobIdFrom(asks, 1)->bytes, From(asks, {}, 1)->id.bytes);
  }
  EXPECT_NE(JobIdFrom({{"TUTTI_UNIQUE_ID", "random"}})->bytes, JobIdFrom({{"TUTTI_UNIQUE_ID", "random"}})->bytes);
  const Result<UniqueId> alone = JobIdFrom({{"TUTTI_UNIQUE_ID", "job"}});
  EXPECT_EQ(alone.status().code(), Code::kInvalidArgument);
  EXPECT_NE(alone.status().message().find("no launcher"), std::string::npos);
  EXPECT_NE(JobIdFrom({{"TUTTI_UNIQUE_ID", "yes"}}).status().message().find("\"yes\""), std::string::npos);
}

}  // namespace
}  // namespace tutti::comm
