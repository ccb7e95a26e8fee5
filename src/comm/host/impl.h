// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_IMPL_H_
#define TUTTI_COMM_HOST_IMPL_H_

// The inside of a communicator: what its parts share, and the parts, each in a file of its own. How it is made is in
// comm/life/creation.h, and how it ends in comm/life/leave.cc.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/host/core.h"
#include "tutti/communicator.h"

namespace tutti {
namespace tune {
struct Machine;
}
namespace sys {
class SharedMapping;
}
namespace watch {
class Watched;
}
namespace comm {
class Comparer;
class Ledger;
struct Parts;
struct Placement;
class Planner;
class Submitter;
class Waiter;
}  // namespace comm

struct Communicator::Impl : comm::Core, std::enable_shared_from_this<Communicator::Impl> {
  // `who`: what Core's says after the address; `name`: one line.
  Impl(const CommunicatorOptions& options, const std::string& who, std::string name);
  ~Impl();

  // Ends what is unfinished and tells the peers that this rank has gone.
  void Leave();

  const UniqueId id;
  const std::uint64_t id_hash;  // names the communicator in the log and the black box
  const std::string name;       // what the user calls it; may be empty
  const int gpu;                // CommunicatorOptions::gpu
  std::string network_library;  // of the network plugin that carries data between hosts; empty: none does
  std::shared_ptr<const tune::Machine> machine;  // the constants that choices go by
  std::shared_ptr<comm::Placement> placement;    // since the ranks have met
  int shared_allocations = 0;
  int children = 0;                    // communicators split off so far
  std::map<std::string, int> shrinks;  // so far, by the ranks left out: they have not called, and count nothing
  std::vector<sys::SharedMapping> own_regions;  // where ranks == 1
  std::shared_ptr<const std::byte> blank_box;   // stands for those of other hosts
  bool left = false;

  const std::unique_ptr<comm::Parts> parts;
  // Of the parts, those that others need.
  comm::Planner& planner;
  comm::Ledger& ledger;
  comm::Comparer& comparer;
  comm::Waiter& waiter;
  comm::Submitter& submitter;

  // Ends first: it reads the shared pages, and may break the communicator. Null where nobody watches it.
  std::unique_ptr<watch::Watched> watched;
};

}  // namespace tutti

#endif  // TUTTI_COMM_HOST_IMPL_H_
