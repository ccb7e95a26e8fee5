// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_DOOR_H_
#define TUTTI_WATCH_DOOR_H_

namespace tutti::transport::net {
class Caller;
}

namespace tutti::watch {

class Desk;

// Where monitors of other hosts call this process. Threads: any.

// Takes their calls from a port, and rings for this process's monitor.
transport::net::Caller& TheDoor();

// Hands those that have come since the last time to the desk. Of more than some thousands that nobody takes, the oldest are ended.
void BringCalls(Desk& desk);

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_DOOR_H_
