// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/log_links.h"
#include "comm/host/placement.h"
#include "comm/life/creation.h"
#include "transport/net/remote_peer.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

void Creation::LogChannels() const {
  const int channels = made.several_hosts ? 1 : made.fabric->channels();
  LogLinks({.rank = made.rank,
            .host_of = made.placement->host_of,
            .channels = channels,
            .way = "SHM",
            .network = network,
            .device = network == "Socket" && !cards.empty() ? cards.front().rail : device});
}

}  // namespace tutti::comm
