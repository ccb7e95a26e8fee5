// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_HOST_CHANNELS_H_
#define TUTTI_COMM_LIFE_HOST_CHANNELS_H_

namespace tutti {
struct Settings;
}

namespace tutti::comm {

// Channels that the links of so many ranks have in host memory: beyond a number of ranks one has to do, so that the rings of all links
// stay small. Settings may allow more, for GPUs.
int ChannelsOfHostMemory(int ranks, const Settings& settings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_HOST_CHANNELS_H_
