// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_EXCHANGE_H_
#define TUTTI_COMM_GPU_EXCHANGE_H_

// What ranks tell each other through host memory while they make something of their GPUs.

#include <cstddef>
#include <functional>
#include <span>

#include "tutti/status.h"

namespace tutti {
class Communicator;
namespace sys {
class Fd;
}
}  // namespace tutti

namespace tutti::comm {

// Every function is collective. Threads: one at a time, as the communicator.
class GpuExchange {
 public:
  explicit GpuExchange(Communicator& communicator) : communicator_(communicator) {}

  // What every rank says of itself; the first error by rank, on all of them. `what`: "has no GPU".
  Status AgreeOnAll(const Status& own, const char* what);
  // The least of all ranks, number by number.
  Status FindLeast(std::span<const int> own, std::span<int> least);
  // Hands bytes, as many on every rank, and a descriptor, if it is valid, to all ranks, under an id of its own. `take` gets
  // those of every rank; its first error is returned once all have met, since others wait for what this rank passes on.
  using OnOffer = std::function<Status(int rank, const std::byte* offer, const sys::Fd& shared)>;
  Status HandAround(std::span<const std::byte> offer, const sys::Fd& shared, const OnOffer& take);

 private:
  Communicator& communicator_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_EXCHANGE_H_
