// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_children.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/host/child_id.h"
#include "comm/host/impl.h"
#include "comm/host/origin.h"
#include "comm/host/placement.h"

namespace tutti::comm {

std::string NameChildren(Communicator& first) { return fmt::format("GPU memory {}", first.impl()->children++); }

Result<Communicator> MakeChild(Communicator& first, const std::string& what, std::span<const int> members) {
  const Communicator::Impl& c = *first.impl();
  const Result<UniqueId> id = ChildId(c, what, members[0]);
  if (!id.ok()) return id.status();
  const Origin::Numbers numbers = std::ssize(members) == c.ranks ? Origin::Numbers::kKept : Origin::Numbers::kNew;
  // The first one has written the host's graph. That of channels is written by the same rank, whatever its number here.
  Settings settings = c.settings;
  settings.topo_dump_file.clear();
  const auto dumps = std::ranges::find(members, settings.graph_dump_rank);
  settings.graph_dump_rank = dumps == members.end() ? -1 : static_cast<int>(dumps - members.begin());
  return Communicator::Create({.rank = static_cast<int>(std::ranges::find(members, c.rank) - members.begin()),
                               .ranks = static_cast<int>(members.size()),
                               .id = *id,
                               .settings = std::move(settings),
                               .name = "GPU memory of " + (c.name.empty() ? fmt::format("{:#x}", c.id_hash) : c.name),
                               .gpu = c.gpu,
                               .origin = Origin::OfPart(c.fabric.get(), members, numbers, c.id_hash)});
}

std::span<const std::int32_t> HostsOf(Communicator& first) { return first.impl()->placement->host_of; }

}  // namespace tutti::comm
