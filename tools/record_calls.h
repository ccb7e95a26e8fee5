// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_CALLS_H_
#define TUTTI_TOOLS_RECORD_CALLS_H_

// The calls that a black box still holds, and when they were made as far as clocks tell (docs/black_box.md, "Times").

#include <cstdint>
#include <vector>

#include "trace/view.h"

namespace tutti::tools {

// One call, with bounds of the moment when it was made: CLOCK_MONOTONIC, ns. They are equal where that moment is known.
struct HeldCall {
  trace::CallRecord record;
  std::int64_t at_least_ns = 0;
  std::int64_t at_most_ns = 0;

  bool exact() const { return record.enqueued_ns != 0 && !record.enqueued_at_most; }
};

struct HeldCalls {
  // By number, none missing between the first and the last of them.
  std::vector<HeldCall> calls;
  // Whether the first of them is the rank's first call: nothing is forgotten.
  bool whole = false;
};

// The last trace::kRecords calls at most, without what lies before a record that could not be read. Of calls that wait now and have no
// clock the beginning of the wait is noted as the moment before which they were made. `taken_ns`: when the box was copied. Pure; any thread.
HeldCalls ReadHeldCalls(const trace::View& box, std::int64_t taken_ns);

// How far a call is, as far as its rank has written down. kInStream: a GPU's stream has it, and no more is known.
enum class CallState { kQueued, kRunning, kInStream, kEnded };
CallState StateOf(const trace::CallRecord& call, const trace::View& box);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_CALLS_H_
