// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Waiter that sees to where ranks sit.
#include <algorithm>
#include <cstdint>

#include "comm/host/core.h"
#include "comm/host/seats.h"
#include "comm/host/waiter.h"
#include "sys/os/clock.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

constexpr int kMostDoublings = 16;  // of the pauses between steps to neighbours
// Who has stayed for so many pauses longer than it had to was moved by the system, and begins anew.
constexpr std::uint64_t kPausesInPlace = 64 * 1024;

}  // namespace

// As seats.h has it. Steps to neighbours that follow each other come less and less often: ranks with another order in another communicator
// of theirs would step over again and again, and others may not run there.
void Waiter::BalanceCores() {
  const int here = sys::CurrentCpu();
  const auto cpu_of = [&](int peer) {
    return peer == core_.rank ? here : core_.fabric->IsRemote(peer) ? kElsewhere : core_.fabric->CpuOf(peer);
  };
  const Seats seats = FindSeats(core_.ranks, core_.rank, cpu_of);
  if (!seats.known) return;
  const int roomy = SeatWithRoom(seats, core_.rank, here, core_.cpus);
  if ((roomy != kStays && sys::StepOverTo(roomy)) || !core_.crowded || pauses_ < joins_from_) return;
  const int seat = SeatBesideNeighbours(seats, core_.ranks, core_.rank, core_.cpus, cpu_of);
  if (seat == kStays) return;
  sys::StepOverTo(seat);
  if (pauses_ - joins_from_ > kPausesInPlace) joined_ = 0;
  joins_from_ = pauses_ + (kPausesPerBalance << std::min(joined_, kMostDoublings));
  ++joined_;
}

}  // namespace tutti::comm
