// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_CORE_H_
#define TUTTI_COMM_HOST_CORE_H_

// What all parts of a communicator share: who it is, its links, its engine, its black box, and whether it is broken.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/recorder.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti {
namespace exec::cpu {
class Engine;
}
namespace trace {
class View;
}
namespace transport::shm {
class Fabric;
}
namespace tune::plugin {
class Tuner;
}
}  // namespace tutti

namespace tutti::comm {

class ObservedCalls;
class Origin;

struct Core {
  // `origin`: null where it is not made from another communicator.
  Core(int rank, int ranks, std::string who, const Settings& settings, std::shared_ptr<const Origin> origin);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The first failure stays; peers and the log are told. Any thread.
  enum class Wanted : std::uint8_t { kNo, kYes };
  void Break(const Status& status, Wanted wanted = Wanted::kNo);
  // The same because the program wants it, which is one line of the log for the whole process, however many communicators
  // it ends. Where a peer has died that is the error: this rank shall not be taken for the cause. Any thread.
  void Abort(const std::string& sentence);
  // An error that names a peer whose process has ended without a word. Costs some system calls for each peer. Any thread.
  Status FindDead() const;
  // Whether a peer's process is gone. Any thread. REQUIRES: ranks > 1.
  bool ProcessIsDead(int peer) const;
  // That failure, or Ok. Any thread.
  Status Broken();
  // An error of this communicator as its user is to read it: with the blamed rank's number in the parent, if there is one.
  Status InParent(const Status& status) const;

  const int rank;
  const int ranks;
  const std::string who;  // for the log: "comm 0x55... rank 1 nranks 4", and the user's name for it
  Settings settings;
  const std::shared_ptr<const Origin> origin;
  bool several_hosts = false;
  int cpus = 1;
  bool crowded = false;                            // more ranks than cores
  std::int64_t spin_ns = 0;                        // how long a wait spins before it gives the core away
  std::shared_ptr<transport::shm::Fabric> fabric;  // null where ranks == 1
  trace::Recorder recorder;
  std::shared_ptr<exec::cpu::Engine> engine;
  std::shared_ptr<tune::plugin::Tuner> tuner;  // a plugin that may choose how collectives are done; null: none
  std::vector<trace::View> boxes;              // of all ranks; none where ranks == 1
  std::atomic<bool> broken{false};
  std::uint64_t logged_calls = 0;     // NCCL_DEBUG=INFO's opCount
  ObservedCalls* observed = nullptr;  // the submitter's; null where nobody is told of calls

 private:
  std::mutex failure_mutex_;
  Status failure_;  // guarded by failure_mutex_
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_CORE_H_
