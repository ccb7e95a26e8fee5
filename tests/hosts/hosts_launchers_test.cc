// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// How ranks of several hosts come to one id where no program passes it on: by a real launcher's store, by NCCL_COMM_ID, and by
// what launchers say in variables. Hosts are network name spaces (hosts.h).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/hosts/hosts.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

enum Host { kEast, kWest };

using Words = std::vector<std::string>;

bool Has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

class HostsLaunchersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = Hosts::WhyNot(); !why_not.empty()) GTEST_SKIP() << why_not;
    // What launchers take for ssh: the host, then a command for its shell.
    std::ofstream(agent_) << "#!/bin/sh\nhost=$1\nshift\n"
                             "exec ip netns exec \"$host\" unshare --uts sh -c \"hostname ${host##*-}; $*\"\n";
    ASSERT_EQ(chmod(agent_.c_str(), 0700), 0);
  }

  // East's ranks are 0 and 1, west's 2 and 3. `more`: for the ranks' environment.
  static std::string HostList(const Hosts& hosts) {
    return fmt::format("{}:2,{}:2", hosts.NameSpace(kEast), hosts.NameSpace(kWest));
  }
  ChildProcess StartOpenMpi(Hosts& hosts, const Words& more = {}) const {
    Words words = {"mpirun.openmpi", "--allow-run-as-root", "-np", "4", "--host", HostList(hosts)};
    for (const char* word : {"--mca", "plm_rsh_agent", agent_.c_str(), "--mca", "oob_tcp_if_include", "eth0", "env"}) {
      words.emplace_back(word);
    }
    words.insert(words.end(), more.begin(), more.end());
    for (const char* word : {"NCCL_DEBUG=INFO", "TUTTI_INIT_TIMEOUT_MS=30000", TUTTI_HOST_RANK, "--twice"})
      words.emplace_back(word);
    return hosts.Start(kEast, words);
  }
  ChildProcess StartMpich(Hosts& hosts, const Words& more = {}) const {
    Words words = {"mpiexec.hydra", "-np", "4", "-hosts", HostList(hosts), "-iface", "eth0", "-launcher", "rsh"};
    for (const char* word : {"-launcher-exec", agent_.c_str(), "env"}) words.emplace_back(word);
    words.insert(words.end(), more.begin(), more.end());
    for (const char* word : {"NCCL_DEBUG=INFO", "TUTTI_INIT_TIMEOUT_MS=30000", TUTTI_HOST_RANK, "--twice"})
      words.emplace_back(word);
    return hosts.Start(kEast, words);
  }

  const ScratchFolder folder_;
  const std::string agent_ = folder_.Path("agent");
};

bool Installed(const char* program) {
  return std::system(fmt::format("command -v {} >/dev/null", program).c_str()) == 0;
}

void ExpectTogether(ChildProcess& launcher) {
  EXPECT_EQ(launcher.Wait(), 0) << launcher.output();
  EXPECT_TRUE(Has(launcher.output(), "ranks are on 2 hosts: east (ranks 0 and 1), west (ranks 2 and 3)"))
      << launcher.output();
}

// Of ranks that are started one by one, two on each host.
void ExpectTogether(std::vector<ChildProcess>& ranks,
                    const char* on_which = "east (ranks 0 and 1), west (ranks 2 and 3)") {
  std::string said;
  for (ChildProcess& rank : ranks) {
    EXPECT_EQ(rank.Wait(), 0) << rank.output();
    EXPECT_TRUE(Has(rank.output(), "the sums are right")) << rank.output();
    said += rank.output();
  }
  EXPECT_TRUE(Has(said, fmt::format("ranks are on 2 hosts: {}", on_which))) << said;
}

TEST_F(HostsLaunchersTest, OpenMpi) {
  if (!Installed("mpirun.openmpi")) GTEST_SKIP() << "Open MPI is not installed";
  Hosts hosts({"east", "west"});
  ChildProcess launcher = StartOpenMpi(hosts);
  ExpectTogether(launcher);
}

TEST_F(HostsLaunchersTest, Mpich) {
  if (!Installed("mpiexec.hydra")) GTEST_SKIP() << "MPICH is not installed";
  Hosts hosts({"east", "west"});
  ChildProcess launcher = StartMpich(hosts);
  ExpectTogether(launcher);
}

// The connection to the launcher is MPI's where there is one.
TEST_F(HostsLaunchersTest, MpichAndAProgramThatUsesMpi) {
  if (!Installed("mpiexec.hydra")) GTEST_SKIP() << "MPICH is not installed";
  Hosts hosts({"east", "west"});
  ChildProcess launcher = StartMpich(hosts, {"LD_PRELOAD=libmpich.so.12"});
  EXPECT_NE(launcher.Wait(), 0);
  EXPECT_TRUE(Has(launcher.output(),
                  "MPICH started the ranks on several hosts, and they do not know where to meet: the "
                  "launcher's store serves this process's MPI (MPI_Init) alone"))
      << launcher.output();
  ChildProcess with_place =
      StartMpich(hosts, {"LD_PRELOAD=libmpich.so.12", fmt::format("NCCL_COMM_ID={}:5000", hosts.Address(kEast))});
  ExpectTogether(with_place);
}

// Ranks 0 and 1 on east, 2 and 3 on west. `variables`: of a rank on a host, beside what all have.
template <typename Variables>
std::vector<ChildProcess> StartRanks(Hosts& hosts, const Words& all, Variables variables) {
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Words environment = {"NCCL_DEBUG=INFO", "TUTTI_INIT_TIMEOUT_MS=30000"};
    environment.insert(environment.end(), all.begin(), all.end());
    for (const std::string& variable : variables(rank)) environment.push_back(variable);
    ranks.push_back(hosts.Start(rank / 2, {TUTTI_HOST_RANK, "--twice"}, environment));
  }
  return ranks;
}

Words Torchrun(int rank, const std::string& master) {
  return {fmt::format("RANK={}", rank), "WORLD_SIZE=4",      fmt::format("LOCAL_RANK={}", rank % 2),
          "LOCAL_WORLD_SIZE=2",         "MASTER_PORT=29500", "TORCHELASTIC_RUN_ID=none",
          "MASTER_ADDR=" + master};
}

TEST_F(HostsLaunchersTest, Torchrun) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks =
      StartRanks(hosts, {}, [](int rank) { return Torchrun(rank, Hosts::Address(kEast)); });
  ExpectTogether(ranks);
}

// A host's own name leads to 127.0.1.1 there, as Debian has it. The ids have other addresses on each host, also where ranks split.
TEST_F(HostsLaunchersTest, TorchrunWithAName) {
  Hosts hosts({"east", "west"});
  std::ofstream(folder_.Path("hosts0")) << "127.0.1.1 east\n";
  std::ofstream(folder_.Path("hosts1")) << hosts.Address(kEast) << " east\n";
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Words environment = Torchrun(rank, "east");
    environment.emplace_back("NCCL_DEBUG=INFO");
    const std::string file = folder_.Path(fmt::format("hosts{}", rank / 2));
    ranks.push_back(hosts.Start(
        rank / 2, {"sh", "-c", fmt::format("mount --bind {} /etc/hosts && exec {} --job-id", file, TUTTI_HOST_RANK)},
        environment));
  }
  ExpectTogether(ranks);
}

TEST_F(HostsLaunchersTest, HostsWithSecretsOfTheirOwn) {
  Hosts hosts({"east", "west"});
  const auto variables = [&](int rank) {
    Words words = Torchrun(rank, Hosts::Address(kEast));
    words.push_back(fmt::format("XDG_CACHE_HOME={}", folder_.Path(rank < 2 ? "east" : "west")));
    return words;
  };
  std::vector<ChildProcess> apart = StartRanks(hosts, {"TUTTI_INIT_TIMEOUT_MS=2000"}, variables);
  for (ChildProcess& rank : apart) EXPECT_EQ(rank.Wait(), 1) << rank.output();
  for (const char* piece :
       {"Connection refused", "likewise at 7 more ports",
        "the hosts have different secrets of this user, and so another id or port; set TUTTI_SECRET "
        "to one text on all, or copy ~/.cache/tutti/secret"}) {
    EXPECT_TRUE(Has(apart[2].output(), piece)) << apart[2].output();
  }
  std::vector<ChildProcess> together = StartRanks(hosts, {"TUTTI_SECRET=one that both hosts have"}, variables);
  ExpectTogether(together);
}

TEST_F(HostsLaunchersTest, Slurm) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks =
      StartRanks(hosts,
                 {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NUM_NODES=2",
                  "SLURM_STEP_NODELIST=10.77.0.[1-2]"},
                 [](int rank) {
                   return Words{fmt::format("SLURM_PROCID={}", rank), fmt::format("SLURM_LOCALID={}", rank % 2)};
                 });
  ExpectTogether(ranks);
}

Words ByHand(int rank) { return {fmt::format("TUTTI_RANK={}", rank), "TUTTI_RANKS=4"}; }

TEST_F(HostsLaunchersTest, NcclCommId) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks =
      StartRanks(hosts, {fmt::format("NCCL_COMM_ID={}:5000", hosts.Address(kEast))}, &ByHand);
  ExpectTogether(ranks);
}

TEST_F(HostsLaunchersTest, NcclCommIdWhoseNameNobodyKnows) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks =
      StartRanks(hosts, {"NCCL_COMM_ID=no such host:5000", "TUTTI_INIT_TIMEOUT_MS=1000"}, &ByHand);
  for (ChildProcess& rank : ranks) {
    EXPECT_EQ(rank.Wait(), 1) << rank.output();
    EXPECT_TRUE(Has(rank.output(),
                    "Ranks of other hosts could not come: host \"no such host\" has no address that this "
                    "host knows"))
        << rank.output();
  }
}

TEST_F(HostsLaunchersTest, NcclCommIdWhosePortIsTaken) {
  Hosts hosts({"east", "west"});
  ChildProcess other = hosts.Start(kEast, {"python3", "-uc",
                                           "import socket, time\ns = socket.create_server(('', 5000))\n"
                                           "print('listens')\ntime.sleep(60)"});
  ASSERT_TRUE(other.WaitForOutput("listens")) << other.output();
  std::vector<ChildProcess> ranks = StartRanks(
      hosts, {fmt::format("NCCL_COMM_ID={}:5000", hosts.Address(kEast)), "TUTTI_INIT_TIMEOUT_MS=2000"}, &ByHand);
  for (ChildProcess& rank : ranks) EXPECT_EQ(rank.Wait(), 1) << rank.output();
  EXPECT_TRUE(Has(ranks[0].output(),
                  "Rank 0 could not listen for other hosts: cannot listen on 10.77.0.1: port 5000 is "
                  "taken"))
      << ranks[0].output();
}

TEST_F(HostsLaunchersTest, SeveralIdsAreMadeOnSeveralHosts) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Words environment = ByHand(rank);
    environment.emplace_back("NCCL_DEBUG=INFO");
    ranks.push_back(hosts.Start(rank / 2, {TUTTI_HOST_RANK, "--two-ids", folder_.Path("id")}, environment));
  }
  ExpectTogether(ranks);
}

// All listeners are within the range, also that of rank 0 in torchrun's way.
TEST_F(HostsLaunchersTest, AFirewallThatLetsFewPortsPass) {
  Hosts hosts({"east", "west"});
  for (const int host : {kEast, kWest}) {
    hosts.Run(host, {"nft",
                     "add table inet wall; add chain inet wall in { type filter hook input priority 0; policy drop; }; "
                     "add rule inet wall in ct state established,related accept; "
                     "add rule inet wall in iifname lo accept; "
                     "add rule inet wall in tcp dport 4000-4015 accept"});
  }
  const auto torchrun = [](int rank) { return Torchrun(rank, Hosts::Address(kEast)); };
  std::vector<ChildProcess> ranks = StartRanks(hosts, {"TUTTI_PORTS=4000-4015"}, torchrun);
  ExpectTogether(ranks);
  std::vector<ChildProcess> apart =
      StartRanks(hosts, {"TUTTI_PORTS=5000-5015", "TUTTI_INIT_TIMEOUT_MS=2000"}, torchrun);
  for (ChildProcess& rank : apart) EXPECT_EQ(rank.Wait(), 1) << rank.output();
}

TEST_F(HostsLaunchersTest, TooFewPorts) {
  Hosts hosts({"east", "west"});
  std::vector<ChildProcess> ranks = StartRanks(
      hosts,
      {fmt::format("NCCL_COMM_ID={}:5000", hosts.Address(kEast)), "TUTTI_PORTS=4000", "TUTTI_INIT_TIMEOUT_MS=4000"},
      &ByHand);
  std::string said;
  for (ChildProcess& rank : ranks) {
    EXPECT_EQ(rank.Wait(), 1) << rank.output();
    said += rank.output();
  }
  EXPECT_TRUE(Has(said, "port 4000 is taken")) << said;
}

}  // namespace
}  // namespace tutti::tests
