// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_IMPL_H_
#define TUTTI_COMM_HOST_IMPL_H_

// The inside of a communicator: what its parts share, and the parts, each in a file of its own. Its life is in
// comm/life/create.cc.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/host/core.h"
#include "tutti/communicator.h"

namespace tutti {
namespace sys {
class SharedMapping;
}
namespace tune {
struct Machine;
}
namespace comm {
class Comparer;
class Ledger;
struct Parts;
class Planner;
class Submitter;
class Waiter;
}  // namespace comm

struct Communicator::Impl : comm::Core {
  // `who`: what Core's says after the address; `name`: one line.
  Impl(const CommunicatorOptions& options, const std::string& who, std::string name);
  ~Impl();

  // Finds the other ranks, maps their shared pages, agrees on what all must know, and waits until all are that far.
  Status Connect(const CommunicatorOptions& options);
  // `common_cpus`: rank 0's, because all must choose alike.
  Status CreateChooser(int common_cpus);
  void LogCreated(std::int64_t begin_ns) const;
  void CreateBlackBox();
  Status OpenBlackBoxes();
  // Waits until `ready`, before the deadline and while no peer fails. `what` completes "rank 3 of 4 ..." for errors.
  Status WaitAtInit(std::int64_t deadline_ns, const std::function<bool()>& ready, const char* what);
  Status Cancelled() const;
  // Ends what is unfinished and tells the peers that this rank has gone.
  void Leave();

  UniqueId id;
  const std::string name;                        // what the user calls it; may be empty
  const std::atomic<bool>* cancel = nullptr;     // of Create; null afterwards
  std::shared_ptr<const tune::Machine> machine;  // the constants that choices go by
  int shared_allocations = 0;
  int children = 0;                    // communicators split off so far
  std::map<std::string, int> shrinks;  // so far, by the ranks left out: they have not called, and count nothing
  std::vector<sys::SharedMapping> own_regions;  // where ranks == 1
  bool left = false;

  const std::unique_ptr<comm::Parts> parts;
  // Of the parts, those that others need.
  comm::Planner& planner;
  comm::Ledger& ledger;
  comm::Comparer& comparer;
  comm::Waiter& waiter;
  comm::Submitter& submitter;
};

}  // namespace tutti

#endif  // TUTTI_COMM_HOST_IMPL_H_
