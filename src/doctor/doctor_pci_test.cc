// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// PCIe links, access control services and the IOMMU, on rendered machines; and whole examinations of them.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "doctor/examine.h"
#include "doctor/pci.h"
#include "sys/os/clock.h"
#include "tests/support/findings.h"
#include "tests/support/rendered_machines.h"

namespace tutti::doctor {
namespace {

using tests::RenderedHost;
using tests::RenderedPci;

Findings Links(const RenderedHost& host) {
  Findings findings;
  const Result<sys::DeviceTree> tree = sys::ReadDeviceTree(host.root());
  EXPECT_TRUE(tree.ok());
  ExamineLinks(LinksOf(*tree), findings);
  return findings;
}

Findings Acs(const RenderedHost& host) {
  Findings findings;
  ExamineAcs(Root(host.root()), *sys::ReadDeviceTree(host.root()), findings);
  return findings;
}

TEST(DoctorPci, Healthy) {
  RenderedHost host;
  tests::AddHgx(host);
  ExpectFinding(Links(host), "pcie", Severity::kOk, "17 of 17 GPUs and network cards say their width");
  const RenderedHost empty;
  ExpectFinding(Links(empty), "pcie", Severity::kOk, "neither");
}

TEST(DoctorPci, NarrowAndSlow) {
  RenderedHost host;
  tests::AddPcieBox(host, tests::GpuDevice());
  ASSERT_EQ(Worst(Links(host), "pcie").severity, Severity::kOk) << All(Links(host));
  RenderedPci gpu = tests::GpuDevice(), card = tests::CardDevice();
  gpu.width = "8";
  card.width = "4";
  card.speed = "8.0 GT/s PCIe";
  host.AddPciBelow("pci0000:e0/0000:e0:01.0/0000:e1:00.0", RenderedPci(), gpu);
  ExpectFinding(Links(host), "pcie", Severity::kWarn, "GPU 0000:e1:00.0: the PCIe link is narrow (8 of 16 lanes)");
  host.AddPciBelow("pci0000:f0/0000:f0:01.0/0000:f1:00.0", RenderedPci(), card);
  host.AddInfiniband("mlx5_7", "pci0000:f0/0000:f0:01.0/0000:f1:00.0");
  const Findings findings = Links(host);
  ExpectFinding(findings, "pcie", Severity::kCritical,
                "network card mlx5_7 0000:f1:00.0: the PCIe link is narrow (4 of 16 lanes)");
  EXPECT_NE(All(findings).find(
                "WARN      pcie: network card mlx5_7 0000:f1:00.0: the PCIe link runs slowly (8.0 GT/s PCIe of 32.0"),
            std::string::npos)
      << All(findings);
}

// The speed of an idle GPU falls by design; the slot of a card may be what limits it.
TEST(DoctorPci, WhatIsNoFault) {
  RenderedHost host;
  RenderedPci gpu = tests::GpuDevice(), card = tests::CardDevice(), slot;
  gpu.speed = "2.5 GT/s PCIe";
  host.AddPciBelow("pci0000:e0/0000:e0:01.0/0000:e1:00.0", RenderedPci(), gpu);
  ExpectFinding(Links(host), "pcie", Severity::kInfo, "2.5 GT/s PCIe of 32.0 GT/s PCIe");
  card.width = "8";
  slot.width = slot.best_width = "8";
  host.AddPciBelow("pci0000:f0/0000:f0:01.0/0000:f1:00.0", slot, card);
  host.AddInfiniband("mlx5_0", "pci0000:f0/0000:f0:01.0/0000:f1:00.0");
  const Findings findings = Links(host);
  ExpectFinding(findings, "pcie", Severity::kInfo, "");
  EXPECT_NE(All(findings).find("the slot has fewer lanes than the card (8 of 16 lanes)"), std::string::npos)
      << All(findings);
}

TEST(DoctorPci, NothingIsSaid) {
  RenderedHost host;
  RenderedPci gpu = tests::GpuDevice();
  gpu.best_width = "";
  host.AddPciBelow("pci0000:e0/0000:e0:01.0/0000:e1:00.0", RenderedPci(), gpu);
  ExpectFinding(Links(host), "pcie", Severity::kInfo, "0 of 1 GPUs and network cards say");
}

// A configuration space with a first extended capability, and behind it ACS with this control word.
std::string ConfigWithAcs(unsigned control) {
  std::string config(4096, '\0');
  const auto put = [&](std::size_t at, unsigned word) {
    config[at] = static_cast<char>(word);
    config[at + 1] = static_cast<char>(word >> 8);
  };
  put(0x100, 0x0001);
  put(0x102, 0x1481);
  put(0x148, 0x000d);
  put(0x14a, 0x0001);
  put(0x14e, control);
  return config;
}

void WriteBytes(const RenderedHost& host, const std::string& path, const std::string& bytes) {
  std::ofstream(host.root() + path, std::ios::binary) << bytes;
}

TEST(DoctorAcs, ControlWord) {
  bool cut = true;
  EXPECT_EQ(AcsControlOf(ConfigWithAcs(0x1d), cut), 0x1d);
  EXPECT_FALSE(cut);
  EXPECT_EQ(AcsControlOf(std::string(4096, '\0'), cut), 0);
  EXPECT_FALSE(cut);
  EXPECT_EQ(AcsControlOf(ConfigWithAcs(0x1d).substr(0, 64), cut), 0);
  EXPECT_TRUE(cut);
  // A list that leads to itself, and one that leads out.
  std::string circle = ConfigWithAcs(0x1d);
  circle[0x102] = '\x01';
  circle[0x103] = '\x10';
  EXPECT_EQ(AcsControlOf(circle, cut), 0);
  EXPECT_EQ(AcsControlOf(ConfigWithAcs(0x1d).substr(0, 0x14a), cut), 0);
}

TEST(DoctorAcs, Switches) {
  RenderedHost host;
  EXPECT_TRUE(Acs(host).empty());
  tests::AddHgx(host);
  ExpectFinding(Acs(host), "acs", Severity::kInfo, "look again as root");
  ExpectFinding(Acs(host), "iommu", Severity::kOk, "8 GPUs");
  const std::filesystem::path devices = host.root() + "/sys/bus/pci/devices";
  for (const auto& entry : std::filesystem::directory_iterator(devices)) {
    WriteBytes(host, "/sys/bus/pci/devices/" + entry.path().filename().string() + "/config", ConfigWithAcs(0x11));
  }
  ExpectFinding(Acs(host), "acs", Severity::kOk, "12 ports of switches above GPUs");
  WriteBytes(host, "/sys/bus/pci/devices/0000:12:00.0/config", ConfigWithAcs(0x1d));
  ExpectFinding(Acs(host), "acs", Severity::kWarn, "1 of 12 ports, 0000:12:00.0 first");
  host.Write("/sys/bus/pci/devices/0000:13:00.0/iommu_group/type", "DMA-FQ");
  ExpectFinding(Acs(host), "iommu", Severity::kWarn, "1 of 8 GPUs; 0000:13:00.0 has 'DMA-FQ'");
  host.Write("/sys/bus/pci/devices/0000:13:00.0/iommu_group/type", "identity");
  ExpectFinding(Acs(host), "iommu", Severity::kOk, "");
}

// A whole host, healthy and with one fault. What is not of files, as this machine's interfaces, may say more.
TEST(DoctorExamine, WholeHost) {
  RenderedHost host;
  tests::AddHgx(host);
  const ExamineOptions options{
      .root = host.root(), .nvml_library = TUTTI_FAKE_NVML, .version = "1.2.3", .environment = {}};
  HostReport report = ExamineHost(options);
  EXPECT_FALSE(report.host.empty());
  for (const char* check : {"pcie", "nvlink", "iommu", "environment"}) {
    EXPECT_EQ(Worst(report.findings, check).check, check);
    EXPECT_EQ(Worst(report.findings, check).severity, Severity::kOk) << All(report.findings);
  }
  ExpectFinding(report.findings, "limits", Severity::kUnknown, "cannot be read");
  ExpectFinding(report.findings, "shm", Severity::kUnknown, "cannot be looked at");
  EXPECT_EQ(report.facts.front(), (Fact{"Tutti's version", "1.2.3"}));
  host.Write("/sys/bus/pci/devices/0000:13:00.0/current_link_width", "8");
  report = ExamineHost(options);
  ExpectFinding(report.findings, "pcie", Severity::kWarn, "GPU 0000:13:00.0");
  EXPECT_EQ(ExitCodeOf(report.findings), 1) << All(report.findings);
}

// GPUs without a driver that answers are unknown; no GPUs and no driver are fine.
TEST(DoctorExamine, WithoutNvml) {
  RenderedHost host;
  ExamineOptions options{
      .root = host.root(), .nvml_library = "/none/libnvidia-ml.so.1", .version = "", .environment = {}};
  EXPECT_EQ(Worst(ExamineHost(options).findings, "gpu").check, "none");
  tests::AddHgx(host);
  ExpectFinding(ExamineHost(options).findings, "gpu", Severity::kUnknown, "NVML says nothing");
}

TEST(DoctorExamine, Quickly) {
  RenderedHost host;
  host.Write("/proc/self/limits", "Max open files            512                  512                  files");
  host.Write("/proc/driver/nvidia/gpus/0000:13:00.0/information", "Model: H100");
  host.Write("/sys/bus/pci/devices/0000:13:00.0/current_link_width", "8");
  host.Write("/sys/bus/pci/devices/0000:13:00.0/max_link_width", "16");
  Environment environment;
  environment.variables = {"TUTTI_RANK=7", "TUTTI_RANKS=4"};
  const Findings findings = ExamineQuickly(host.root(), environment, 60 * sys::kNsPerSecond);
  ExpectFinding(findings, "nofile", Severity::kWarn, "512");
  ExpectFinding(findings, "pcie", Severity::kWarn, "8 of 16 lanes");
  ExpectFinding(findings, "environment", Severity::kCritical, "TUTTI_RANK=7, TUTTI_RANKS=4");
  for (const Finding& finding : findings) EXPECT_NE(finding.severity, Severity::kOk) << LineOf(finding);
  EXPECT_TRUE(ExamineQuickly(host.root(), environment, 0).empty());
}

TEST(DoctorFinding, LinesSumAndCode) {
  const Finding bad{.severity = Severity::kCritical,
                    .check = "pcie",
                    .what = "narrow",
                    .evidence = "1 of 16",
                    .remedy = "reseat it",
                    .host = "node3"};
  EXPECT_EQ(LineOf(bad), "CRITICAL  node3: pcie: narrow (1 of 16); reseat it");
  EXPECT_EQ(LineOf({.check = "shm", .what = "enough"}), "OK        shm: enough");
  const Finding unknown{.severity = Severity::kUnknown}, warn{.severity = Severity::kWarn},
      info{.severity = Severity::kInfo};
  EXPECT_EQ(ExitCodeOf(Findings{}), 0);
  EXPECT_EQ(ExitCodeOf(Findings{info}), 0);
  EXPECT_EQ(ExitCodeOf(Findings{unknown, info}), 3);
  EXPECT_EQ(ExitCodeOf(Findings{unknown, warn}), 1);
  EXPECT_EQ(ExitCodeOf(Findings{warn, bad, unknown}), 2);
  EXPECT_EQ(SumOf(Findings{warn, bad, {}, {}}, 2), "4 findings on 2 hosts: 1 CRITICAL, 1 WARN, 2 OK");
}

}  // namespace
}  // namespace tutti::doctor
