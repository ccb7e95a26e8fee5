// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/host_channels.h"

#include <algorithm>

#include "trace/layout.h"
#include "tutti/settings.h"

namespace tutti::comm {

int ChannelsOfHostMemory(int ranks, const Settings& settings) {
  constexpr int kManyRanks = 256;
  return ranks > kManyRanks ? 1 : std::clamp(settings.max_channels, 1, trace::kMaxChannels);
}

}  // namespace tutti::comm
