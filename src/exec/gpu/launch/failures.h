// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_
#define TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_

// What a kernel that gave up was waiting for. It writes a block, a number and a peer into its HostWords (PackFailure); what they
// mean follows from how its plan was lowered. So kernels that are lowered alike have words of their own, and the host keeps
// beside them what it takes to read them.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/lower/compile.h"

namespace tutti::exec::gpu {

enum class Form : std::uint8_t { kSteps, kShort, kRelay, kMoves };

// How a kernel's blocks, numbers and peers lead back to the plan.
struct Lowered {
  // Teams first_team, first_team + 1, ... of a role or lane, for channels 0, 1, ...
  struct Teams {
    std::uint16_t first_team, channels;
    std::uint8_t part;                       // RelayRole::Kind, or GroupLane::Kind
    std::uint32_t sources = 0, targets = 0;  // seats as bits
    bool operator==(const Teams&) const = default;
  };
  Form form = Form::kSteps;
  const PreparedPlan* plan = nullptr;  // must stay until Failures::Forget
  std::vector<Teams> teams;            // of kRelay and kMoves
  std::uint16_t blocks = 0;            // likewise
  std::uint8_t teams_per_block = 0;    // likewise
  std::vector<std::uint16_t> steps;    // of kMoves: of the plan, by the group's transfers
  std::vector<int> rank_of = {};       // by seat; empty: seats are ranks

  bool operator==(const Lowered&) const = default;
};
Lowered LoweredOf(const PreparedPlan& plan, const Program& program);
Lowered LoweredOf(const PreparedPlan& plan, const Relay& relay);
// steps, rank_of: as of Lowered.
Lowered LoweredOf(const PreparedPlan& plan, const Group& group, std::vector<std::uint16_t> steps,
                  std::vector<int> rank_of = {});

// A wait that ended after the timeout. -1: what the kernel's words leave open.
struct FailedWait {
  std::optional<Form> form;                        // none: several ways share the words
  Collective collective = Collective::kAllReduce;  // where there is a form
  bool for_data = false;                           // else for room at the peer
  int peer = -1;
  int step = -1;     // of the plan
  int or_step = -1;  // or this one, where teams of a block wait for the same peer
  int channel = -1;  // of the link
  int round = -1;
};
// REQUIRES: a failure that a kernel lowered so has written.
FailedWait ReadFailure(const Lowered& lowered, std::uint64_t failure);
// "all_reduce as a relay, at step 2 of its plan, round 5, channel 3: waited for data from rank 1".
std::string Describe(const FailedWait& wait);

// The words of a communicator's kernels, in one page. Any thread.
class Failures {
 public:
  static constexpr int kSlots = 24;

  // As the host and as the GPU see them: kSlots of them.
  void Use(HostWords* host, HostWords* device) {
    host_ = host;
    device_ = device;
  }
  // The words for a kernel that is lowered so. Where there are more ways than slots, several share one, and what differs
  // between them is left open.
  HostWords* WordsFor(const Lowered& lowered);
  // A plan is about to end. What kernels that run it would say is left open.
  void Forget(const PreparedPlan& plan);
  // Lets all kernels end.
  void EndKernels();
  bool ending() const;
  // What the first one found has waited for, if any has given up.
  std::optional<FailedWait> Find();

 private:
  struct Slot {
    std::optional<Lowered> lowered;
    bool shared = false;      // by several ways, or by one that has been forgotten
    bool one_seating = true;  // they know the same ranks
  };
  HostWords* host_ = nullptr;
  HostWords* device_ = nullptr;
  std::mutex mutex_;
  std::array<Slot, kSlots> slots_;  // guarded by mutex_
  int used_ = 0;                    // likewise
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_FAILURES_H_
