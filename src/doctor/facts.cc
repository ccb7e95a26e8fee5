// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/settings_registry.h"

namespace tutti::doctor {
namespace {

constexpr std::size_t kMostNames = 6;

// Parameters of the kernel that change how fast a job is, or whether it runs.
constexpr std::array kParameters = {"/proc/sys/kernel/numa_balancing",
                                    "/proc/sys/kernel/yama/ptrace_scope",
                                    "/proc/sys/vm/overcommit_memory",
                                    "/proc/sys/vm/zone_reclaim_mode",
                                    "/proc/sys/net/ipv4/tcp_rmem",
                                    "/proc/sys/net/ipv4/tcp_wmem",
                                    "/proc/sys/net/core/rmem_max",
                                    "/proc/sys/net/core/wmem_max",
                                    "/proc/sys/net/ipv4/tcp_congestion_control",
                                    "/sys/kernel/mm/transparent_hugepage/enabled"};

// "/proc/sys/net/core/rmem_max" as people write it: "net.core.rmem_max".
std::string ParameterName(std::string path) {
  constexpr std::string_view kProc = "/proc/sys/";
  if (!path.starts_with(kProc)) return path;
  path.erase(0, kProc.size());
  std::ranges::replace(path, '/', '.');
  return path;
}

// "2 x 32.0 GT/s PCIe x16, 1 x ...": what there is, whatever its place.
std::string Inventory(std::span<const PciLink> links, bool gpus) {
  std::map<std::string, int> kinds;
  for (const PciLink& link : links) {
    if (link.gpu == gpus)
      ++kinds[fmt::format("{} lanes now, {} {} at best", link.width, link.best_width, link.best_speed)];
  }
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} with {}", text.empty() ? "" : "; ", count, kind);
  return text.empty() ? "none" : text;
}

std::string GpuModels(const sys::cuda::NvmlFacts& nvml) {
  std::map<std::string, int> models;
  for (const sys::cuda::NvmlGpu& gpu : nvml.gpus) ++models[gpu.name];
  std::string text;
  for (const auto& [model, count] : models) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, model);
  return text.empty() ? "none" : text;
}

std::string Firmwares(const Root& root) {
  std::set<std::string> versions;
  for (const std::string& name : root.Names("/sys/class/infiniband")) {
    versions.insert(root.Text(fmt::format("/sys/class/infiniband/{}/fw_ver", name)).value_or("?"));
  }
  std::string text;
  for (const std::string& version : versions) text += (text.empty() ? "" : ", ") + version;
  return text;
}

std::string NamesOf(std::span<const HostReport> hosts, const std::vector<std::size_t>& which) {
  std::string text;
  for (std::size_t i = 0; i < std::min(which.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + hosts[which[i]].host;
  }
  if (which.size() > kMostNames) text += fmt::format(" and {} others", which.size() - kMostNames);
  return text;
}

std::string Quoted(const std::string& value) { return value.empty() ? "nothing" : "'" + value + "'"; }

// The hosts of each value, those of most hosts first; of as many, those of the first host.
using Camps = std::vector<std::pair<std::string, std::vector<std::size_t>>>;
Camps CampsOf(std::span<const HostReport> hosts, const std::string& name) {
  Camps camps;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto fact = std::ranges::find(hosts[i].facts, name, &Fact::name);
    const std::string value = fact == hosts[i].facts.end() ? "" : fact->value;
    const auto camp = std::ranges::find(camps, value, [](const auto& one) { return one.first; });
    if (camp != camps.end()) {
      camp->second.push_back(i);
    } else {
      camps.push_back({value, {i}});
    }
  }
  std::ranges::stable_sort(camps, std::greater<>(), [](const auto& camp) { return camp.second.size(); });
  return camps;
}

void Put(std::string& bytes, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(text);
}

class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  std::string Take() {
    std::uint32_t size = 0;
    if (rest_.size() < sizeof(size)) return Fail();
    std::memcpy(&size, rest_.data(), sizeof(size));
    rest_.remove_prefix(sizeof(size));
    if (size > rest_.size()) return Fail();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::string Fail() {
    good_ = false;
    rest_ = {};
    return "";
  }
  std::string_view rest_;
  bool good_ = true;
};

Severity SeverityOf(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Severity::kCritical); ++i) {
    if (Name(static_cast<Severity>(i)) == text) return static_cast<Severity>(i);
  }
  return Severity::kUnknown;
}

}  // namespace

std::vector<Fact> ReadFacts(const Root& root, const std::string& version, const Environment& environment,
                            std::span<const PciLink> links, const sys::cuda::NvmlFacts* nvml) {
  std::vector<Fact> facts = {{"Tutti's version", version}};
  facts.push_back({"Linux", root.Text("/proc/sys/kernel/osrelease").value_or(""), Severity::kInfo});
  const std::string cpuinfo = root.Text("/proc/cpuinfo").value_or("");
  facts.push_back({"processor", ValueOf(cpuinfo, "model name").value_or(""), Severity::kInfo});
  facts.push_back({"processors online", root.Text("/sys/devices/system/cpu/online").value_or("")});
  facts.push_back({"firmware of RDMA cards", Firmwares(root)});
  facts.push_back({"PCIe links of network cards", Inventory(links, false)});
  facts.push_back({"PCIe links of GPUs", Inventory(links, true)});
  if (nvml != nullptr) {
    facts.push_back({"NVIDIA's driver", nvml->driver});
    facts.push_back({"GPUs", GpuModels(*nvml)});
  }
  for (const char* path : kParameters) {
    facts.push_back({ParameterName(path), root.Text(path).value_or(""), Severity::kInfo});
  }
  // What a launcher sets differs from rank to rank, and secrets are nobody's business.
  for (const Setting& setting : AllSettings()) {
    if (setting.scope == Scope::kEnvironment || setting.name == "NCCL_HOSTID") continue;
    const Severity severity = setting.agreement == Agreement::kOwn ? Severity::kInfo : Severity::kWarn;
    facts.push_back({std::string(setting.name), environment.ValueOf(setting.name), severity});
  }
  return facts;
}

Findings Compare(std::span<const HostReport> hosts) {
  Findings findings;
  std::vector<Fact> seen;
  for (const HostReport& host : hosts) {
    for (const Fact& fact : host.facts) {
      if (std::ranges::find(seen, fact.name, &Fact::name) == seen.end()) seen.push_back(fact);
    }
  }
  for (const Fact& fact : seen) {
    const Camps camps = CampsOf(hosts, fact.name);
    if (camps.size() < 2) continue;
    const bool tie = camps[0].second.size() == camps[1].second.size();
    std::vector<std::size_t> odd;
    for (std::size_t i = 1; i < camps.size(); ++i)
      odd.insert(odd.end(), camps[i].second.begin(), camps[i].second.end());
    std::ranges::sort(odd);
    std::string evidence;
    for (std::size_t i = 0; i < std::min<std::size_t>(camps.size(), 4); ++i) {
      evidence +=
          fmt::format("{}{} on {} of {} hosts{}", i == 0 ? "" : ", ", Quoted(camps[i].first), camps[i].second.size(),
                      hosts.size(), i == 0 && !tie ? "" : ": " + NamesOf(hosts, camps[i].second));
    }
    findings.push_back({.severity = fact.severity,
                        .check = "differs",
                        .what = tie ? fmt::format("{} differs between hosts", fact.name)
                                    : fmt::format("{} is not what most hosts have", fact.name),
                        .evidence = std::move(evidence),
                        .remedy = "make them alike",
                        .host = tie ? "" : NamesOf(hosts, odd)});
  }
  if (findings.empty() && hosts.size() > 1) {
    findings.push_back({.check = "differs",
                        .what = "the hosts have the same versions, parameters, settings and devices",
                        .evidence = fmt::format("{} facts of {} hosts", seen.size(), hosts.size())});
  }
  return findings;
}

std::string Encode(const HostReport& report) {
  std::string bytes;
  Put(bytes, report.host);
  for (const Finding& finding : report.findings) {
    Put(bytes, "finding");
    for (const std::string_view text :
         {Name(finding.severity), std::string_view(finding.check), std::string_view(finding.what),
          std::string_view(finding.evidence), std::string_view(finding.remedy)}) {
      Put(bytes, text);
    }
  }
  for (const Fact& fact : report.facts) {
    Put(bytes, "fact");
    for (const std::string_view text :
         {std::string_view(fact.name), std::string_view(fact.value), Name(fact.severity)}) {
      Put(bytes, text);
    }
  }
  return bytes;
}

HostReport Decode(const std::string& bytes) {
  Taker taker(bytes);
  HostReport report{.host = taker.Take(), .findings = {}, .facts = {}};
  while (!taker.AtEnd()) {
    const std::string kind = taker.Take();
    if (kind == "finding") {
      Finding finding{.severity = SeverityOf(taker.Take())};
      for (std::string* text : {&finding.check, &finding.what, &finding.evidence, &finding.remedy})
        *text = taker.Take();
      finding.host = report.host;
      if (taker.good()) report.findings.push_back(std::move(finding));
    } else {
      Fact fact;
      fact.name = taker.Take();
      fact.value = taker.Take();
      fact.severity = SeverityOf(taker.Take());
      if (taker.good()) report.facts.push_back(std::move(fact));
    }
  }
  return report;
}

}  // namespace tutti::doctor
