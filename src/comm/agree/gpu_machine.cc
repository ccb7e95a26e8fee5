// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/gpu_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/log.h"
#include "comm/agree/bytes.h"
#include "comm/agree/machine_file.h"

namespace tutti::comm {

namespace {

// What rank 0 decides.
struct Decision {
  tune::GpuMachine machine;
  char table[64];
  std::int32_t stored;  // else shipped
  std::int32_t code;    // of an error
  char sentence[504];   // of that
};
static_assert(std::is_trivially_copyable_v<GpuProfile> && std::is_trivially_copyable_v<Decision>);

template <std::size_t size>
void Copy(const std::string& from, char (&to)[size]) {
  std::strncpy(to, from.c_str(), size - 1);
  to[size - 1] = 0;
}

Decision Decide(const Settings& settings, const tune::GpuSituation& situation) {
  Decision decision{};
  const Result<tune::TuningFile> file = LoadTables(settings);
  if (!file.ok()) {
    decision.code = static_cast<std::int32_t>(file.status().code());
    Copy(file.status().message(), decision.sentence);
    return decision;
  }
  const tune::GpuTable& table = tune::FindGpuTable(file->gpus, situation);
  decision.machine = table.machine;
  Copy(table.name, decision.table);
  decision.stored = std::ranges::any_of(file->gpus, [&](const auto& stored) { return &stored == &table; }) ? 1 : 0;
  return decision;
}

}  // namespace

GpuProfile ProfileOf(const sys::cuda::Driver& driver, sys::cuda::Device device) {
  GpuProfile profile{};
  driver.DeviceGetUuid(&profile.gpu, device);
  driver.DeviceGetName(profile.name, sizeof(profile.name), device);
  profile.name[sizeof(profile.name) - 1] = 0;
  int major = 0, minor = 0;
  driver.DeviceGetAttribute(&major, sys::cuda::kComputeCapabilityMajor, device);
  driver.DeviceGetAttribute(&minor, sys::cuda::kComputeCapabilityMinor, device);
  profile.compute_capability = 10 * major + minor;
  driver.DeviceGetAttribute(&profile.multiprocessors, sys::cuda::kMultiprocessorCount, device);
  return profile;
}

tune::GpuSituation SituationOf(std::span<const GpuProfile> profiles, bool staged) {
  const GpuProfile& first = profiles.front();
  tune::GpuSituation situation{.gpu = first.name,
                               .compute_capability = first.compute_capability,
                               .multiprocessors = first.multiprocessors,
                               .ranks = static_cast<int>(profiles.size()),
                               .ranks_per_gpu = 1,
                               .staged = staged};
  for (const GpuProfile& profile : profiles) {
    if (situation.gpu != profile.name) situation.gpu.clear();
    if (situation.compute_capability != profile.compute_capability) situation.compute_capability = 0;
    situation.multiprocessors = std::min(situation.multiprocessors, profile.multiprocessors);
    const auto sharing = std::ranges::count(profiles, profile.gpu, &GpuProfile::gpu);
    situation.ranks_per_gpu = std::max(situation.ranks_per_gpu, static_cast<int>(sharing));
  }
  return situation;
}

Result<tune::GpuMachine> AgreeOnGpuMachine(Communicator& communicator, const Settings& settings, const GpuProfile& own,
                                           bool staged, std::string_view who) {
  std::vector<GpuProfile> all(static_cast<std::size_t>(communicator.ranks()), own);
  const bool alone = communicator.ranks() == 1;
  if (!alone) {
    TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kAllGather, &own, all.data(), sizeof(own))));
  }
  Decision decision{};
  if (communicator.rank() == 0) decision = Decide(settings, SituationOf(all, staged));
  if (!alone) {
    TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kBroadcast, &decision, &decision, sizeof(decision))));
  }
  if (decision.code != 0) return Status(static_cast<Code>(decision.code), decision.sentence, 0);
  TUTTI_INFO(log::kInit | log::kTuning, "{} GPU tuning table \"{}\", {}", who, decision.table,
             decision.stored != 0 ? "of rank 0's tuning file" : "of those that are compiled in");
  return decision.machine;
}

}  // namespace tutti::comm
