// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_RESOLVE_H_
#define TUTTI_SYS_NET_RESOLVE_H_

// From a host's name to its addresses, as the system knows them: /etc/hosts, DNS and whatever else it asks.

#include <cstdint>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "tutti/status.h"

namespace tutti::sys {

// The addresses of a host, in the system's order, each once. A text that is an address is that one, without anybody being asked.
// Asking may take long; it goes on in a thread when the deadline has passed. Errors: kInvalidUsage, the name is not known;
// kTimeout. Any thread.
Result<std::vector<IpAddress>> ResolveHost(const std::string& host, std::int64_t deadline_ns);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_RESOLVE_H_
