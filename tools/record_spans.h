// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_SPANS_H_
#define TUTTI_TOOLS_RECORD_SPANS_H_

// Calls of a black box as spans of time.

#include <cstdint>
#include <vector>

#include "tools/record_calls.h"
#include "trace/view.h"

namespace tutti::tools {

// A call, or several in a row that are alike and of which no clock was read: from when it was begun, where that is known, else from
// when it was made, to its end. Or all calls that wait for their turn, from when the first of them was made to when the box was read.
// CLOCK_MONOTONIC, ns.
struct CallSpan {
  HeldCall first;
  std::uint64_t calls = 1;
  CallState state = CallState::kEnded;
  // How certain the beginning is. kExact: a clock was read. kAtMost: it was called at from_ns or before. kBetween: no clock was read;
  // it was called between the two bounds of `first`.
  enum class Begin { kExact, kAtMost, kBetween } begin = Begin::kExact;
  bool ends = false;  // whether to_ns is the moment when it ended; else it ended no later, or has not ended
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;  // later than from_ns
};

// What the box holds, by where the spans begin, the longer first. A communicator's calls run one after another, so those without a
// clock lie between those before and after them that have one, in equal shares. They are left out where even older ones are forgotten
// and no clock lies between. Pure; any thread.
std::vector<CallSpan> MakeSpans(const trace::View& box, std::int64_t taken_ns);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_SPANS_H_
