// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_WATCHED_H_
#define TUTTI_WATCH_WATCHED_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::transport {
struct FlowPace;
}

namespace tutti::watch {

struct Abroad;
struct RankPages;
struct Standing;
struct Subject;
struct Terms;

// A rank of a communicator, as the process's monitor watches it. The monitor is one thread for all of them: it begins when the
// first is made, or takes long to make, and ends with the last. It looks five times a second at what the ranks of this process say of their waits. Once one of them has
// waited for half a second, is broken, or is being made for a second, it looks at all their peers on this host, finds out who holds
// them up, and logs that (docs/diagnosis.md). It never waits for a rank, nor for the driver: what that knows of GPUs is asked in
// another thread, and once there is a reason only (host_evidence.h).
//
// Threads: any may call these, one at a time; WhatStands and GivenUp any at any time.
class Watched {
 public:
  // REQUIRES: pages, here and below, stay mapped until this is destroyed.
  Watched(Terms terms, RankPages own);
  // Waits for the monitor where it reads these pages at the moment, some milliseconds at most.
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // While the communicator is made: ranks that have not come. `place`: where hosts meet, if that does not answer, so that these may have come to
  // other hosts; else empty.
  void SetMissing(std::vector<int> ranks, std::string place);
  // All have come: the pages of all ranks of this host, the own ones first.
  void SetPages(std::vector<RankPages> pages);
  // Where ranks are on other hosts: how their monitors are asked, and may ask. At most once.
  Status SetAbroad(Abroad abroad);
  // What its connections to other hosts have carried, which is asked once a second, until this is destroyed. Any thread.
  void SetPaces(std::function<std::vector<transport::FlowPace>()> paces_of);
  // The communicator is made: from now on `end` ends it.
  void SetReady();
  // Until then: the verdict that ends its making, once one has stood for too long; else Ok. Cheap.
  Status GivenUp() const;

  // What stood at the monitor's last look. Stays where the communicator breaks.
  Standing WhatStands() const;

 private:
  // Starts the monitor where there is none. Not at once: a thread that starts is in the way of ranks that measure the machine.
  void NeedMonitor() const;

  const std::shared_ptr<Subject> subject_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_WATCHED_H_
