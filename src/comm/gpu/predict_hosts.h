// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_PREDICT_HOSTS_H_
#define TUTTI_COMM_GPU_PREDICT_HOSTS_H_

// How long operations on device memory among several hosts take by the cost model. They are divided as comm/gpu/by_hosts.h divides
// them; what goes through host memory is cut as there and takes what tune/across.h says.
//
// Ranks have different parts in an operation with a root, or with a rest that cannot be divided. Each part is as long as it is at the
// rank where it is longest, so all ranks predict the same time. Of sends and receives that are called as such a rank knows its own.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/gpu/host_stages.h"
#include "tune/across.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::comm {

// Where a part of an operation takes place: among the GPUs of each host, or through host memory among all ranks or those of a rail.
enum class HostsPlace : std::uint8_t { kWithin, kAll, kRail };

struct HostsModel {
  int rank = 0, ranks = 1;
  std::optional<HostShape>
      shape;  // of this rank, where ranks of a host exchange from GPU to GPU; none: all goes through host memory
  tune::AcrossConstants across;
  bool has_kernel = true;  // that copies small operations to host memory
  // A group among the ranks of a host, which count by their places, us.
  std::function<Result<double>(std::span<const Operation>)> within;
  // Operations in host memory that are run as one, us; roots and peers are ranks, or hosts for kRail.
  std::function<Result<double>(HostsPlace place, std::span<const Operation>)> in_host_memory;
};

// One of the parts that follow each other.
struct HostsPart {
  HostsPlace place = HostsPlace::kAll;
  std::vector<Operation> operations;  // of the rank where it takes longest; pointers mean nothing
  double us = 0;
  tune::AcrossTime across;       // of kAll and kRail
  int pieces = 0;                // likewise
  std::vector<Operation> piece;  // the operations of the first piece
};
struct HostsTime {
  double us = 0;
  std::vector<HostsPart> parts;  // those that take time
};

// REQUIRES: valid operations.
Result<HostsTime> PredictAcrossHosts(const HostsModel& model, std::span<const Operation> operations);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_PREDICT_HOSTS_H_
