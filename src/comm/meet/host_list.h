// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_HOST_LIST_H_
#define TUTTI_COMM_MEET_HOST_LIST_H_

#include <map>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::comm {

// Which ranks are on which host.
class HostList {
 public:
  // In rank order. `host`: Member::host.
  void Add(int rank, const std::string& host) { ranks_[host].push_back(rank); }
  // kUnsupported where there are several, with the same sentence on all ranks.
  Status IsOne() const;

 private:
  std::map<std::string, std::vector<int>> ranks_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_HOST_LIST_H_
