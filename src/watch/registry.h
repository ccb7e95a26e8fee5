// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_REGISTRY_H_
#define TUTTI_WATCH_REGISTRY_H_

// What the monitor of this process watches.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sys/os/bell.h"
#include "trace/view.h"
#include "watch/rank_pages.h"
#include "watch/terms.h"

namespace tutti::transport {
struct FlowPace;
}

namespace tutti::watch {

struct Abroad;
class Paces;
class WaysOut;

// Why the others are to be looked at.
enum class Due : std::uint8_t {
  kNothing,
  kComparing,  // of a way to another host it is to be known whether it is slow beside others
  kTrouble,    // a rank has waited, been made or been broken for long, or what it sends goes slowly
};

// What a Watched and the monitor share.
struct Subject {
  Subject(Terms given, RankPages pages);
  ~Subject();
  bool IsBroken() const;  // by this rank or another

  const Terms terms;
  const RankPages own;
  const trace::View view;          // of the own black box
  const std::uint32_t generation;  // of the process that it belongs to (sys/os/fork.h)
  // Whether who has come is known: while the communicator is made nothing is said before.
  std::atomic<bool> sees{false};
  std::atomic<bool> made{false};  // the communicator is
  std::atomic<bool> has_given_up{false};

  std::mutex mutex;
  // All guarded by mutex.
  bool closed = false;  // its pages may be gone
  bool ended = false;   // by the monitor, which alone writes it
  std::vector<int> missing;
  std::string silent_place;              // where hosts meet, if that does not answer
  std::vector<RankPages> pages;          // the own ones first
  std::shared_ptr<const Abroad> abroad;  // null: all ranks are on this host, or it is not known yet
  std::function<std::vector<transport::FlowPace>()> paces_of;  // where it has connections to other hosts; null: none
  Status given_up;
  Standing standing;

  // The monitor's own: in how many looks it has been broken, how fast its data go to other hosts and what is on its way there, and what it
  // has noted of its processes.
  int looks_broken = 0;
  bool remembered = false;  // how its ranks' control groups were
  const std::unique_ptr<Paces> paces;
  const std::unique_ptr<WaysOut> ways_out;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Subject>> subjects;  // guarded by mutex
  bool running = false;                            // guarded by mutex: there is a monitor, and it will look again
  bool serves = false;                             // guarded by mutex: a thread answers RAS clients, or shall not
  std::uint32_t generation = 0;                    // guarded by mutex: the process that all this belongs to
  // The monitor sleeps on it; changes where it has something to do: somebody calls (door.h), or the last subject has gone.
  std::atomic<std::uint32_t> calls{0};
  // What tells it so where it sleeps on sockets too; none before ranks are on other hosts. Guarded by mutex.
  sys::Bell bell;

  // Wakes the monitor. REQUIRES: mutex is held.
  void Ring();
  // Forgets what belongs to the parent. REQUIRES: mutex is held.
  void AfterFork();
};

// Never destroyed: the monitor uses it until the very end of the process.
Registry& TheRegistry();

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_REGISTRY_H_
