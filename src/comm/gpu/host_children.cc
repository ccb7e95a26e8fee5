// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_children.h"

#include <fmt/format.h>

#include <algorithm>

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
  return Communicator::Create({.rank = static_cast<int>(std::ranges::find(members, c.rank) - members.begin()),
                               .ranks = static_cast<int>(members.size()),
                               .id = *id,
                               .settings = c.settings,
                               .name = "GPU memory of " + c.name,
                               .origin = Origin::Of(c.fabric.get(), members, numbers)});
}

std::span<const std::int32_t> HostsOf(Communicator& first) { return first.impl()->placement->host_of; }

}  // namespace tutti::comm
