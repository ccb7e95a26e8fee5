// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_PLANTS_H_
#define TUTTI_EXEC_GPU_DEVICE_PLANTS_H_

// Errors that a test can plant in the kernels where they run on the host, one at a time, to show that it would find them.
// In code for GPUs there are none: TUTTI_PLANT is false there.

#include <cstdint>
#include <iterator>
#include <string_view>

namespace tutti::exec::gpu {

enum class Plant : std::uint8_t {
  kNone,
  // Steps.
  kNoRoomForSteps,           // stores into a ring without having waited for credits
  kRoundLeftOut,             // messages of all rounds lie where those of the first do
  kNoBarrierBeforeCredit,    // gives credit for what other threads may still read
  kNoBarrierBeforeDivision,  // divides what other threads may not have stored
  kHalfALine,                // LL: looks at one flag of two
  kFlagOfEveryPass,          // LL: the same flag whenever a ring is filled
  kHalfAUnit,                // LL128: looks at the flags of half of the lines
  kFlagWithoutAcquire,       // Simple: reads a flag as it reads data
  kAnyFlag,                  // Simple: takes the flag of an earlier message for this one's
  kNoBarrierBehindFlag,      // Simple: reads a message that another thread waits for
  kNoBarrierBeforeFlag,      // Simple: tells of a message that other threads may not have stored
  kNoFenceOfStep,            // Simple: tells of a message that may not have left
  // Short forms.
  kNoRoomForShort,
  kNoBarrierBeforeShortCredit,
  kHalfALineOfShort,
  // Sends and receives.
  kNoFenceOfTransfer,
  kNoRoomForTransfer,
  kCreditOfOneThread,  // gives credit for what other threads may still read
  kHeraldLeftBehind,   // keeps the link's position before the herald has read it
  // Relays.
  kNoFenceOfRelay,
  kNoRoomForRelay,
  kOnlyAVote,        // the herald's threads take a vote for a barrier
  kPostOfOneThread,  // counts a step of a warp that other threads may not have played
  // Small operations between hosts.
  kDoneNotCleared,        // takes the answer to the replay before for this one's
  kNoFenceOfAcross,       // tells the host of what may not have left
  kNoBarrierBeforeReady,  // tells the host of what other threads may not have stored
  kNoBarrierBehindDone,   // reads what another thread waits for
};
inline constexpr std::string_view kPlantNames[] = {"None",
                                                   "NoRoomForSteps",
                                                   "RoundLeftOut",
                                                   "NoBarrierBeforeCredit",
                                                   "NoBarrierBeforeDivision",
                                                   "HalfALine",
                                                   "FlagOfEveryPass",
                                                   "HalfAUnit",
                                                   "FlagWithoutAcquire",
                                                   "AnyFlag",
                                                   "NoBarrierBehindFlag",
                                                   "NoBarrierBeforeFlag",
                                                   "NoFenceOfStep",
                                                   "NoRoomForShort",
                                                   "NoBarrierBeforeShortCredit",
                                                   "HalfALineOfShort",
                                                   "NoFenceOfTransfer",
                                                   "NoRoomForTransfer",
                                                   "CreditOfOneThread",
                                                   "HeraldLeftBehind",
                                                   "NoFenceOfRelay",
                                                   "NoRoomForRelay",
                                                   "OnlyAVote",
                                                   "PostOfOneThread",
                                                   "DoneNotCleared",
                                                   "NoFenceOfAcross",
                                                   "NoBarrierBeforeReady",
                                                   "NoBarrierBehindDone"};
inline constexpr int kPlants = static_cast<int>(std::size(kPlantNames));

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_PLANTS_H_
