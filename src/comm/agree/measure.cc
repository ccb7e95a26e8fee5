// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/measure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "exec/cpu/fold.h"
#include "exec/cpu/stores_by_trial.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using transport::Reach;
using transport::shm::Fabric;
using transport::shm::Header;

// Fewer tries where they take longer than this together, as on a machine that is busy. But one says little: it touches pages for the first
// time, and another program may have come by.
constexpr std::uint32_t kTries = 8, kFewestTries = 3;
constexpr std::int64_t kEnoughNs = 5 * sys::kNsPerMs, kTooMuchNs = 25 * sys::kNsPerMs;
constexpr std::uint32_t kAgreed = 1U << 30;
constexpr int kHops = 8;
constexpr int kSpins = 500;  // before the core is given away: the other one is there, as a rule
constexpr std::size_t kLarge = std::size_t{64} << 10;
constexpr std::size_t kFetched = std::size_t{256} << 10;  // by reference: messages are longer
constexpr std::size_t kSmall = std::size_t{8} << 10;
constexpr double kLargeKib = kLarge / 1024.0, kFetchedKib = kFetched / 1024.0;
constexpr double kSmallKib = kSmall / 1024.0;
// A figure further than this from the built-in one is not believed.
constexpr double kMostOff = 40.0;

static_assert(std::is_trivially_copyable_v<tune::Machine> && sizeof(tune::Machine) <= transport::shm::kNoteBytes);

// The least time of several tries, us.
class Least {
 public:
  template <typename Call>
  void Time(Call&& call) {
    const std::int64_t begin_ns = sys::NowNs();
    call();
    Take(static_cast<double>(sys::NowNs() - begin_ns) / 1000);
  }
  void Take(double us) { us_ = std::min(us_, us); }
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

// What each of both ranks times: the mean of both counts.
struct Readings {
  double hop_us = 0;  // a word's way from a core to the other one
  // The pool: short messages, long ones, and long ones that are written past the caches.
  double short_write_us = 0, short_read_us = 0;
  double long_write_us = 0, long_read_us = 0;
  double streamed_write_us = 0, streamed_read_us = 0;
  // By reference: what the peer has just written, and what has been read before.
  double fresh_large_us = 0, fresh_small_us = 0;
  double large_us = 0, small_us = 0;
};
static_assert(sizeof(Readings) <= transport::shm::kNoteBytes);

// One of two ranks that measure at the same time, as they work at the same time in an operation: phase by phase.
class Measurer {
 public:
  Measurer(Fabric& fabric, int peer, const WaitAtInit& wait)
      : fabric_(fabric), peer_(peer), first_(fabric.rank() < peer), wait_(wait) {}

  Status Measure() {
    std::vector<std::byte> source(kFetched + kSmall, std::byte{1}), memory(kFetched + kSmall);
    fabric_.own().header()->address = reinterpret_cast<std::uint64_t>(memory.data());
    const std::int64_t begin_ns = sys::NowNs();
    for (std::uint32_t turn = 0; turn < kTries; ++turn) {
      fabric_.PublishCpu(sys::CurrentCpu());
      if (first_) Say(IsEnough(turn, sys::NowNs() - begin_ns) ? Next::kNothing : Next::kTry);
      TUTTI_RETURN_IF_ERROR(Meet());
      if (WhatIsNext() == Next::kNothing) break;
      // Ranks on one core share its caches, and would take figures that hold nowhere else.
      counts_ = fabric_.CpuOf(peer_) != sys::CurrentCpu() || sys::UsableCpus() == 1;
      if (!counts_ && !first_) StepAside(fabric_);
      TUTTI_RETURN_IF_ERROR(MeasureHop());
      TUTTI_RETURN_IF_ERROR(MeasurePool(source, kSmall, Stores::kCached, short_write_, short_read_));
      TUTTI_RETURN_IF_ERROR(MeasurePool(source, kLarge, Stores::kCached, long_write_, long_read_));
      TUTTI_RETURN_IF_ERROR(MeasurePool(source, kLarge, Stores::kNonTemporal, streamed_write_, streamed_read_));
      CopyBytes(memory.data(), source.data(), memory.size());
      TUTTI_RETURN_IF_ERROR(Meet());
      Time(fresh_large_, [&] { Fetch(0, kFetched); });
      Time(fresh_small_, [&] { Fetch(kFetched, kSmall); });
      Time(large_, [&] { Fetch(0, kFetched); });
      Time(small_, [&] { Fetch(kFetched, kSmall); });
      TUTTI_RETURN_IF_ERROR(Meet());
    }
    return Status::Ok();
  }

  Readings readings() const {
    return {.hop_us = hop_.us(),
            .short_write_us = short_write_.us(),
            .short_read_us = short_read_.us(),
            .long_write_us = long_write_.us(),
            .long_read_us = long_read_.us(),
            .streamed_write_us = streamed_write_.us(),
            .streamed_read_us = streamed_read_.us(),
            .fresh_large_us = fresh_large_.us(),
            .fresh_small_us = fresh_small_.us(),
            .large_us = large_.us(),
            .small_us = small_.us()};
  }
  // Waits until the other one has come as far.
  Status Meet() {
    Tell(fabric_.own().header(), ++met_);
    const Header* theirs = fabric_.segment(peer_).header();
    const auto there = [&] { return theirs->told.load(std::memory_order_acquire) >= met_; };
    for (int i = 0; i < kSpins; ++i) {
      if (there()) return Status::Ok();
      sys::CpuPause();
    }
    return wait_(there, "waited for another rank to measure the machine");
  }

 private:
  static bool IsEnough(std::uint32_t tries, std::int64_t took_ns) {
    return tries > 0 && took_ns > (tries < kFewestTries ? kTooMuchNs : kEnoughNs);
  }

  // What the first of both has decided. Said before a Meet; the other one looks after that.
  enum class Next : std::uint8_t { kTry, kNothing };
  void Say(Next next) { std::memcpy(fabric_.own().header()->notes, &next, sizeof(next)); }
  Next WhatIsNext() const {
    Next next;
    std::memcpy(&next, fabric_.segment(first_ ? fabric_.rank() : peer_).header()->notes, sizeof(next));
    return next;
  }

  template <typename Call>
  void Time(Least& least, Call&& call) {
    if (counts_) {
      least.Time(call);
    } else {
      call();
    }
  }

  // A word goes to and fro.
  Status MeasureHop() {
    TUTTI_RETURN_IF_ERROR(Meet());
    Status status;
    const std::int64_t begin_ns = sys::NowNs();
    for (int i = 0; i < kHops && status.ok(); ++i) status = Meet();
    if (counts_) hop_.Take(static_cast<double>(sys::NowNs() - begin_ns) / 1000 / kHops);
    return status;
  }

  Status MeasurePool(const std::vector<std::byte>& source, std::size_t bytes, Stores stores, Least& write,
                     Least& read) {
    Time(write, [&] { CopyBytes(fabric_.own().pool(), source.data(), bytes, stores); });
    TUTTI_RETURN_IF_ERROR(Meet());
    const transport::Incoming& link = fabric_.in(0, peer_);
    Time(read, [&] { CopyBytes(landing_.data(), link.PoolData(0, bytes, kLarge), bytes); });
    return Meet();
  }

  void Fetch(std::size_t offset, std::size_t bytes) {
    const transport::Incoming& link = fabric_.in(0, peer_);
    const auto* remote = reinterpret_cast<const std::byte*>(fabric_.segment(peer_).header()->address);
    if (link.reach == Reach::kSameProcess) CopyBytes(landing_.data(), remote + offset, bytes);
    if (link.reach == Reach::kSystemCall) {
      (void)sys::ReadProcessMemory(link.thread, remote + offset, landing_.data(), bytes);
    }
  }

  Fabric& fabric_;
  const int peer_;
  const bool first_;
  const WaitAtInit& wait_;
  std::uint32_t met_ = 0;
  bool counts_ = true;
  std::vector<std::byte> landing_ = std::vector<std::byte>(kFetched);
  Least hop_, short_write_, short_read_, long_write_, long_read_, streamed_write_, streamed_read_;
  Least fresh_large_, fresh_small_, large_, small_;
};

// What is timed here takes so much of that in an operation, which does other things in between.
constexpr double kInTurn = 0.75;

void MeasureOwnMemory(tune::Machine& machine) {
  std::vector<float> a(kLarge / sizeof(float), 1.0f), b(a.size(), 2.0f), c(a.size());
  const FoldFn fold = GetFold(DataType::kFloat32, ReduceOp::kSum);
  const void* operands[2] = {a.data(), b.data()};
  Least folding, copying;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    folding.Time([&] { fold(c.data(), operands, 2, a.size(), Stores::kCached); });
    copying.Time([&] { CopyBytes(c.data(), a.data(), kLarge); });
  }
  machine.fold_us_per_kib = Believable(kInTurn * folding.us() / (2 * kLargeKib), machine.fold_us_per_kib);
  machine.copy_us_per_kib = Believable(copying.us() / kLargeKib, machine.copy_us_per_kib);
}

// From what was measured to all constants. The factors make the model choose as well as it can by the times of all ways on two
// machines (tests/tune/measured): an EPYC with 2 cores and 2 and 4 ranks, and a Xeon with 16 cores and 2 to 16 ranks.
constexpr double kUnloaded = 0.9;  // what is written and read is a little less in the way than when only that is done
// Operations write long messages to pages that have left their reader's closest cache meanwhile.
constexpr double kColder = 0.56;
constexpr double kReadAhead = 0.85, kReadAheadOfMemory = 0.63;

void DeriveProtocols(tune::Machine& machine, const Readings& read) {
  tune::Way &ll = machine.ll, &ll128 = machine.ll128, &simple = machine.simple;
  const double write_us_per_kib = Believable(read.short_write_us / kSmallKib, simple.write_us_per_kib);
  const double read_us_per_kib = Believable(read.short_read_us / kSmallKib, simple.read_us_per_kib);
  // The protocols with flags move the same lines with more work for each.
  const double moved_us_per_kib = write_us_per_kib + read_us_per_kib;
  ll.write_us_per_kib = ll.read_us_per_kib = 0.3 + 1.5 * moved_us_per_kib;
  ll128.write_us_per_kib = ll128.read_us_per_kib = 0.036 + 0.53 * moved_us_per_kib;
  // As exec/cpu/stores_by_trial.h decides.
  const bool streams =
      exec::cpu::StoresByTrial::PaysPastCaches(read.long_write_us / kLargeKib, read.streamed_write_us / kLargeKib);
  const double long_write_us = streams ? read.streamed_write_us : kColder * read.long_write_us;
  const double long_read_us = streams ? kReadAheadOfMemory * read.streamed_read_us : kReadAhead * read.long_read_us;
  simple.long_write_us_per_kib = Believable(long_write_us / kLargeKib, simple.write_us_per_kib);
  simple.long_read_us_per_kib = Believable(long_read_us / kLargeKib, simple.read_us_per_kib);
  simple.write_us_per_kib = kUnloaded * write_us_per_kib;
  simple.read_us_per_kib = kUnloaded * read_us_per_kib;
  const double raw_us = Believable(read.hop_us, ll.hop_us);
  ll.hop_us = 0.045 + 1.4 * raw_us;
  ll128.hop_us = 1.15 * ll.hop_us;
  simple.hop_us = machine.reference.hop_us = 1.3 * ll.hop_us;
  ll.message_us = 0.04 + 0.15 * raw_us;
  ll128.message_us = 1.14 * ll.message_us;
  simple.message_us = 1.6 * ll.message_us;
}

tune::Machine Derive(const Readings& read, bool can_refer) {
  tune::Machine machine;
  MeasureOwnMemory(machine);
  DeriveProtocols(machine, read);
  if (!can_refer) return machine;
  constexpr double kSpanKib = kFetchedKib - kSmallKib;
  const double fresh = (read.fresh_large_us - read.fresh_small_us) / kSpanKib;
  const double again = (read.large_us - read.small_us) / kSpanKib;
  machine.reference_fresh_read_us_per_kib = Believable(fresh, machine.reference_fresh_read_us_per_kib);
  // Which of both it will be is up to the program: the mean.
  machine.reference.read_us_per_kib = Believable((fresh + again) / 2, machine.reference.read_us_per_kib);
  const double call_us = (read.fresh_small_us + read.small_us) / 2 - kSmallKib * machine.reference.read_us_per_kib;
  machine.reference.message_us =
      Believable(std::max(kInTurn * call_us, machine.simple.message_us), machine.reference.message_us);
  return machine;
}

Readings MeanOf(const Readings& a, const Readings& b) {
  static_assert(sizeof(Readings) % sizeof(double) == 0);
  using Doubles = std::array<double, sizeof(Readings) / sizeof(double)>;
  auto mean = std::bit_cast<Doubles>(a);
  const auto others = std::bit_cast<Doubles>(b);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + others[i]) / 2;
  return std::bit_cast<Readings>(mean);
}

// Rank 0 and `reader`. Rank 0 draws up the constants for everybody.
Status MeasureTogether(Fabric& fabric, int reader, const WaitAtInit& wait) {
  const bool first = fabric.rank() == 0;
  Measurer measurer(fabric, first ? reader : 0, wait);
  TUTTI_RETURN_IF_ERROR(measurer.Measure());
  Header* own = fabric.own().header();
  if (!first) {
    const Readings readings = measurer.readings();
    std::memcpy(own->notes, &readings, sizeof(readings));
    return measurer.Meet();
  }
  TUTTI_RETURN_IF_ERROR(measurer.Meet());
  Readings theirs;
  std::memcpy(&theirs, fabric.segment(reader).header()->notes, sizeof(theirs));
  const tune::Machine machine = Derive(MeanOf(measurer.readings(), theirs), fabric.EveryoneCanRefer());
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
  if (fabric.rank() == 0 || fabric.rank() == reader) TUTTI_RETURN_IF_ERROR(MeasureTogether(fabric, reader, wait));
  const Header* first = fabric.segment(0).header();
  TUTTI_RETURN_IF_ERROR(wait([&] { return first->told.load(std::memory_order_acquire) >= kAgreed; },
                             "waited for two ranks to measure the machine"));
  tune::Machine machine;
  std::memcpy(&machine, first->notes, sizeof(machine));
  return machine;
}

}  // namespace tutti::comm
