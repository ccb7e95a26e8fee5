// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_ABROAD_H_
#define TUTTI_WATCH_ABROAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "sys/net/auth.h"

namespace tutti::sys {
struct HelloTerms;
}
namespace tutti::transport::net {
class Port;
}

namespace tutti::watch {

// A rank of another host, and where its process is called.
struct FarRank {
  int rank = 0;
  std::int32_t pid = 0;
  std::string host;
  std::vector<sys::Endpoint> endpoints;
};

// How monitors of a communicator's hosts reach each other.
struct Abroad {
  std::string own_host;                        // as the others know it
  std::vector<FarRank> ranks;                  // all of other hosts, ascending
  sys::Key secret{};                           // that the communicator's ranks have
  std::string version;                         // of this library, for people
  std::shared_ptr<transport::net::Port> port;  // where this process is called

  // What who asks the process of `rank`, and that process, prove to each other.
  sys::HelloTerms TermsOf(int rank) const;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_ABROAD_H_
