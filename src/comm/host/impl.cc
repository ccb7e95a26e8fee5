// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/impl.h"

#include <fmt/format.h>

#include <utility>

#include "comm/host/parts.h"
#include "comm/identity/id_hash.h"
#include "sys/os/memory.h"
#include "watch/watched.h"

namespace tutti {

Communicator::Impl::Impl(const CommunicatorOptions& options, const std::string& who, std::string name)
    : Core(options.rank, options.ranks, fmt::format("comm {} {}", fmt::ptr(this), who), options.settings,
           options.origin),
      id(options.id),
      id_hash(comm::HashOf(options.id)),
      name(std::move(name)),
      gpu(options.gpu),
      parts(std::make_unique<comm::Parts>(*this)),
      planner(parts->planner),
      ledger(parts->ledger),
      comparer(parts->comparer),
      waiter(parts->waiter),
      submitter(parts->submitter) {}

Communicator::Impl::~Impl() { Leave(); }

}  // namespace tutti
