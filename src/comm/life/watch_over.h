// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_WATCH_OVER_H_
#define TUTTI_COMM_LIFE_WATCH_OVER_H_

// A communicator and the monitor of its process (watch/watched.h), while it is made. Threads: the one that makes it. Without effect where
// TUTTI_MONITOR is 0.

#include <memory>
#include <string>
#include <vector>

#include "comm/host/impl.h"
#include "tutti/status.h"

namespace tutti::transport::net {
class Port;
struct RemotePeer;
}  // namespace tutti::transport::net

namespace tutti::comm {

// From here on the monitor looks at it. REQUIRES: its fabric is there, and its black box.
void BeginWatch(Communicator::Impl& made);
// These ranks have not come. `place`: where hosts meet, if that does not answer, so that they may have come to other hosts; else empty.
void NoteMissing(Communicator::Impl& made, const std::vector<int>& ranks, const std::string& place);
// All have come, and the pages of those of this host are mapped.
void WatchPeers(Communicator::Impl& made);
// Some ranks are on other hosts: their monitors may be asked, and may ask.
Status WatchHosts(Communicator::Impl& made, const std::vector<transport::net::RemotePeer>& remotes,
                  std::shared_ptr<transport::net::Port> port);
// The links to other hosts are there.
void WatchPaces(Communicator::Impl& made);
// It is made.
void EndBeginning(Communicator::Impl& made);
// The verdict that ends the making, once one has stood for as long as TUTTI_ON_VERDICT allows; else Ok. Cheap.
Status GivenUp(const Communicator::Impl& made);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_WATCH_OVER_H_
