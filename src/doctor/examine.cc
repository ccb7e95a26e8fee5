// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/examine.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "doctor/cgroup.h"
#include "doctor/gpus.h"
#include "doctor/limits.h"
#include "doctor/networks.h"
#include "doctor/pci.h"
#include "doctor/permissions.h"
#include "doctor/root.h"
#include "sys/cuda/nvml_health.h"
#include "sys/net/interfaces.h"
#include "sys/os/clock.h"
#include "sys/os/cpu_text.h"
#include "sys/os/device_tree.h"
#include "sys/os/file_space.h"
#include "sys/os/process.h"

namespace tutti::doctor {
namespace {

// By this process's affinity.
int AllowedCpus(const Root& root) {
  const std::string status = root.Text("/proc/self/status").value_or("");
  const auto cpus = sys::ParseCpuList(ValueOf(status, "Cpus_allowed_list").value_or("?"));
  return cpus ? static_cast<int>(cpus->size()) : 1;
}

void Unknown(Findings& findings, const char* check, const char* what, const std::string& why) {
  findings.push_back({.severity = Severity::kUnknown, .check = check, .what = what, .evidence = why});
}

std::optional<sys::cuda::NvmlFacts> ExamineNvml(const ExamineOptions& options, bool has_gpus, Findings& findings) {
  if (options.nvml_library.empty()) return std::nullopt;
  Result<sys::cuda::NvmlFacts> nvml = sys::cuda::ReadNvml(options.nvml_library);
  if (!nvml.ok()) {
    if (has_gpus) {
      Unknown(findings, "gpu", "there are NVIDIA GPUs, and NVML says nothing of them", nvml.status().message());
    }
    return std::nullopt;
  }
  ExamineGpus(*nvml, findings);
  const Result<std::vector<sys::cuda::NvmlHealth>> health = sys::cuda::ReadNvmlHealth(options.nvml_library);
  if (health.ok()) ExamineGpuHealth(*health, findings);
  return std::move(*nvml);
}

bool HasGpus(const std::vector<PciLink>& links) {
  for (const PciLink& link : links) {
    if (link.gpu) return true;
  }
  return false;
}

}  // namespace

HostReport ExamineHost(const ExamineOptions& options) {
  const Root root(options.root);
  HostReport report{.host = sys::HostName(), .findings = {}, .facts = {}};
  Findings& findings = report.findings;
  ExamineLimits(root, findings);
  ExamineSharedMemory(sys::SpaceOf(options.root + "/dev/shm"), findings);
  ExamineCgroup(ReadCgroup(root), AllowedCpus(root), findings);
  ExaminePermissions(root, TryPermissions(), findings);
  ExamineKernel(root, findings);

  Environment environment = options.environment;
  if (const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces(options.root); interfaces.ok()) {
    ExamineInterfaces(root, *interfaces, findings);
    for (const sys::Interface& interface : *interfaces) environment.interfaces.push_back(interface.name);
  } else {
    Unknown(findings, "nic", "the network interfaces cannot be read", interfaces.status().message());
  }
  std::vector<PciLink> links;
  if (const Result<sys::DeviceTree> tree = sys::ReadDeviceTree(options.root); tree.ok()) {
    links = LinksOf(*tree);
    ExamineLinks(links, findings);
    ExamineInfiniband(root, tree->infiniband, findings);
    ExamineAcs(root, *tree, findings);
  } else {
    Unknown(findings, "pcie", "the devices of this host cannot be read", tree.status().message());
  }
  const std::optional<sys::cuda::NvmlFacts> nvml = ExamineNvml(options, HasGpus(links), findings);
  ExamineEnvironment(environment, findings);
  report.facts = ReadFacts(root, options.version, environment, links, nvml ? &*nvml : nullptr);
  for (Finding& finding : findings) finding.host = report.host;
  return report;
}

Findings ExamineQuickly(const std::string& folder, const Environment& environment, std::int64_t budget_ns) {
  const std::int64_t end_ns = sys::NowNs() + budget_ns;
  const auto late = [&] { return sys::NowNs() >= end_ns; };
  const Root root(folder);
  Findings findings;
  const std::function<void()> checks[] = {
      [&] { ExamineContradictions(environment, findings); },
      [&] { ExamineLimits(root, findings); },
      [&] { ExaminePermissions(root, TryPermissions(), findings); },
      [&] { ExamineCgroup(ReadCgroup(root), AllowedCpus(root), findings); },
      [&] {
        const std::vector<PciLink> links = ReadLinksQuickly(root, late);
        if (!links.empty()) ExamineLinks(links, findings);
      },
  };
  for (const std::function<void()>& check : checks) {
    if (late()) break;
    check();
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.severity == Severity::kOk; });
  return findings;
}

}  // namespace tutti::doctor
