// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/launch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "comm/bootstrap.h"
#include "comm/unique_id.h"

namespace tutti::comm {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr sys::ProcessId kLauncher = {.pid = 100, .start_ticks = 7};

Result<LaunchIdentity> From(const Variables& variables, sys::ProcessId launcher = kLauncher, std::uint32_t uid = 1000,
                            int generation = 0) {
  const auto variable = [&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  const auto ancestor = [launcher](std::string_view) { return launcher; };
  return internal::IdentityFrom({.variable = variable, .launcher = ancestor, .uid = uid}, generation);
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
  ExpectIdentity({{"RANK", "3"}}, "none", 0, 1, -1);  // of some other program
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
  EXPECT_EQ(From(kTorchrun)->local_ranks, 2);
}

TEST(LaunchTest, TheInnerLauncherCounts) {
  ExpectIdentity(With(kSlurm, kTorchrun), "torchrun", 3, 8, 1);
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
  EXPECT_NE(From(kSlurm, kLauncher, 1000)->id.bytes, From(kSlurm, kLauncher, 1001)->id.bytes);
  EXPECT_NE(From(kSlurm, kLauncher, 1000, 0)->id.bytes, From(kSlurm, kLauncher, 1000, 1)->id.bytes);
}

TEST(LaunchTest, TheLaunchingProcessTellsJobsApartWhereNothingElseDoes) {
  const sys::ProcessId later = {.pid = kLauncher.pid, .start_ticks = kLauncher.start_ticks + 1};
  EXPECT_NE(From(kHydra, kLauncher)->id.bytes, From(kHydra, later)->id.bytes);
  EXPECT_EQ(From(kSlurm, kLauncher)->id.bytes, From(kSlurm, later)->id.bytes);
  const Variables bare = {{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  EXPECT_NE(From(bare, kLauncher)->id.bytes, From(bare, later)->id.bytes);
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
}

// --- With real launchers. They start this program again with TUTTI_LAUNCH_TEST set; then it meets the other ranks.

int MeetOthers() {
  const Result<LaunchIdentity> identity = IdentityFromEnvironment();
  if (!identity.ok() || identity->ranks != 4) {
    std::fprintf(stderr, "identity: %s\n", identity.status().ToString().c_str());
    return 1;
  }
  const Result<std::vector<Member>> members =
      Meet({.id = identity->id, .rank = identity->rank, .ranks = identity->ranks, .timeout_ms = 30'000});
  if (!members.ok()) std::fprintf(stderr, "meeting: %s\n", members.status().ToString().c_str());
  return members.ok() && members->size() == 4 ? 0 : 1;
}

// Ends this program as a rank where a launcher test started it as one.
const bool kIsRank = [] {
  if (std::getenv("TUTTI_LAUNCH_TEST") != nullptr) _exit(MeetOthers());
  return false;
}();

void RunLauncher(const std::string& launcher, const std::string& wrapper) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  if (std::system(("command -v " + launcher.substr(0, launcher.find(' ')) + " >/dev/null").c_str()) != 0) {
    GTEST_SKIP() << launcher << " is not installed";
  }
  const std::string command = "TUTTI_LAUNCH_TEST=1 " + launcher + " " + wrapper + " '" + self + "' </dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

const char kOpenMpiRun[] = "mpirun.openmpi --allow-run-as-root --oversubscribe -np 4";
const char kMpichRun[] = "mpirun.mpich -np 4";

TEST(LaunchTest, MeetsUnderOpenMpi) { RunLauncher(kOpenMpiRun, ""); }
TEST(LaunchTest, MeetsUnderMpich) { RunLauncher(kMpichRun, ""); }
// A shell between the launcher and the ranks, which does not replace itself by the rank.
TEST(LaunchTest, MeetsUnderOpenMpiThroughAShell) { RunLauncher(kOpenMpiRun, "sh -c '\"$0\"; exit $?'"); }
TEST(LaunchTest, MeetsUnderMpichThroughAShell) { RunLauncher(kMpichRun, "sh -c '\"$0\"; exit $?'"); }

}  // namespace
}  // namespace tutti::comm
