// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_STREAM_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_STREAM_H_

#include <memory>
#include <string>

#include "sys/net/auth.h"
#include "tutti/status.h"

namespace tutti::sys {
class TcpConnection;
}

namespace tutti::transport::net {

class Stream;
namespace plugin {
class Network;
}

struct PluginStreamOptions {
  std::shared_ptr<plugin::Network> network;
  int device = 0;       // of the network, of this side
  bool called = false;  // the other side has made `control`
  sys::Key session{};   // which only the two sides of `control` have
  std::string peer;     // for sentences: "rank 3 on host b"
};

// Carries bytes by a network plugin. `control` is a connection on which both sides have proven themselves. Over it each tells where
// its plugin listens; it stays open and is quiet then, and its end is how a dead peer is found out.
//
//   control   Place -> <- Place          first the caller's: the plugin's handle, and how long a message may be
//             Called -> <- Called        each once it has begun to call the other's handle
//   comms     one each way               each side calls the other's handle, and says first that it knows the session's key
//   messages  Message: bytes, number     then so many bytes of the stream. Receives are posted ahead; what a message carries is
//                                        copied from and to registered memory of the stream.
//
// Errors: the plugin cannot listen. Whatever else fails is said by the first call after it.
Result<std::unique_ptr<Stream>> OverPlugin(PluginStreamOptions options, sys::TcpConnection control);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_STREAM_H_
