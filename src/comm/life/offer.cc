// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "comm/agree/profiles.h"
#include "comm/life/creation.h"
#include "comm/life/host_channels.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

using transport::shm::Fabric;

Status Creation::Offer() {
  made.cpus = sys::UsableCpus();
  Result<Profiles> own = Profiles::Create(made.rank, made.settings, made.cpus);
  if (!own.ok()) return own.status();
  profiles = std::make_unique<Profiles>(std::move(*own));

  Result<Fabric> fabric = Fabric::Create({.rank = made.rank,
                                          .ranks = made.ranks,
                                          .channels = ChannelsOfHostMemory(made.ranks, made.settings),
                                          .shared_bytes = static_cast<std::size_t>(made.settings.shared_bytes),
                                          .try_references = made.settings.single_copy != SingleCopy::kOff});
  if (!fabric.ok()) return fabric.status();
  made.fabric = std::make_shared<Fabric>(std::move(*fabric));
  CreateBlackBox();
  return Status::Ok();
}

}  // namespace tutti::comm
