// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "base/log.h"
#include "comm/agree/graph_files.h"
#include "comm/agree/host_graph.h"
#include "comm/agree/log_graph.h"
#include "comm/host/placement.h"
#include "comm/life/creation.h"
#include "comm/life/examine_once.h"

namespace tutti::comm {

int IndexOnHost(const Communicator::Impl& communicator) {
  if (communicator.placement == nullptr) return 0;
  const auto& host_of = communicator.placement->host_of;
  const auto own = host_of.begin() + communicator.rank;
  return static_cast<int>(std::count(host_of.begin(), own, *own));
}

// Nothing is looked at, and nothing costs anything, where nobody asks.
Status Creation::LookAtMachine() {
  const Settings& settings = made.settings;
  if (IndexOnHost(made) == 0) ExamineOnce(settings);
  const bool dumps = !settings.topo_dump_file.empty() && made.rank == settings.topo_dump_rank;
  const bool logs = log::Enabled(log::Level::kInfo, log::kGraph) && IndexOnHost(made) == 0;
  const bool reads = !settings.topo_file.empty() || !settings.graph_file.empty();
  if (!dumps && !logs && !reads) return Status::Ok();
  const Result<std::shared_ptr<const HostGraph>> host = FindHostGraph(settings, GraphOf::kHostWithGpus);
  if (!host.ok()) return host.status();
  const Result<std::vector<topo::Channels>> given = ReadGivenChannels(settings, **host);
  if (!given.ok()) return given.status();
  if (dumps) DumpTopology(settings, **host);
  if (logs) LogGraph(settings, **host);
  return Status::Ok();
}

}  // namespace tutti::comm
