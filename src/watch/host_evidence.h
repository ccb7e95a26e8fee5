// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_HOST_EVIDENCE_H_
#define TUTTI_WATCH_HOST_EVIDENCE_H_

// What this host's system says of ranks that have ended, hang or are slow, and of their GPUs: the kernel's log, counters of control groups,
// NVML. Nothing is asked before there is a reason to.

#include <cstdint>
#include <memory>
#include <string>

namespace tutti::diag {
struct Look;
}

namespace tutti::watch {

// Where to look; tests have their own.
struct EvidencePlaces {
  std::string kernel_log = "/dev/kmsg";  // empty: nowhere
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string proc = "/proc", cgroup = "/sys/fs/cgroup";
};

// Threads: one at a time.
class HostEvidence {
 public:
  // Whether what was in the kernel's log before counts, where its lines have times.
  enum class Earlier : std::uint8_t { kCounts, kDoesNotCount };
  HostEvidence(EvidencePlaces places, Earlier earlier);
  ~HostEvidence();

  // Notes how many processes of its control group were ended for want of memory by now, for the time when this one has ended too. Once for each
  // process; some 60 us.
  void Remember(std::int32_t pid);

  // What makes it ask: a rank of the look that waits, or has ended or failed; or that one waits on another host.
  enum class Reason : std::uint8_t { kOfTheLook, kElsewhere };
  // Adds what is known of this host's processes and GPUs to a look at them, where there is a reason. It reads the kernel's log, and asks NVML
  // in another thread: what that answers is in a later look. Waits for nobody. REQUIRES: all processes of the look are of this host.
  void AddTo(diag::Look& look, Reason reason = Reason::kOfTheLook);
  // Whether NVML has been asked and has not answered.
  bool is_asking() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_HOST_EVIDENCE_H_
