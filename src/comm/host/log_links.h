// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_LOG_LINKS_H_
#define TUTTI_COMM_HOST_LOG_LINKS_H_

// What a communicator is connected by, as lines of the log in NCCL's words, at INFO.

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti {
struct Settings;
}

namespace tutti::comm {

// "NET/Socket : Using [0]eth0:10.0.0.1<0>" and "Using network Socket": by what this process reaches other hosts, or would where all
// ranks are on one. Once for each such line in a process. Where settings ask for another network the latter waits for LogUse.
void LogNetwork(const Settings& settings);
// "Using network AWS Libfabric": what was chosen.
void LogUse(const Settings& settings, std::string_view network);

// "Channel 00/0 : 0[0] -> 1[1] via SHM": the links to the next rank of the ring, and from the one before where that is on another
// host ("[receive] via NET/Socket/0", the first card). In brackets a rank's number among those of its host. `host_of`: by rank. `way`: "SHM", for
// links within a host.
struct LoggedLinks {
  int rank = 0;
  std::span<const std::int32_t> host_of;
  int channels = 1;
  std::string_view way;
  std::string_view network = "Socket";  // between hosts
  int device = 0;                       // of that network
};
void LogLinks(const LoggedLinks& links);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_LOG_LINKS_H_
