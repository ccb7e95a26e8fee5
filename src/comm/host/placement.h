// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PLACEMENT_H_
#define TUTTI_COMM_HOST_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sys/net/address.h"

namespace tutti::comm {

// Which rank is where. Empty where all ranks are on one host.
struct Placement {
  std::vector<std::int32_t> host_of;  // by rank; hosts are numbered in the order of their first ranks
  std::vector<std::string> hosts;     // their names
  // Where each rank's process lets leaders of hosts meet (comm/meet/meeting_point.h), by rank.
  std::vector<std::vector<sys::Endpoint>> meeting_points;

  bool several() const { return hosts.size() > 1; }
  // "2 hosts: east (ranks 0 and 1), west (rank 2)".
  std::string Describe() const;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PLACEMENT_H_
