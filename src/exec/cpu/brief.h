// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_BRIEF_H_
#define TUTTI_EXEC_CPU_BRIEF_H_

// What is the same whenever a job of few bytes runs again: where its blocks lie in their buffers, how long they are, and which links it uses.
// A call of 8 bytes that finds this out anew takes one and a half times to twice as long (docs/decisions/0031-brief-jobs.md).
//
// Brief are jobs that come to each step once and read nothing where it lies in a peer, of less than kLeastMovedBytes, between ranks of one
// host.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::transport {
struct Incoming;
struct Outgoing;
}  // namespace tutti::transport

namespace tutti::exec::cpu {

struct BriefOperand {
  transport::Incoming* link = nullptr;  // null: a block of this rank's own
  int peer = -1;                        // who sends by it
  std::size_t at = 0;                   // of such a block: bytes from the start of its buffer
  bool input = false;                   // and which buffer that is
};

struct BriefTarget {
  transport::Outgoing* link;
  int peer;
};

// A step that moves something. Its operands and targets follow those of the step before it in the lists of BriefPart.
struct BriefStep {
  static constexpr std::size_t kNoOutput = ~std::size_t{0};
  int turn = 0;  // Part::turn
  int operands = 0;
  int targets = 0;
  std::size_t elements = 0;
  std::size_t bytes = 0;
  std::size_t out = kNoOutput;  // bytes from the start of the output
};

struct BriefPart {
  std::vector<BriefStep> steps;
  std::vector<BriefOperand> operands;
  std::vector<BriefTarget> targets;
};

// Found out when a job runs again for the first time.
struct Brief {
  std::vector<BriefPart> parts;  // by channel; none: the job is not brief
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_BRIEF_H_
