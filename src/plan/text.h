// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_TEXT_H_
#define TUTTI_PLAN_TEXT_H_

// Plans as text, for people, tests and tools. A rank's part is a header line and one line per step; a whole
// plan is the parts of its ranks one after the other:
//
//   reduce rank 1 of 3 root 0 in 2 out 0 slots 1
//     <2 + in0 -> >0
//     @1 in1 -> >2                    stage 1; stage 0 is not shown
//     <2 -> out1 >0                   stored and sent on
//     in0 -> ^0                       offered to rank 0; ^^ in place of ^: once, for all that are named
//     ^0 + ^1 -> >>out0 >>1 >>2       what ranks 0 and 1 offer, folded by a switch; stored and sent by a multicast
//
// "root" appears where the collective has one (or a plan says other than 0), and the lists of a grouped send
// and receive stand in lines of their own after the header:
//
//   send_recv rank 0 of 2 in 2 out 1 slots 1
//     in_sizes 100 20
//     out_sizes 7
//
// Empty lines and what follows a '#' are ignored; so is all space beyond what separates words.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "tutti/status.h"

namespace tutti::plan {

// "<0 + in0 + <2 -> out0 >3", with "@stage " in front where it is not 0.
std::string Print(const Step& step);
std::string Print(const RankPlan& plan);
std::string Print(std::span<const RankPlan> plans);

// The parts of all ranks that `text` holds, in its order. Exact: Parse(Print(plans)) == plans, for any plan
// whose numbers are not negative (but for kNoBlock). An error names the line. Parsing decides what a line
// says, not whether the plan makes sense: that is Check's.
//
// Text may come from anywhere: memory is proportional to its length, which may be kMaxText bytes; ranks may
// be kMaxParseRanks, every other number of blocks, slots and stages kMaxNumber.
Result<std::vector<RankPlan>> Parse(std::string_view text);

inline constexpr std::size_t kMaxText = std::size_t{64} << 20;
inline constexpr int kMaxParseRanks = 1 << 16;
inline constexpr int kMaxNumber = 1 << 24;

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_TEXT_H_
