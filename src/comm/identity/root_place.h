// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_ROOT_PLACE_H_
#define TUTTI_COMM_IDENTITY_ROOT_PLACE_H_

// Where the ranks of several hosts meet when each computes the id by itself: at ports that follow from the id, on a host that all
// know by its name. The process of rank 0 listens on the first of these ports that is free.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ports.h"
#include "sys/net/address.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// The first name of a list as Slurm writes it: "node[007-012,20],login" is node007, and "node" is itself. Empty: none.
std::string FirstOfNodeList(std::string_view list);

using Resolver = std::function<Result<std::vector<sys::IpAddress>>(const std::string& host)>;

// The id with the addresses of these hosts and its ports: within `allowed`, else from 10240 to 32767, where systems choose no
// ports for others. The same on all hosts. Errors: none of the hosts has an address.
Result<UniqueId> WithRootPlace(const UniqueId& id, std::span<const std::string> hosts, const Resolver& resolve,
                               const Ports& allowed);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_ROOT_PLACE_H_
