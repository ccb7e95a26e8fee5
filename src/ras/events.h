// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_EVENTS_H_
#define TUTTI_RAS_EVENTS_H_

// What clients that monitor are told: how two reports differ, in NCCL's words for events, and verdicts that come and go.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ras/report.h"

namespace tutti::ras {

// Groups of events that a client asks for, bits.
enum : unsigned { kLifecycle = 1, kTrace = 2, kAllEvents = kLifecycle | kTrace };

struct Event {
  unsigned group = kLifecycle;
  std::string name;                // "PEER_DEAD"
  std::optional<Process> process;  // whom it is about
  std::string details;             // a sentence, or nothing
  std::int64_t unix_ns = 0;        // when it was seen
};

//   group       event              when
//   lifecycle   PEER_NEW           a process is seen for the first time
//               PEER_DEAD          it has ended, or none of its ranks is left
//               VERDICT            something holds a communicator up; details: the sentence
//               VERDICT_CLEARED    it does not any more
//   trace       PEER_UNRESPONSIVE  a process is stopped, frozen or held by a debugger
//               PEER_RECOVERED     it runs again
std::vector<Event> EventsBetween(const Report& before, const Report& now);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_EVENTS_H_
