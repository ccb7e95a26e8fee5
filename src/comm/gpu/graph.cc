// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/log.h"
#include "comm/agree/bytes.h"
#include "comm/agree/gpu_bus_id.h"
#include "comm/agree/graph_files.h"
#include "comm/agree/host_graph.h"
#include "comm/agree/log_graph.h"
#include "comm/gpu/core.h"
#include "comm/gpu/measure_place.h"
#include "topo/channels_xml.h"
#include "topo/ring_choice.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

// What rank 0 tells the others, before the order of the ring.
struct Verdict {
  std::int32_t code = 0;      // of an error
  std::int32_t too_far = 0;   // GPUs are farther from each other than they may be
  std::int32_t turned = 0;    // a ring visits the ranks in another order than their own
  std::int32_t channels = 0;  // of NCCL_GRAPH_FILE; 0: any number
  char sentence[504] = {};    // of an error, or of what is too far
};
static_assert(std::is_trivially_copyable_v<Verdict>);

// Steps of the search, each of some 5 ns, while others wait.
constexpr std::int64_t kBudget = 1 << 21;

void Say(const std::string& text, Verdict& verdict) {
  std::strncpy(verdict.sentence, text.c_str(), sizeof(verdict.sentence) - 1);
}

bool IsSet(const Settings& settings, std::string_view prefix) {
  return std::ranges::any_of(settings.origins, [&](const auto& origin) { return origin.first.starts_with(prefix); });
}

topo::ChannelBounds BoundsOf(const Settings& settings) {
  topo::ChannelBounds bounds{.cross_nic = settings.cross_nic, .budget = kBudget};
  if (IsSet(settings, "NCCL_MIN_")) bounds.min_channels = settings.min_channels;
  if (IsSet(settings, "NCCL_MAX_")) bounds.max_channels = settings.max_channels;
  bounds.max_channels = std::max(bounds.max_channels, bounds.min_channels);
  return bounds;
}

// The GPUs of the ranks, as nodes; nothing where the graph does not have them all.
std::optional<std::vector<int>> NodesOf(const HostGraph& host, std::span<const BusId> bus_ids) {
  std::vector<int> nodes;
  for (const BusId& bus_id : bus_ids) {
    const std::optional<int> node = host.graph.FindBusId(host.host, bus_id.data());
    if (!node || host.graph.node(*node).gpu() == nullptr) return std::nullopt;
    nodes.push_back(*node);
  }
  return nodes;
}

// Why the GPUs may not write to each other's memory; empty: they may.
std::string TooFar(const Settings& settings, const HostGraph& host, std::span<const int> gpus) {
  if (settings.p2p_level.empty()) return "";
  const topo::PolicyOptions policy = PolicyOf(settings, host);
  const topo::HostPaths paths(host.graph, std::span(&host.host, 1), policy);
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      if (gpus[a] == gpus[b] || paths.PeerToPeer(gpus[a], gpus[b])) continue;
      const std::string who = fmt::format("{} of rank {} and {} of rank {}", host.graph.node(gpus[a]).name, a,
                                          host.graph.node(gpus[b]).name, b);
      const topo::PathType type = paths.Direct(gpus[a], gpus[b]).type;
      if (type <= policy.peer_level) return fmt::format("NVML says that {} do not reach each other's memory", who);
      return fmt::format("the path between {} is {}, and NCCL_P2P_LEVEL={} allows less", who, topo::ToString(type),
                         settings.p2p_level);
    }
  }
  return "";
}

// The ring of NCCL_GRAPH_FILE, or one that is searched; empty: the ranks in their order.
std::vector<int> FindRing(const GpuCore& core, const HostGraph& host, std::span<const int> gpus,
                          std::span<const topo::Channels> given, Verdict& verdict) {
  const Settings& settings = core.settings;
  const topo::PolicyOptions policy = PolicyOf(settings, host);
  if (const topo::Channels* const rings = RingsOf(given)) {
    std::vector<int> ring = topo::RanksAlong(rings->channels.front(), gpus);
    if (!ring.empty()) {
      verdict.channels = static_cast<std::int32_t>(rings->channels.size());
      LogChannelsOfGraph(host.graph, given, "NCCL_GRAPH_FILE");
      return ring;
    }
    TUTTI_INFO(log::kGraph, "{} NCCL_GRAPH_FILE={} is not used: its rings have other GPUs than the ranks", core.who,
               settings.graph_file);
  }
  const topo::ChannelBounds bounds = BoundsOf(settings);
  if (log::Enabled(log::Level::kInfo, log::kGraph)) {
    const Result<std::vector<topo::Channels>> found = topo::SearchChannels(host.graph, gpus, policy, bounds);
    if (found.ok()) LogChannelsOfGraph(host.graph, *found, "a search");
  }
  const Result<std::vector<int>> ring = topo::ChooseRing(host.graph, gpus, policy, bounds);
  return ring.ok() ? *ring : std::vector<int>();
}

// Of rank 0.
Status Decide(const GpuCore& core, std::span<const BusId> bus_ids, Verdict& verdict, std::vector<int>& ring) {
  const Result<std::shared_ptr<const HostGraph>> host = FindHostGraph(core.settings, GraphOf::kHostWithGpus);
  if (!host.ok()) return host.status();
  LogGraph(core.settings, **host);
  const Result<std::vector<topo::Channels>> given = ReadGivenChannels(core.settings, **host);
  if (!given.ok()) return given.status();
  const std::optional<std::vector<int>> gpus = NodesOf(**host, bus_ids);
  if (!gpus) {
    TUTTI_INFO(log::kGraph | log::kP2p, "{} the graph from {} does not have the GPUs of all ranks, and decides nothing",
               core.who, (*host)->source);
    // What may be forbidden is not done.
    if (!core.settings.p2p_level.empty() && PolicyOf(core.settings, **host).peer_level != topo::PathType::kSys) {
      verdict.too_far = 1;
      Say(fmt::format("NCCL_P2P_LEVEL={} cannot be checked: rank 0 does not see the GPUs of all ranks",
                      core.settings.p2p_level),
          verdict);
    }
    return Status::Ok();
  }
  const std::string too_far = TooFar(core.settings, **host, *gpus);
  verdict.too_far = too_far.empty() ? 0 : 1;
  Say(too_far, verdict);
  const std::vector<int> found = FindRing(core, **host, *gpus, *given, verdict);
  verdict.turned = found.empty() ? 0 : 1;
  std::ranges::copy(found, ring.begin());
  return Status::Ok();
}

void Dump(const GpuCore& core, std::span<const BusId> bus_ids) {
  const Result<std::shared_ptr<const HostGraph>> host = FindHostGraph(core.settings, GraphOf::kHostWithGpus);
  if (!host.ok()) return;
  const std::optional<std::vector<int>> gpus = NodesOf(**host, bus_ids);
  if (!gpus) return;
  Result<std::vector<topo::Channels>> channels = ReadGivenChannels(core.settings, **host);
  if (channels.ok() && channels->empty()) {
    channels = topo::SearchChannels((*host)->graph, *gpus, PolicyOf(core.settings, **host), BoundsOf(core.settings));
    if (channels.ok()) std::ranges::transform(*channels, channels->begin(), topo::ForBlocks);
  }
  if (channels.ok()) DumpChannels(core.settings, **host, *channels);
}

}  // namespace

Status AskGraph(GpuCore& core, Communicator& communicator, std::string& too_far) {
  if (core.ranks < 2) return Status::Ok();
  BusId own{};
  std::strncpy(own.data(), BusIdOf(*core.driver, core.device).c_str(), own.size() - 1);
  std::vector<BusId> bus_ids(static_cast<std::size_t>(core.ranks));
  TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kAllGather, &own, bus_ids.data(), sizeof(own))));
  const GpuToMeasure measured{.driver = *core.driver, .device = core.device, .stream = core.inner};
  TUTTI_RETURN_IF_ERROR(MeasurePlaces(measured, communicator, core.settings, bus_ids));
  Verdict verdict;
  std::vector<int> ring(static_cast<std::size_t>(core.ranks));
  if (core.rank == 0) {
    const Status decided = Decide(core, bus_ids, verdict, ring);
    verdict.code = static_cast<std::int32_t>(decided.code());
    if (!decided.ok()) Say(decided.message(), verdict);
  }
  TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kBroadcast, &verdict, &verdict, sizeof(verdict))));
  TUTTI_RETURN_IF_ERROR(
      communicator.Run(Bytes(Collective::kBroadcast, ring.data(), ring.data(), ring.size() * sizeof(int))));
  if (verdict.code != 0) return Status(static_cast<Code>(verdict.code), verdict.sentence, 0);
  if (verdict.too_far != 0) too_far = verdict.sentence;
  if (verdict.turned != 0) core.ring = ring;
  core.most_graph_channels = verdict.channels;
  const Settings& settings = core.settings;
  if (!settings.graph_dump_file.empty() && core.rank == settings.graph_dump_rank) Dump(core, bus_ids);
  return Status::Ok();
}

}  // namespace tutti::comm
