// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/environment.h"

#include "tests/support/findings.h"
#include "tests/support/scratch_folder.h"

namespace tutti::doctor {
namespace {

Findings Examine(std::vector<std::string> variables, std::vector<std::string> interfaces = {"lo", "eth0"}) {
  Environment environment;
  environment.variables = std::move(variables);
  environment.interfaces = std::move(interfaces);
  Findings findings;
  ExamineEnvironment(environment, findings);
  return findings;
}

TEST(DoctorEnvironment, Healthy) {
  for (const Findings& findings :
       {Examine({}), Examine({"PATH=/bin", "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=NET", "NCCL_SOCKET_IFNAME=eth",
                              "TUTTI_RANK=1", "TUTTI_RANKS=2", "NCCL_MIN_NCHANNELS=1", "NCCL_MAX_NCHANNELS=2",
                              "NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=LOC"})}) {
    ASSERT_EQ(findings.size(), 1u) << All(findings);
    ExpectFinding(findings, "environment", Severity::kOk, "fit each other");
  }
}

TEST(DoctorEnvironment, MisspelledUnreadableIgnored) {
  ExpectFinding(Examine({"NCCL_SOCKET_IFNAM=eth0"}), "environment", Severity::kWarn, "NCCL_SOCKET_IFNAME");
  ExpectFinding(Examine({"TUTTI_TIMEOUT_MS=soon"}), "environment", Severity::kWarn, "TUTTI_TIMEOUT_MS");
  const Findings findings = Examine({"NCCL_BUFFSIZE=4194304"});
  EXPECT_NE(All(findings).find("INFO      environment: NCCL_BUFFSIZE is set and has no effect (NCCL_BUFFSIZE=4194304)"),
            std::string::npos)
      << All(findings);
  EXPECT_EQ(ExitCodeOf(findings), 0);
}

TEST(DoctorEnvironment, Contradictions) {
  struct Case {
    std::vector<std::string> variables;
    Severity severity;
    const char* text;
  };
  for (const Case& one : {
           Case{
               {"NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=SYS"}, Severity::kWarn, "NCCL_P2P_DISABLE=1, NCCL_P2P_LEVEL=SYS"},
           Case{{"NCCL_IB_DISABLE=1", "NCCL_IB_HCA=mlx5_0"}, Severity::kWarn, "verbs are off"},
           Case{{"NCCL_IB_DISABLE=1", "NCCL_NET=IB"}, Severity::kCritical, "switched off"},
           Case{{"NCCL_NET=Socket", "NCCL_NET_PLUGIN=aws-ofi"}, Severity::kWarn, "TCP is asked for"},
           Case{{"NCCL_NET=Socket", "NCCL_IB_HCA=mlx5_0"}, Severity::kInfo, "naming cards"},
           Case{{"NCCL_OOB_NET_IFNAME=eth0"}, Severity::kWarn, "NCCL_OOB_NET_ENABLE is not set"},
           Case{{"TUTTI_MONITOR=0", "TUTTI_ON_VERDICT=abort:5"}, Severity::kWarn, "the monitor is off"},
           Case{{"TUTTI_BLACK_BOX=0", "TUTTI_ON_VERDICT=abort:5"}, Severity::kWarn, "not written down"},
           Case{{"NCCL_DEBUG_SUBSYS=NET"}, Severity::kInfo, "NCCL_DEBUG=INFO"},
           Case{{"TUTTI_GPU=0", "NCCL_P2P_LEVEL=SYS"}, Severity::kInfo, "device memory is off"},
           Case{{"NCCL_MIN_NCHANNELS=8", "NCCL_MAX_NCHANNELS=4"}, Severity::kWarn, "NCCL_MIN_NCHANNELS=8"},
           Case{{"TUTTI_RANK=1"}, Severity::kCritical, "TUTTI_RANKS is missing"},
           Case{{"TUTTI_RANK=4", "TUTTI_RANKS=4"}, Severity::kCritical, "none of the job's"},
           Case{{"TUTTI_INIT_TIMEOUT_MS=60"}, Severity::kWarn, "is in ms"},
           Case{{"NCCL_TOPO_FILE=/none/topo.xml"}, Severity::kWarn, "/none/topo.xml"},
           Case{{"NCCL_SOCKET_IFNAME=ib"}, Severity::kCritical, "NCCL_SOCKET_IFNAME=ib; there are lo, eth0"},
           Case{{"NCCL_SOCKET_IFNAME==eth"}, Severity::kCritical, "names no interface"},
           Case{{"NCCL_SOCKET_IFNAME=^lo,eth"}, Severity::kCritical, "names no interface"},
       }) {
    const Findings findings = Examine(one.variables);
    bool found = false;
    for (const Finding& finding : findings) {
      if (TextOf(finding).find(one.text) == std::string::npos) continue;
      found = true;
      EXPECT_EQ(Name(finding.severity), Name(one.severity)) << LineOf(finding);
      EXPECT_NE(finding.remedy, "");
    }
    EXPECT_TRUE(found) << one.text << "\n" << All(findings);
  }
}

TEST(DoctorEnvironment, FilesAndOrder) {
  const tests::ScratchFolder folder;
  Environment environment;
  environment.variables = {"NCCL_ALGO=", "NCCL_PROTO=LL"};
  environment.files = {{.name = "one", .text = "NCCL_ALGO=ring\nNCCL_PROTO=Simple\nNCCL_DEBUG_FILE=\n"},
                       {.name = "two", .text = "NCCL_ALGO=tree\nNCCL_NET=Socket\n"}};
  EXPECT_EQ(environment.ValueOf("NCCL_ALGO"), "ring");
  EXPECT_EQ(environment.ValueOf("NCCL_PROTO"), "LL");
  EXPECT_EQ(environment.ValueOf("NCCL_NET"), "Socket");
  EXPECT_EQ(environment.ValueOf("NCCL_DEBUG_FILE"), "");
  const std::string path = folder.path() + "/topo.xml";
  ExpectFinding(Examine({"NCCL_TOPO_FILE=" + path}), "environment", Severity::kWarn, "is not there");
  ExpectFinding(Examine({"NCCL_TOPO_FILE=" + folder.path(), "NCCL_TOPO_DUMP_FILE=" + folder.path()}), "environment",
                Severity::kWarn, "written over");
}

}  // namespace
}  // namespace tutti::doctor
