// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_HOST_LOOK_H_
#define TUTTI_WATCH_HOST_LOOK_H_

// A look at communicators of this process (diag/evidence.h), from pages that it has mapped anyway and from /proc. It needs no right to
// trace other processes.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "diag/evidence.h"
#include "sys/os/fd.h"
#include "sys/os/process.h"
#include "watch/rank_pages.h"

namespace tutti::watch {

// Threads: one.
class HostLook {
 public:
  HostLook();

  // Reads the black boxes of a communicator's ranks; what is no black box is left out. Where some of them still make the communicator,
  // those that are neither here nor in `missing` count as such too: they have come, and nothing else is known of them. A rank that is
  // there already stays as it is. `silent_place`: where hosts meet, if that does not answer; else empty. REQUIRES: the pages stay mapped until this returns; they may change, and hold anything.
  void Add(std::span<const RankPages> pages, std::span<const int> missing, const std::string& silent_place = "");
  // Looks at the processes. Those with a rank that waits and says so are looked at briefly: what they do is known.
  diag::Look Finish();

 private:
  struct Process {
    sys::ProcessId id;
    std::shared_ptr<const sys::Fd> handle;
    bool waits = false;
  };
  void AddRank(const RankPages& pages);
  void AddThoseThatHaveCome(std::uint64_t communicator, std::span<const int> missing, const std::string& silent_place);
  int PlaceOf(const RankPages& pages);

  const std::string host_ = sys::HostName();
  diag::Look look_;
  std::vector<Process> processes_;
  std::map<std::tuple<std::int32_t, std::uint64_t, const sys::Fd*>, int> place_of_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_HOST_LOOK_H_
