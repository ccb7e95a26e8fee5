// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "exec/cpu/fold.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using transport::Reach;
using transport::shm::Fabric;
using transport::shm::Header;

constexpr std::uint32_t kTries = 12;
constexpr std::uint32_t kAgreed = kTries + 1;
constexpr std::size_t kLarge = std::size_t{64} << 10;
constexpr std::size_t kSmall = std::size_t{4} << 10;
constexpr double kLargeKib = kLarge / 1024.0;
constexpr double kSmallKib = kSmall / 1024.0;
// A figure further than this from the built-in one is not believed.
constexpr double kMostOff = 10.0;

static_assert(std::is_trivially_copyable_v<tune::Machine> && sizeof(tune::Machine) <= transport::shm::kNoteBytes);

// The least time of several tries, us.
class Least {
 public:
  template <typename Call>
  void Time(Call&& call) {
    const std::int64_t begin_ns = sys::NowNs();
    call();
    us_ = std::min(us_, static_cast<double>(sys::NowNs() - begin_ns) / 1000);
  }
  double us() const { return us_; }

 private:
  double us_ = std::numeric_limits<double>::infinity();
};

double Believable(double measured, double built_in) {
  if (!std::isfinite(measured)) return built_in;
  return std::clamp(measured, built_in / kMostOff, built_in * kMostOff);
}

// Ranks on one core share its caches, and would take figures that hold nowhere else.
bool StepAside(const Fabric& fabric) {
  const int cpu = sys::CurrentCpu();
  if (fabric.CpuOf(0) != cpu) return true;
  for (int other = 0, cpus = sys::UsableCpus(); other <= cpus; ++other) {
    if (other != cpu && sys::StepOverTo(other)) return true;
  }
  return sys::UsableCpus() == 1;  // then there are no others
}

void Tell(Header* own, std::uint32_t what) { own->told.store(what, std::memory_order_release); }

// What rank 1 times and passes on in its notes.
struct Readings {
  double pool_us;
  // By reference: what the peer has just written, and what has been read before.
  double fresh_large_us, fresh_small_us;
  double large_us, small_us;
};
static_assert(sizeof(Readings) <= transport::shm::kNoteBytes);

// Rank 1: reads what rank 0 has just written, in the pool and in rank 0's own memory.
Status Read(Fabric& fabric, const WaitAtInit& wait) {
  const Header* theirs = fabric.segment(0).header();
  const transport::Incoming& link = fabric.in(0, 0);
  std::vector<std::byte> landing(kLarge);
  Least pool, fresh_large, fresh_small, large, small;
  for (std::uint32_t turn = 1; turn <= kTries; ++turn) {
    TUTTI_RETURN_IF_ERROR(wait([&] { return theirs->told.load(std::memory_order_acquire) >= turn; },
                               "waited for rank 0 to measure the machine"));
    if (!StepAside(fabric)) {
      Tell(fabric.own().header(), turn);
      continue;
    }
    pool.Time([&] { CopyBytes(landing.data(), link.PoolData(0, kLarge, kLarge), kLarge); });
    const auto* remote = reinterpret_cast<const std::byte*>(theirs->address);
    const auto fetch = [&](std::size_t offset, std::size_t bytes) {
      if (link.reach == Reach::kSameProcess) CopyBytes(landing.data(), remote + offset, bytes);
      if (link.reach == Reach::kSystemCall) {
        (void)sys::ReadProcessMemory(link.pid, remote + offset, landing.data(), bytes);
      }
    };
    fresh_large.Time([&] { fetch(0, kLarge); });
    fresh_small.Time([&] { fetch(kLarge, kSmall); });
    large.Time([&] { fetch(0, kLarge); });
    small.Time([&] { fetch(kLarge, kSmall); });
    Tell(fabric.own().header(), turn);
  }
  const Readings readings{pool.us(), fresh_large.us(), fresh_small.us(), large.us(), small.us()};
  std::memcpy(fabric.own().header()->notes, &readings, sizeof(readings));
  Tell(fabric.own().header(), kAgreed);
  return Status::Ok();
}

void MeasureOwnMemory(tune::Machine& machine) {
  std::vector<float> a(kLarge / sizeof(float), 1.0f), b(a.size(), 2.0f), c(a.size());
  const FoldFn fold = GetFold(DataType::kFloat32, ReduceOp::kSum);
  const void* operands[2] = {a.data(), b.data()};
  Least folding, copying;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    folding.Time([&] { fold(c.data(), operands, 2, a.size(), Stores::kCached); });
    copying.Time([&] { CopyBytes(c.data(), a.data(), kLarge); });
  }
  machine.fold_us_per_kib = Believable(folding.us() / (2 * kLargeKib), machine.fold_us_per_kib);
  machine.copy_us_per_kib = Believable(copying.us() / kLargeKib, machine.copy_us_per_kib);
}

// From what was measured to all constants. The protocols with flags move the same lines, with more work for each.
tune::Machine Derive(double write_us, const Readings& read, bool can_refer) {
  tune::Machine machine;
  MeasureOwnMemory(machine);
  const double built_in = machine.simple.write_us_per_kib + machine.simple.read_us_per_kib;
  machine.simple.write_us_per_kib = Believable(write_us / kLargeKib, machine.simple.write_us_per_kib);
  machine.simple.read_us_per_kib = Believable(read.pool_us / kLargeKib, machine.simple.read_us_per_kib);
  const double scale = (machine.simple.write_us_per_kib + machine.simple.read_us_per_kib) / built_in;
  for (tune::Way* way : {&machine.ll, &machine.ll128}) {
    way->write_us_per_kib *= scale;
    way->read_us_per_kib *= scale;
  }
  for (tune::Way* way : {&machine.ll, &machine.ll128, &machine.simple, &machine.reference}) way->hop_us *= scale;
  if (!can_refer) return machine;
  constexpr double kSpanKib = kLargeKib - kSmallKib;
  const double fresh = (read.fresh_large_us - read.fresh_small_us) / kSpanKib;
  const double again = (read.large_us - read.small_us) / kSpanKib;
  machine.reference_fresh_read_us_per_kib = Believable(fresh, machine.reference_fresh_read_us_per_kib);
  // Which of both it will be is up to the program: the mean.
  machine.reference.read_us_per_kib = Believable((fresh + again) / 2, machine.reference.read_us_per_kib);
  const double call_us = (read.fresh_small_us + read.small_us) / 2 - kSmallKib * machine.reference.read_us_per_kib;
  machine.reference.message_us = Believable(std::max(call_us, machine.simple.message_us), machine.reference.message_us);
  return machine;
}

// Rank 0: writes what rank 1 reads, then draws up the constants for everybody.
Status Write(Fabric& fabric, int reader, const WaitAtInit& wait) {
  Header* own = fabric.own().header();
  const Header* theirs = fabric.segment(reader).header();
  const auto told = [&](std::uint32_t what) {
    return wait([&, what] { return theirs->told.load(std::memory_order_acquire) >= what; },
                "waited for another rank to measure the machine");
  };
  std::vector<std::byte> source(kLarge + kSmall, std::byte{1}), memory(kLarge + kSmall);
  own->address = reinterpret_cast<std::uint64_t>(memory.data());
  Least pool;
  for (std::uint32_t turn = 1; turn <= kTries; ++turn) {
    pool.Time([&] { CopyBytes(fabric.own().pool(), source.data(), kLarge); });
    CopyBytes(memory.data(), source.data(), memory.size());
    fabric.PublishCpu(sys::CurrentCpu());
    Tell(own, turn);
    TUTTI_RETURN_IF_ERROR(told(turn));
  }
  TUTTI_RETURN_IF_ERROR(told(kAgreed));
  Readings readings;
  std::memcpy(&readings, theirs->notes, sizeof(readings));
  const tune::Machine machine = Derive(pool.us(), readings, fabric.EveryoneCanRefer());
  std::memcpy(own->notes, &machine, sizeof(machine));
  Tell(own, kAgreed);
  return Status::Ok();
}

}  // namespace

Result<tune::Machine> MeasureMachine(Fabric& fabric, const WaitAtInit& wait) {
  int reader = 1;
  while (reader < fabric.ranks() && fabric.IsRemote(reader)) ++reader;
  if (reader == fabric.ranks()) {
    tune::Machine machine;
    MeasureOwnMemory(machine);
    return machine;
  }
  if (fabric.rank() == 0) TUTTI_RETURN_IF_ERROR(Write(fabric, reader, wait));
  if (fabric.rank() == reader) TUTTI_RETURN_IF_ERROR(Read(fabric, wait));
  const Header* first = fabric.segment(0).header();
  TUTTI_RETURN_IF_ERROR(wait([&] { return first->told.load(std::memory_order_acquire) >= kAgreed; },
                             "waited for two ranks to measure the machine"));
  tune::Machine machine;
  std::memcpy(&machine, first->notes, sizeof(machine));
  return machine;
}

}  // namespace tutti::comm
