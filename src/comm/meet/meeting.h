// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_MEETING_H_
#define TUTTI_COMM_MEET_MEETING_H_

// What goes into a meeting of ranks and what comes out of it. The meeting itself is in bootstrap.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sys/os/fd.h"
#include "sys/os/process.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

struct Missing;

// How a meeting went, for logs and tests.
struct MeetReport {
  int gatherer = -1;  // the rank that gathered the others; -1: not known
  int strangers = 0;  // connections that the gatherer dropped because they did not prove to belong to the job
  int attempts = 0;   // connections that this rank made until it was let in
};

struct MeetOptions {
  UniqueId id;
  int rank = 0;
  int ranks = 1;
  std::int64_t timeout_ms = 60'000;    // after that the meeting fails; a little earlier, so that all can be told why
  std::span<const std::byte> payload;  // at most 32 KiB, of any length on each rank
  const sys::Fd* shared = nullptr;     // a descriptor that all ranks get a copy of; null: none
  MeetReport* report = nullptr;        // null: not wanted
  // Once it is true this rank gives up, and tells those that are there; looked at every 50 ms. Any thread may set it.
  // Null: never.
  const std::atomic<bool>* cancel = nullptr;
  bool hosts_are_known = false;  // that ranks are on several hosts, so that the network is asked at once
  std::string host;              // which host this rank is on, if not the machine says (NCCL_HOSTID)
  // What this rank can see of ranks that have not come. Until all have come it is called, on the thread that meets, every
  // 300 ms (by ranks that do not gather less often where ranks are many); an error, which names a rank, ends the meeting on
  // all ranks that are there. Null: nothing.
  std::function<Status()> look;
  // Told, on the thread that meets, which ranks have not come, once some have been waited for for a second, and when that changes.
  // Null: not wanted.
  std::function<void(const Missing& missing)> missing;
};

struct Member {
  // pid 0 where the member lives in another pid name space, or on another host: then nobody here can probe it or read its memory.
  sys::ProcessId process;
  std::uint32_t uid = 0;  // as the kernel told the gatherer
  std::vector<std::byte> payload;
  sys::Fd shared;       // invalid where the member gave none, and where it is remote
  bool remote = false;  // it is on another host than this rank
  std::string host;     // its host's name, where there are several; the same on all ranks
};

// Takes one member. Called on the thread that meets, in rank order, this rank included. An error ends the
// meeting on all ranks.
using OnMember = std::function<Status(int rank, Member&& member)>;

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_MEETING_H_
