// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sys/os/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/ranks.h"
#include "tests/support/rendered_machines.h"
#include "tools/doctor_job.h"
#include "tools/doctor_paths.h"
#include "tools/doctor_report.h"

namespace tutti::tools {
namespace {

using doctor::Severity;
using tests::RenderedHost;

struct Said {
  int exit = 0;
  std::string out, err;
};

Said Doctor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tutti doctor");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit = DoctorCommand(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

// A host of files that has everything a check asks for, as it should be. Only /dev/shm is this machine's.
void AddHealthy(RenderedHost& host) {
  tests::AddHgx(host);
  host.Link("/dev/shm", "/");
  host.Write("/proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-7\nSeccomp:\t0");
  host.Write("/proc/self/cgroup", "0::/");
  host.Write("/sys/fs/cgroup/cpu.stat", "usage_usec 5");
  std::string limits = "Limit                     Soft Limit           Hard Limit           Units\n";
  for (const char* name : {"Max file size", "Max core file size", "Max processes", "Max open files",
                           "Max locked memory", "Max address space"}) {
    limits += fmt::format("{:<26}{:<21}{:<21}bytes\n", name, "unlimited", "unlimited");
  }
  host.Write("/proc/self/limits", limits);
}

// Findings that come from this machine and not from the files: its interfaces, and what its kernel permits.
bool OfThisMachine(const std::string& check) {
  return std::set<std::string>{"nic", "mtu", "ptrace", "pidfd", "shm", "environment"}.contains(check);
}

TEST(DoctorCommand, AHealthyHostAndOneFault) {
  RenderedHost host;
  AddHealthy(host);
  const std::vector<std::string> asked = {"--root", host.root(), "--nvml", "", "--json", "-"};
  Said said = Doctor(asked);
  auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["exit_code"], said.exit);
  EXPECT_EQ(json["hosts"], 1);
  EXPECT_GT(json["findings"].size(), 15u);
  for (const auto& finding : json["findings"]) {
    if (OfThisMachine(finding["check"]) || finding["check"] == "acs") continue;
    EXPECT_EQ(finding["severity"], "OK") << finding.dump();
  }
  host.Write("/sys/bus/pci/devices/0000:13:00.0/current_link_width", "2");
  said = Doctor({"--root", host.root(), "--nvml", ""});
  EXPECT_EQ(said.exit, 2);
  EXPECT_NE(said.out.find("CRITICAL  pcie: GPU 0000:13:00.0: the PCIe link is narrow (2 of 16 lanes); reseat"),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find(" findings: 1 CRITICAL, "), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("OK        "), std::string::npos) << said.out;
  EXPECT_NE(Doctor({"--root", host.root(), "--nvml", "", "--all"}).out.find("OK        memlock: enough"),
            std::string::npos);
}

TEST(DoctorCommand, ThisHost) {
  const Said said = Doctor({"--all"});
  EXPECT_NE(said.out.find(" findings: "), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("UNKNOWN   limits"), std::string::npos) << said.out;
  EXPECT_TRUE(said.exit >= 0 && said.exit <= 3);
}

TEST(DoctorCommand, WhatCannotBeRead) {
  EXPECT_EQ(Doctor({"--json"}).exit, 2);
  const Said none = Doctor({"--root", "/none", "--nvml", ""});
  EXPECT_EQ(none.exit, 3) << none.out;
  EXPECT_NE(none.out.find("UNKNOWN   pcie: the devices of this host cannot be read"), std::string::npos) << none.out;
  const Said unwritable = Doctor({"--json", "/none/x.json"});
  EXPECT_EQ(unwritable.exit, 3);
  EXPECT_NE(unwritable.err.find("cannot write /none/x.json"), std::string::npos) << unwritable.err;
}

// Ranks that do not come together hear what is bad about their own host.
TEST(DoctorCommand, ALauncherThatContradictsItself) {
  setenv("TUTTI_RANK", "5", 1);
  setenv("TUTTI_RANKS", "2", 1);
  const Said said = Doctor({});
  unsetenv("TUTTI_RANK");
  unsetenv("TUTTI_RANKS");
  EXPECT_EQ(said.exit, 2);
  EXPECT_NE(said.out.find("CRITICAL  meeting: the ranks of the job do not come together"), std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("CRITICAL  environment: this process's rank is none of the job's"), std::string::npos)
      << said.out;
}

// What a communicator finds out by itself when it begins: a line, once for the host, and none where it is off.
TEST(DoctorAtInit, OneLineOnce) {
  const auto run = [](const std::string& setting) {
    tests::ChildProcess process({"/bin/sh", "-c",
                                 "ulimit -n 200; TUTTI_INIT_TIMEOUT_MS=900000 " + setting +
                                     " exec " TUTTI_TOOL " perf all_reduce --ranks 3 -b 8 -e 8 -n 1"});
    EXPECT_EQ(process.Wait(), 0) << process.output();
    int lines = 0;
    for (std::size_t at = 0; (at = process.output().find("nofile: few files may be open", at)) != std::string::npos;
         ++at)
      ++lines;
    EXPECT_EQ(lines, setting.empty() ? 1 : 0) << process.output();
    return process.output();
  };
  const std::string said = run("");
  EXPECT_NE(
      said.find("NCCL WARN nofile: few files may be open, and each peer takes some (200 of 200 allowed); raise it"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("`tutti doctor` looks closer"), std::string::npos) << said;
  run("TUTTI_DOCTOR=0");
}

TEST(DoctorReport, WhatHostsSayAlikeIsOneLine) {
  doctor::Findings findings;
  for (int host = 0; host < 9; ++host) {
    const std::string name = fmt::format("n{}", host);
    findings.push_back({.severity = Severity::kWarn, .check = "core", .what = "none", .host = name});
    findings.push_back({.check = "shm", .what = "enough", .host = name});
    if (host < 2) findings.push_back({.severity = Severity::kInfo, .check = "nic", .what = "off", .host = name});
    if (host < 8)
      findings.push_back({.severity = Severity::kCritical, .check = "pcie", .what = "narrow", .host = name});
  }
  EXPECT_EQ(FormatFindings(findings, 9, false),
            "INFO      n0, n1: nic: off\n"
            "WARN      all 9 hosts: core: none\n"
            "CRITICAL  n0, n1, n2, n3, n4, n5 and 2 others: pcie: narrow\n"
            "28 findings on 9 hosts: 8 CRITICAL, 9 WARN, 2 INFO, 9 OK\n");
}

// Loses packets above a size, and counts what is asked.
class FakePath final : public Prober {
 public:
  FakePath(std::size_t card, std::size_t path, bool told = false) : card_(card), path_(path), told_(told) {}
  std::size_t largest() const override { return told_ && asked_ > 1 ? path_ : card_; }
  bool Arrives(std::size_t bytes) override {
    ++asked_;
    return bytes <= path_;
  }
  int asked() const { return asked_; }

 private:
  std::size_t card_, path_;
  bool told_;
  int asked_ = 0;
};

void ExpectPath(FakePath path, Severity severity, const std::string& text) {
  const doctor::Finding finding = ExaminePath("to b", path);
  EXPECT_EQ(doctor::Name(finding.severity), doctor::Name(severity)) << doctor::LineOf(finding);
  EXPECT_NE(doctor::LineOf(finding).find(text), std::string::npos) << doctor::LineOf(finding);
  EXPECT_LT(path.asked(), 20);
}

TEST(DoctorPaths, FullPackets) {
  ExpectPath({9000, 9000}, Severity::kOk, "to b: full packets arrive (9000 bytes)");
  ExpectPath({9000, 1500}, Severity::kCritical, "9000 bytes are lost, 1500 arrive");
  ExpectPath({1500, 1450}, Severity::kCritical, "1500 bytes are lost, 14");
  ExpectPath({9000, 1500, true}, Severity::kWarn, "9000 bytes are lost, 1500 arrive; a router says 1500");
  ExpectPath({1500, 0}, Severity::kUnknown, "no packet is answered");
  ExpectPath({0, 1500}, Severity::kUnknown, "does not say");
}

TEST(DoctorPaths, RealPacketsOverLoopback) {
  const Result<std::unique_ptr<UdpAnswerer>> answerer = UdpAnswerer::Start();
  ASSERT_TRUE(answerer.ok()) << answerer.status().message();
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Result<std::unique_ptr<Prober>> prober =
        ProbeByUdp({.address = *sys::IpAddress::Parse(address), .port = (*answerer)->port()});
    if (!prober.ok()) continue;  // a host without IPv6
    const doctor::Finding finding = ExaminePath(address, **prober);
    EXPECT_EQ(finding.severity, Severity::kOk) << doctor::LineOf(finding);
  }
  // Nobody is there: refused at once, or lost.
  const Result<std::unique_ptr<Prober>> nobody = ProbeByUdp({.address = sys::IpAddress::V4(127, 0, 0, 1), .port = 1});
  ASSERT_TRUE(nobody.ok());
  EXPECT_EQ(ExaminePath("nobody", **nobody).severity, Severity::kUnknown);
}

TEST(DoctorPaths, EchoesOverLoopback) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Result<std::unique_ptr<Prober>> prober = ProbeByEcho(*sys::IpAddress::Parse(address));
    if (!prober.ok()) continue;  // not allowed here
    const doctor::Finding finding = ExaminePath(address, **prober);
    EXPECT_EQ(finding.severity, Severity::kOk) << doctor::LineOf(finding);
  }
}

// Six ranks on three hosts, one of which has a fault and another kernel.
TEST(DoctorJob, HostsAreExaminedOnceAndCompared) {
  RenderedHost hosts[3];
  for (int i = 0; i < 3; ++i) {
    AddHealthy(hosts[i]);
    hosts[i].Write("/proc/sys/kernel/osrelease", i == 1 ? "5.15.0" : "6.1.0");
  }
  hosts[1].Write("/sys/bus/pci/devices/0000:13:00.0/current_link_width", "8");
  JobReport report;
  const std::vector<int> host_of = {0, 0, 1, 1, 2, 2};
  const std::string failed = tests::RunOnHosts(host_of, Settings(), [&](Communicator& communicator) {
    const int host = communicator.rank() / 2;
    const doctor::ExamineOptions options{
        .root = hosts[host].root(), .nvml_library = "", .version = "1.0", .environment = {}};
    Result<JobReport> found = ExamineJob(communicator, options);
    if (!found.ok()) return found.status();
    EXPECT_EQ(found->hosts.empty(), communicator.rank() != 0);
    if (communicator.rank() == 0) report = std::move(*found);
    return Status::Ok();
  });
  ASSERT_EQ(failed, "");
  ASSERT_EQ(report.hosts.size(), 3u);
  const auto count = [&](int host, const std::string& check, Severity severity) {
    return std::ranges::count_if(
        report.hosts[static_cast<std::size_t>(host)].findings,
        [&](const doctor::Finding& finding) { return finding.check == check && finding.severity == severity; });
  };
  EXPECT_EQ(count(0, "pcie", Severity::kOk), 1);
  EXPECT_EQ(count(1, "pcie", Severity::kWarn), 1);
  EXPECT_EQ(count(2, "pcie", Severity::kOk), 1);
  EXPECT_EQ(count(0, "clock", Severity::kOk) + count(0, "clock", Severity::kInfo), 0);
  EXPECT_EQ(count(1, "clock", Severity::kOk) + count(1, "clock", Severity::kInfo), 1);
  for (int host = 0; host < 3; ++host) EXPECT_EQ(count(host, "path", Severity::kOk), 2) << host;
  std::string differences;
  for (const doctor::Finding& finding : report.between) differences += doctor::LineOf(finding) + "\n";
  EXPECT_EQ(report.between.size(), 2u) << differences;
  EXPECT_NE(differences.find("Linux is not what most hosts have ('6.1.0' on 2 of 3 hosts, '5.15.0' on 1 of 3 hosts"),
            std::string::npos)
      << differences;
  EXPECT_NE(differences.find("PCIe links of GPUs is not what most hosts have"), std::string::npos) << differences;
}

TEST(DoctorJob, OneHost) {
  RenderedHost host;
  AddHealthy(host);
  const std::string failed = tests::RunRanks(2, Settings(), [&](Communicator& communicator) {
    const doctor::ExamineOptions options{.root = host.root(), .nvml_library = "", .version = "1.0", .environment = {}};
    const Result<JobReport> found = ExamineJob(communicator, options);
    if (!found.ok()) return found.status();
    EXPECT_EQ(found->hosts.size(), communicator.rank() == 0 ? 1u : 0u);
    EXPECT_TRUE(found->between.empty());
    return Status::Ok();
  });
  EXPECT_EQ(failed, "");
}

}  // namespace
}  // namespace tutti::tools
