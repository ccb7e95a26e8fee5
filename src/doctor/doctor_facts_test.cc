// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/facts.h"

#include "tests/support/findings.h"
#include "tests/support/rendered_machines.h"

namespace tutti::doctor {
namespace {

HostReport Host(const std::string& name, std::vector<Fact> facts) {
  return {.host = name, .findings = {}, .facts = std::move(facts)};
}

TEST(DoctorFacts, Alike) {
  const std::vector<HostReport> hosts = {Host("a", {{"Linux", "6.1"}}), Host("b", {{"Linux", "6.1"}})};
  ExpectFinding(Compare(hosts), "differs", Severity::kOk, "1 facts of 2 hosts");
  EXPECT_TRUE(Compare(std::span(hosts).first(1)).empty());
}

TEST(DoctorFacts, OneDiffers) {
  std::vector<HostReport> hosts;
  for (const char* name : {"a", "b", "c", "d"}) {
    const bool odd = hosts.size() == 2;
    hosts.push_back(Host(
        name, {{"Linux", odd ? "5.15" : "6.1", Severity::kInfo}, {"NCCL_ALGO", odd ? "" : "ring"}, {"GPUs", "8"}}));
  }
  const Findings findings = Compare(hosts);
  ASSERT_EQ(findings.size(), 2u) << All(findings);
  EXPECT_EQ(LineOf(findings[0]),
            "INFO      c: differs: Linux is not what most hosts have ('6.1' on 3 of 4 hosts, '5.15' on 1 of 4 hosts: "
            "c); make them alike");
  EXPECT_EQ(LineOf(findings[1]),
            "WARN      c: differs: NCCL_ALGO is not what most hosts have ('ring' on 3 of 4 hosts, nothing on 1 of 4 "
            "hosts: c); make them alike");
}

// Nobody can say who of two is right. A fact that only one has is a difference too.
TEST(DoctorFacts, Halves) {
  const Findings findings = Compare(std::vector{Host("a", {{"GPUs", "8"}}), Host("b", {})});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].host, "");
  EXPECT_EQ(findings[0].evidence, "'8' on 1 of 2 hosts: a, nothing on 1 of 2 hosts: b");
}

TEST(DoctorFacts, Coded) {
  HostReport report = Host("node3", {{"Linux", "6.1\n\0x", Severity::kInfo}, {"", ""}});
  report.findings = {{.severity = Severity::kCritical,
                      .check = "pcie",
                      .what = "narrow",
                      .evidence = "1 of 16",
                      .remedy = "reseat",
                      .host = "node3"},
                     {.check = "shm", .host = "node3"}};
  const std::string bytes = Encode(report);
  EXPECT_EQ(Decode(bytes), report);
  EXPECT_EQ(Decode(bytes.substr(0, bytes.size() - 1)).facts.size(), 1u);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_LE(Decode(bytes.substr(0, i)).findings.size(), 2u);
  EXPECT_EQ(Decode(""), HostReport());
}

TEST(DoctorFacts, Read) {
  tests::RenderedHost host;
  tests::AddHgx(host);
  host.Write("/proc/sys/kernel/osrelease", "6.1.0");
  host.Write("/proc/sys/net/core/rmem_max", "212992");
  host.Write("/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002");
  Environment environment;
  environment.variables = {"NCCL_ALGO=ring", "TUTTI_SECRET=aaaaaaaaaaaaaaaaaaaa", "TUTTI_RANK=3"};
  const std::vector<PciLink> links = LinksOf(*sys::ReadDeviceTree(host.root()));
  const std::vector<Fact> facts = ReadFacts(Root(host.root()), "0.1.0", environment, links, nullptr);
  const auto value = [&](const char* name) {
    const auto fact = std::ranges::find(facts, name, &Fact::name);
    return fact == facts.end() ? "no such fact" : fact->value;
  };
  EXPECT_EQ(value("Linux"), "6.1.0");
  EXPECT_EQ(value("net.core.rmem_max"), "212992");
  EXPECT_EQ(value("NCCL_ALGO"), "ring");
  EXPECT_EQ(value("PCIe links of GPUs"), "8 with 16 lanes now, 16 32.0 GT/s PCIe at best");
  EXPECT_NE(value("firmware of RDMA cards").find("28.39.1002"), std::string::npos);
  for (const char* hidden : {"TUTTI_SECRET", "TUTTI_RANK", "NVIDIA's driver"}) EXPECT_EQ(value(hidden), "no such fact");
}

}  // namespace
}  // namespace tutti::doctor
