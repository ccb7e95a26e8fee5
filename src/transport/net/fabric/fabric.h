// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FABRIC_FABRIC_H_
#define TUTTI_TRANSPORT_NET_FABRIC_FABRIC_H_

// Libfabric as a network: verbs, EFA, Slingshot and others by one library, opened at run time. It fits into NetPlugin, so what
// uses network plugins uses it too.
//
//   endpoints    each connection has one reliable datagram endpoint (FI_EP_RDM) per rail at each end, and nothing else
//   rails        up to 4 network cards of one provider; the i-th of one host with the i-th of the other
//   meeting      the sender calls the listener's endpoint with an Introduction, and the receiver answers with its own (control.h)
//   a receive    writes a ControlEntry into the sender's mailbox: where the message may go
//   a message    is written to that place, in segments; each carries the message's number and how many segments it has. Large
//                messages are split over the rails, small ones take the rails in turn.
//
// The receiver counts segments, so nothing depends on the order in which writes arrive, and nobody looks at memory before a
// completion says that it is there. Host memory only.

#include <cstddef>
#include <memory>
#include <string>

#include "transport/net/fabric/rails.h"
#include "transport/net/plugin/net_plugin.h"
#include "tutti/status.h"

namespace tutti::transport::net::fabric {

inline constexpr const char* kName = "Libfabric";
inline constexpr const char* kOtherName = "OFI";

struct Options {
  RailWishes rails;
  int traffic_class = -1;                            // NCCL_IB_TC: the byte of an IP header; -1: none
  std::string provider;                              // for tests; empty: any
  std::size_t segment_bytes = std::size_t{1} << 30;  // at most; the provider may want less
};

// Opens libfabric and chooses a provider and its rails. kUnsupported: this build has none of it, the library is not there or too
// old, or no provider can be used; the sentence says which.
Result<std::shared_ptr<plugin::NetPlugin>> Open(const Options& options);

// Whether this host has a network card that only libfabric, or a plugin, can use as it is meant. Opens nothing. `root` is put
// before /sys, for tests.
bool HasHardware(const std::string& root = "");

}  // namespace tutti::transport::net::fabric

#endif  // TUTTI_TRANSPORT_NET_FABRIC_FABRIC_H_
