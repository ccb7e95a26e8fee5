// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_HOST_CASE_H_
#define TUTTI_TESTS_DIAG_HOST_CASE_H_

// Cases of the campaign on one to five hosts: what is done to which rank of which job, and what shall be told of it.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/diag/case_result.h"

namespace tutti::tests {

enum class HostFault : std::uint8_t {
  kStop,         // SIGSTOP
  kKill,         // SIGKILL
  kSleep,        // the rank sleeps instead of calling
  kWrite,        // it writes to a file that takes nothing
  kOtherCall,    // it calls with another operator
  kOrders,       // half of the ranks call two communicators in the other order
  kNeverComes,   // it does not make the communicator
  kNoReceive,    // it never receives what the rank before it sends
  kCutOff,       // its host has no cable
  kLinkTenth,    // what leaves its host goes at a tenth of the usual speed
  kLinkHalf,     // at less than half of it
  kLinkAlways,   // at a tenth of what the cards of other hosts carry, from the beginning
  kLinkStalled,  // what its host sends over the busiest connection to another rank gets lost; new connections work
  kStarved,      // its control group has hardly any time, of which a neighbour takes the half
  kTwo,          // two ranks are stopped or asleep
  kLie,          // it sleeps, and its black box contradicts itself
  kShortPause,   // it sleeps for a second, after which all go on
  kLongPause,    // it sleeps for some seconds, as for a checkpoint
  kSlow,         // it sleeps for a moment before each call
  kNothing,
};
inline constexpr int kHostFaults = 20;
const char* Name(HostFault fault);

// When the fault begins: while the communicator is made, at its first call, or after some.
enum class Phase : std::uint8_t { kInit, kFirst, kSteady };

inline constexpr int kMostHosts = 5, kMostHostRanks = 7;

// What the machine lets a case do.
struct Means {
  bool name_spaces = false;     // tests/hosts/hosts.h
  bool control_groups = false;  // version 1, with quotas
};

struct HostCase {
  HostFault fault = HostFault::kNothing;
  Phase phase = Phase::kSteady;
  bool name_spaces = false;  // hosts are network name spaces; else host ids, in one
  std::vector<int> host_of;  // of each rank
  int victim = 0;
  int other = -1;                           // kTwo: the second
  bool stops = false, other_stops = false;  // kTwo: stopped, or asleep
  std::string algo, proto;                  // settings; empty: chosen
  std::size_t count = 1024;                 // floats of a call
  int lie = 0;                              // of kLies
  int card_mbit = 0;                        // of slow links: that the cards of all hosts let go before, per second
  int pause_ms = 0;                         // of pauses
  bool zombie = false;                      // kKill: nobody asks how it ended

  // One from a seed, which says all about it. What a machine cannot do becomes another fault there.
  static HostCase Of(std::uint64_t seed, Means means);
  int ranks() const { return static_cast<int>(host_of.size()); }
  int hosts() const;
  bool IsVictim(int rank) const { return rank == victim || rank == other; }
  bool OnHostOf(int rank, int of) const;
  // What this rank does or suffers: kNothing, but of victims.
  HostFault DeedOf(int rank) const;
  bool IsBenign() const;
  bool IsSlowLink() const { return fault >= HostFault::kLinkTenth && fault <= HostFault::kLinkAlways; }
  bool IsOfNetwork() const { return fault >= HostFault::kCutOff && fault <= HostFault::kLinkStalled; }
  // "rank 2 of 5 (east 0 1, west 2-4), steady, ring LL, 1024 floats"
  std::string Describe() const;
  // What may be told of it by this rank, and nothing else.
  std::vector<Expected> AllowedBy(int rank) const;
  // Who is to blame, where that is known before the job runs; of a link who sends or receives.
  std::set<int> Guilty() const;
  // Whether being told so says enough: that a starved rank is late is no more than half of it.
  bool IsEnough(diag::Kind kind) const;
  // Whether this rank must tell something that is enough. Of a slow link one rank of its host must.
  bool MustTell(int rank) const;
  // Whether it is to be told at WARN within half a minute.
  bool MustWarn() const;
};

inline constexpr int kLies = 3;
inline constexpr const char* kHostNames[kMostHosts] = {"east", "west", "north", "south", "mid"};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_HOST_CASE_H_
