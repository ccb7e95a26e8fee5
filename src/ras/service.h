// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_SERVICE_H_
#define TUTTI_RAS_SERVICE_H_

// NCCL's RAS service: answers ncclras and its like on a port of this host (session.h has the protocol, door.h who has the port).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "ras/observation.h"

namespace tutti::ras {

// What strangers may take up. A client that says or reads nothing for too long is cut off, and one that comes while there are too many
// takes the place of who has been silent for longest. Who monitors may be silent.
inline constexpr std::size_t kMostClients = 32, kMostMonitors = 16;

struct Terms {
  std::string address;  // "localhost:28028"
  Observe observe;      // a look at the job
  // A look as bytes, for tools of Tutti (session.h); empty: it is too large. Without it they are told nothing.
  std::function<std::vector<std::byte>(const diag::Look&)> encode = {};
  std::function<bool()> goes_on;  // asked once a second: whether there is anything to tell about
  std::int64_t silence_ns = 60'000'000'000;
};

// Serves until goes_on says no, in the calling thread. Waits for nobody else, and uses nothing that the end of a process takes down.
void Serve(Terms terms);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_SERVICE_H_
