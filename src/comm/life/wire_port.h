// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_WIRE_PORT_H_
#define TUTTI_COMM_LIFE_WIRE_PORT_H_

#include <memory>
#include <vector>

#include "tutti/status.h"

namespace tutti {
struct Settings;
namespace transport::net {
struct Card;
class Port;
}  // namespace transport::net
}  // namespace tutti

namespace tutti::comm {

// Where ranks of other hosts call this process's (transport/net/port.h); opened at the first call, by these settings. A forked
// child gets one of its own. Errors: no network interface can be used, or be listened on. Any thread.
Result<std::shared_ptr<transport::net::Port>> WirePort(const Settings& settings);
const std::vector<transport::net::Card>& CardsOf(const transport::net::Port& port);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_WIRE_PORT_H_
