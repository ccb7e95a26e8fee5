// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tutti::doctor {
namespace {

using namespace sys::cuda;

std::string NameOf(int index, const std::string& bus_id) {
  return bus_id.empty() ? fmt::format("GPU {}", index) : fmt::format("GPU {} ({})", index, bus_id);
}

int LinksUp(const NvmlGpu& gpu) {
  return static_cast<int>(std::ranges::count_if(gpu.nvlinks, [](const NvLink& link) {
    return link.state == NvLinkState::kUp || link.state == NvLinkState::kAsleep || link.state == NvLinkState::kUnknown;
  }));
}

// A model that has links without a partner, as in small boxes, has them in all its GPUs: those are no fault.
void ExamineNvLinks(const NvmlFacts& facts, Findings& findings) {
  const std::size_t before = findings.size();
  int all = 0;
  for (const NvmlGpu& gpu : facts.gpus) {
    int most = 0;
    for (const NvmlGpu& other : facts.gpus) {
      if (other.name == gpu.name) most = std::max(most, LinksUp(other));
    }
    const int up = LinksUp(gpu);
    all += up;
    std::string down;
    for (const NvLink& link : gpu.nvlinks) {
      if (link.state == NvLinkState::kDown || link.state == NvLinkState::kNoTraffic)
        down += fmt::format("{}{}", down.empty() ? "" : ", ", link.number);
    }
    if (up < most) {
      Add(findings, 2 * up < most ? Severity::kCritical : Severity::kWarn, "nvlink",
          fmt::format("{}: NVLinks are down", NameOf(gpu.index, gpu.bus_id)),
          fmt::format("{} of {} up{}", up, most, down.empty() ? "" : "; down: " + down),
          "look at `nvidia-smi nvlink --status` and the fabric manager's log; reset the GPU, or leave the host out");
    } else if (!gpu.nvlinks.empty() && up == 0) {
      Add(findings, Severity::kWarn, "nvlink", fmt::format("{}: no NVLink is up", NameOf(gpu.index, gpu.bus_id)),
          fmt::format("0 of {}", gpu.nvlinks.size()), "start the fabric manager (nvidia-fabricmanager)");
    }
    if (gpu.fabric && !gpu.fabric->complete) {
      Add(findings, Severity::kWarn, "nvlink",
          fmt::format("{}: the fabric manager has not let it into its NVLink domain", NameOf(gpu.index, gpu.bus_id)),
          fmt::format("clique {}", gpu.fabric->clique), "look at the fabric manager's log, and restart it");
    }
  }
  if (findings.size() == before) {
    Add(findings, Severity::kOk, "nvlink", all == 0 ? "there are no NVLinks" : "all NVLinks are up",
        fmt::format("{} of {} GPUs", all, facts.gpus.size()));
  }
}

void ExaminePeers(const NvmlFacts& facts, Findings& findings) {
  const auto refused = [](const P2p& pair) { return pair.read != P2pStatus::kOk && pair.read != P2pStatus::kUnknown; };
  const auto count = std::ranges::count_if(facts.p2p, refused);
  if (facts.p2p.empty()) return;
  if (count == 0) {
    Add(findings, Severity::kOk, "p2p", "the driver lets GPUs reach each other's memory",
        fmt::format("{} pairs", facts.p2p.size()));
    return;
  }
  const P2p& first = *std::ranges::find_if(facts.p2p, refused);
  Add(findings, Severity::kInfo, "p2p", "the driver does not let all GPUs reach each other's memory",
      fmt::format("{} of {} pairs, GPUs {} and {} first", count, facts.p2p.size(), first.from, first.to),
      "`nvidia-smi topo -p2p r` says why; data of these pairs go through host memory");
}

// Errors of memory, the worst first: of one GPU one line.
bool ExamineMemory(const NvmlHealth& gpu, Findings& findings) {
  const std::string name = NameOf(gpu.index, gpu.bus_id);
  const std::string rows = gpu.rows
                               ? fmt::format("{} rows replaced, {} of them for uncorrectable errors",
                                             gpu.rows->correctable + gpu.rows->uncorrectable, gpu.rows->uncorrectable)
                               : "";
  if (gpu.rows && gpu.rows->failed) {
    Add(findings, Severity::kCritical, "remap", name + ": a row of memory has failed and could not be replaced", rows,
        "replace the GPU");
  } else if (gpu.rows && gpu.rows->pending) {
    Add(findings, Severity::kWarn, "remap", name + ": rows of memory wait for a reset to be replaced", rows,
        "drain the host and run `nvidia-smi --gpu-reset`, or reboot");
  } else if (gpu.pages_pending.value_or(false)) {
    Add(findings, Severity::kWarn, "remap", name + ": pages of memory wait for a reset to be retired", "",
        "drain the host and run `nvidia-smi --gpu-reset`, or reboot");
  } else if (gpu.uncorrected.value_or(0) > 0) {
    Add(findings, Severity::kWarn, "ecc", name + ": memory had errors that could not be corrected",
        fmt::format("{} since the driver was loaded, {} corrected", *gpu.uncorrected, gpu.corrected.value_or(0)),
        "drain the host and reset the GPU; if they come back, replace it");
  } else if (gpu.ecc.has_value() && !*gpu.ecc) {
    Add(findings, Severity::kInfo, "ecc", name + ": memory is not checked for errors", "ECC mode 0",
        "`nvidia-smi --ecc-config=1`, then reboot");
  } else {
    return false;
  }
  return true;
}

struct Reason {
  std::uint64_t bit;
  Severity severity;
  const char* text;
};
constexpr std::array<Reason, 6> kReasons = {{
    {nvml_abi::kHardwareSlowdown, Severity::kCritical, "slowdown by hardware"},
    {nvml_abi::kHardwareThermal, Severity::kCritical, "too hot (hardware)"},
    {nvml_abi::kHardwarePowerBrake, Severity::kCritical, "power brake"},
    {nvml_abi::kSoftwareThermal, Severity::kWarn, "too hot (software)"},
    {nvml_abi::kPowerCap, Severity::kInfo, "power limit"},
    {nvml_abi::kApplicationClocks, Severity::kInfo, "clocks set by a user"},
}};

bool ExamineClocks(const NvmlHealth& gpu, Findings& findings) {
  Severity severity = Severity::kOk;
  std::string reasons;
  for (const Reason& reason : kReasons) {
    if ((gpu.clock_reasons.value_or(0) & reason.bit) == 0) continue;
    severity = std::max(severity, reason.severity);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : ", ", reason.text);
  }
  if (severity == Severity::kOk) return false;
  Add(findings, severity, "throttle", fmt::format("{}: clocks are held down", NameOf(gpu.index, gpu.bus_id)),
      fmt::format("{}; {} of {} MHz, {} C", reasons, gpu.clock_mhz, gpu.most_clock_mhz, gpu.temperature_c),
      severity == Severity::kInfo ? "it is meant to be so, or `nvidia-smi -pl` and `nvidia-smi -rgc` undo it"
                                  : "look at cooling and power of the host, and leave it out until then");
  return true;
}

}  // namespace

void ExamineGpus(const NvmlFacts& facts, Findings& findings) {
  if (facts.gpus.empty()) {
    Add(findings, Severity::kOk, "gpu", "NVML knows no GPU of this host", facts.driver);
    return;
  }
  for (const NvmlGpu& gpu : facts.gpus) {
    if (gpu.bus_id.empty() && gpu.name.empty()) {
      Add(findings, Severity::kCritical, "gpu",
          fmt::format("GPU {} does not answer; it may have fallen off the bus", gpu.index), "",
          "look for Xid 79 in `dmesg`; reboot the host, or leave it out");
    }
  }
  ExamineNvLinks(facts, findings);
  ExaminePeers(facts, findings);
}

void ExamineGpuHealth(const std::vector<NvmlHealth>& gpus, Findings& findings) {
  if (gpus.empty()) return;
  bool sound = true, free = true;
  for (const NvmlHealth& gpu : gpus) {
    sound = !ExamineMemory(gpu, findings) && sound;
    free = !ExamineClocks(gpu, findings) && free;
  }
  if (sound) Add(findings, Severity::kOk, "ecc", "no GPU has errors of memory", fmt::format("{} GPUs", gpus.size()));
  if (free)
    Add(findings, Severity::kOk, "throttle", "no GPU's clocks are held down", fmt::format("{} GPUs", gpus.size()));
}

}  // namespace tutti::doctor
