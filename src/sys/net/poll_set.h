// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_POLL_SET_H_
#define TUTTI_SYS_NET_POLL_SET_H_

// Waits for any of many sockets (epoll): a wait costs as much as there are sockets with news, however many are watched.

#include <array>
#include <cstdint>
#include <vector>

#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

struct PollEvent {
  std::uint64_t token = 0;  // what the socket was added with
  bool readable = false;    // something has come, or the connection has ended or failed
  bool writable = false;
};

// Threads: one at a time, but Wait may run beside Add, Change and Remove.
class PollSet {
 public:
  enum class For : std::uint8_t { kNothing, kReading, kWriting, kReadingAndWriting };

  static Result<PollSet> Make();

  // Watches `socket`. REQUIRES: it is not in the set, and is removed before it is closed. A socket that somebody has news
  // for is told of by every Wait until the news are taken (level-triggered). kNothing: only its end or failure.
  Status Add(const Fd& socket, std::uint64_t token, For what);
  Status Change(const Fd& socket, std::uint64_t token, For what);
  void Remove(const Fd& socket);

  // Waits until one of them is ready, a signal comes, or the deadline has passed. At most 64 events, maybe none.
  Result<std::vector<PollEvent>> Wait(std::int64_t deadline_ns);

  // Readable where Wait would return something: a poll set can be in another one.
  const Fd& fd() const { return fd_; }

 private:
  Status Control(int operation, const Fd& socket, std::uint64_t token, For what);

  Fd fd_;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_POLL_SET_H_
