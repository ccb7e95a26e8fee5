// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_facts.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>

#include "comm/agree/gpu_machine.h"
#include "comm/agree/machine_file.h"
#include "sys/cuda/cuda.h"
#include "topo/gpu_models.h"
#include "topo/policy.h"

namespace tutti::tools {
namespace {

// "NVIDIA H200" is an H200.
int MultiprocessorsOf(std::string_view name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (name.starts_with(kMaker)) name.remove_prefix(kMaker.size());
  const std::optional<topo::GpuModel> model = topo::FindGpuModel(name);
  return model ? model->multiprocessors : 0;
}

// As far as the driver of this machine says it.
void AskDriver(GpuFacts& facts) {
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  int gpus = 0;
  if (!driver.ok() || (*driver)->DeviceGetCount(&gpus) != 0) return;
  std::vector<comm::GpuProfile> profiles;
  for (int device = 0; device < gpus; ++device) profiles.push_back(comm::ProfileOf(**driver, device));
  if (profiles.empty()) return;
  const tune::GpuSituation all = comm::SituationOf(profiles, false);
  facts.situation.gpu = all.gpu;
  facts.situation.compute_capability = all.compute_capability;
  facts.situation.multiprocessors = all.multiprocessors;
}

}  // namespace

Result<GpuFacts> GpuFactsOf(const SourcedTopology& topology, int ranks, const Settings& settings) {
  const topo::Graph& graph = topology.graph;
  const std::vector<int> gpus = graph.All(topo::NodeKind::kGpu, 0);
  const topo::Gpu& first = *graph.node(gpus.front()).gpu();
  GpuFacts facts;
  facts.situation = {.gpu = first.name,
                     .compute_capability = first.sm,
                     .multiprocessors = MultiprocessorsOf(first.name),
                     .ranks = ranks,
                     .ranks_per_gpu = (ranks + static_cast<int>(gpus.size()) - 1) / static_cast<int>(gpus.size())};
  for (const int node : gpus) {
    const topo::Gpu& gpu = *graph.node(node).gpu();
    if (gpu.name != first.name) facts.situation.gpu.clear();
    if (gpu.sm != first.sm) facts.situation.compute_capability = 0;
  }
  if (topology.here) AskDriver(facts);
  if (topology.here || !settings.tuning_file.empty()) {
    const Result<tune::TuningFile> file = comm::LoadTables(settings);
    if (!file.ok()) return file.status();
    facts.stored = file->gpus;
  }
  const topo::HostPaths paths(
      graph, std::vector<int>{0},
      {.peer_level = settings.p2p_level.empty() ? std::nullopt : topo::LevelFrom(settings.p2p_level),
       .peers_refused = topology.peers_refused});
  bool staged = settings.p2p_disable, by_nvlinks = true;
  for (const int a : gpus) {
    for (const int b : gpus) {
      if (a == b) continue;
      staged |= !paths.PeerToPeer(a, b);
      const topo::PathType type = paths.Direct(a, b).type;
      by_nvlinks &= type == topo::PathType::kNvl || type == topo::PathType::kNvb;
    }
  }
  facts.situation.staged = staged && ranks > 1 && gpus.size() > 1;
  facts.whole_lines = by_nvlinks || facts.situation.staged;
  if (!by_nvlinks) {
    facts.notes.push_back(
        facts.situation.staged
            ? "these GPUs are taken to exchange data through host memory, as NCCL's rules say of their links; a "
              "communicator "
              "tries it"
            : "LL128 is left out, since NVLinks do not join all of these GPUs; a communicator tries it");
  }
  if (facts.situation.multiprocessors == 0) {
    constexpr int kUsual = 132;
    facts.situation.multiprocessors = kUsual;
    facts.notes.push_back(fmt::format("how many multiprocessors a {} has is not known: {} are taken",
                                      first.name.empty() ? "GPU of this kind" : first.name, kUsual));
  }
  return facts;
}

}  // namespace tutti::tools
