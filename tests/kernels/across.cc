// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "exec/gpu/format/across.h"
#include "exec/gpu/launch/launcher.h"
#include "tests/kernels/call.h"
#include "tests/kernels/machine.h"

namespace tutti::tests {
namespace {

using exec::gpu::Across;
using exec::gpu::AcrossCopy;
using exec::gpu::kMostAcrossBytes;
using exec::gpu::kMostAcrossBytewise;
using exec::gpu::kMostAcrossCopies;
using exec::gpu::Plant;

// A thread loads from its own rank's memory. So pinned memory is in two parts: what the kernel reads is rank 0's, and what the
// host's thread reads is rank 1's.
constexpr int kGpu = 0, kHost = 1;
constexpr std::size_t kReadyAt = 0, kCapturedReadyAt = 64, kDoneAt = 128, kCapturedDoneAt = 192, kDataAt = 4096;
constexpr std::size_t kSegmentBytes = kDataAt + kMostAcrossBytes + std::size_t{kMostAcrossCopies} * 512;

// Bytes, and by how many the caller's memory and the pinned one miss their alignment.
struct Region {
  std::size_t bytes = 0, misalign = 0, pinned_misalign = 0;
};
struct Wanted {
  bool captured = false;
  std::vector<Region> in, out;
  int threads = 0;  // 0: as the library starts the kernel
};

// An operation as both sides play it.
struct Played {
  Across across{};
  std::vector<Buffer> in, out;
  std::vector<std::vector<std::byte>> results;  // that the host's thread stores
  std::string wrong;                            // what it has found
};

bool IsReady(const Across& a) {
  if (a.captured != 0) return exec::gpu::LoadAcquire8(a.ready) == a.ready_value;
  return exec::gpu::LoadAcquire4(a.ready) == static_cast<std::uint32_t>(a.ready_value);
}

// How many bytes from there on are one atom.
std::size_t AtomAt(const std::byte* at, std::size_t left) {
  return reinterpret_cast<std::uintptr_t>(at) % 8 == 0 && left >= 8 ? 8 : 1;
}

// Bytes of a region that have not come.
std::size_t Missing(const AcrossCopy& copy) {
  std::size_t missing = 0;
  for (std::size_t at = 0, step = 0; at < copy.bytes; at += step) {
    step = AtomAt(copy.to + at, copy.bytes - at);
    const std::uint64_t found = step == 8 ? exec::gpu::LoadShared8(copy.to + at) : exec::gpu::LoadShared1(copy.to + at);
    if (std::memcmp(&found, copy.from + at, step) != 0) missing += step;
  }
  return missing;
}

void StoreAll(const AcrossCopy& copy, const std::vector<std::byte>& result) {
  auto* to = const_cast<std::byte*>(copy.from);
  for (std::size_t at = 0, step = 0; at < copy.bytes; at += step) {
    step = AtomAt(to + at, copy.bytes - at);
    exec::gpu::host::Store(to + at, result.data() + at, static_cast<std::uint32_t>(step));
  }
}

void PlayHost(const void* argument) {
  if (exec::gpu::threadIdx.x != 0) return;
  Played& p = **static_cast<Played* const*>(argument);
  const Across& a = p.across;
  while (!IsReady(a)) exec::gpu::Pause(exec::gpu::kWaitedForData, 0, kGpu);
  for (int i = 0; i < a.ins; ++i) {
    const std::size_t missing = Missing(a.in[i]);
    if (missing > 0 && p.wrong.empty()) p.wrong = fmt::format("the host misses {} bytes of region {}", missing, i);
  }
  for (int i = 0; i < a.outs; ++i) StoreAll(a.out[i], p.results[static_cast<std::size_t>(i)]);
  if (a.captured != 0) exec::gpu::StoreShared8(a.ready, 0);
  exec::gpu::FenceSystem();
  exec::gpu::StoreShared4(a.done, a.done_value);
}

[[maybe_unused]] const bool g_known = Machine::Register("PlayHost", PlayHost);

std::string Describe(const Wanted& wanted) {
  std::string text = wanted.captured ? "captured" : "enqueued";
  for (const auto* regions : {&wanted.in, &wanted.out}) {
    text += regions == &wanted.in ? ", in" : ", out";
    for (const Region& r : *regions) text += fmt::format(" {}+{}/{}", r.bytes, r.misalign, r.pinned_misalign);
  }
  return text;
}

class AcrossMachine {
 public:
  // Runs these in a row, with this number as the first one's.
  std::string Run(const std::vector<Wanted>& all, std::uint32_t number, std::uint64_t seed, Plant plant) {
    Random random(seed);
    machine_.ResetMemory();
    for (const int rank : {kGpu, kHost}) {
      for (std::size_t at = kDataAt; at < kSegmentBytes; at += 8) Set(rank, at, random.Next(), 8);
    }
    Set(kHost, kReadyAt, number - 1, 4);
    Set(kHost, kCapturedReadyAt, 0, 8);
    Set(kGpu, kDoneAt, number - 1, 4);
    Set(kGpu, kCapturedDoneAt, random.Below(3), 4);  // of a call before
    std::vector<std::unique_ptr<Played>> played;
    for (const Wanted& wanted : all) {
      played.push_back(Make(wanted, random));
      Across& a = played.back()->across;
      a.captured = wanted.captured ? 1 : 0;
      a.done_value = wanted.captured ? 1 : number++;
      a.ready_value = wanted.captured ? std::uint64_t{7} << 32 | 1 : a.done_value;
      a.ready = machine_.segment(kHost) + (wanted.captured ? kCapturedReadyAt : kReadyAt);
      a.done = reinterpret_cast<std::uint32_t*>(machine_.segment(kGpu) + (wanted.captured ? kCapturedDoneAt : kDoneAt));
      const int threads = wanted.threads != 0 ? wanted.threads : exec::gpu::ThreadsPerBlock(a);
      if (!machine_.Launch(kGpu, "ncclTuttiAcross", a, 1, threads)) return "there is no ncclTuttiAcross";
      if (!machine_.Launch(kHost, "PlayHost", played.back().get(), 1, 32)) return "there is no PlayHost";
    }
    std::string error = machine_.Run(seed, plant);
    for (std::size_t i = 0; i < all.size() && error.empty(); ++i) error = Compare(*played[i]);
    if (error.empty()) return "";
    error = fmt::format("seed {}, between hosts: {}", seed, error);
    for (const Wanted& wanted : all) error += "\n  " + Describe(wanted);
    return error;
  }

 private:
  void Set(int rank, std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::memcpy(machine_.segment(rank) + at, &value, bytes);
  }

  std::unique_ptr<Played> Make(const Wanted& wanted, Random& random) {
    auto played = std::make_unique<Played>();
    Across& a = played->across;
    std::size_t at = kDataAt;
    for (const Region& r : wanted.in) {
      Buffer& buffer = played->in.emplace_back(r.bytes, r.misalign, random);
      buffer.expected().assign(buffer.at(), buffer.at() + r.bytes);
      std::byte* pinned = machine_.segment(kHost) + at + r.pinned_misalign;
      a.in[a.ins++] = {buffer.at(), pinned, static_cast<std::uint32_t>(r.bytes)};
      at += (r.bytes + 511) / 256 * 256;
    }
    at = kDataAt;
    for (const Region& r : wanted.out) {
      Buffer& buffer = played->out.emplace_back(r.bytes, r.misalign, random);
      for (std::size_t i = 0; i < r.bytes; ++i) buffer.expected().push_back(static_cast<std::byte>(random.Next()));
      played->results.push_back(buffer.expected());
      const std::byte* pinned = machine_.segment(kGpu) + at + r.pinned_misalign;
      a.out[a.outs++] = {pinned, buffer.at(), static_cast<std::uint32_t>(r.bytes)};
      at += (r.bytes + 511) / 256 * 256;
    }
    return played;
  }

  static std::string Compare(const Played& played) {
    if (!played.wrong.empty()) return played.wrong;
    for (const auto* buffers : {&played.in, &played.out}) {
      for (std::size_t i = 0; i < buffers->size(); ++i) {
        const std::string error = (*buffers)[i].Compare();
        if (!error.empty()) return fmt::format("{} region {}: {}", buffers == &played.in ? "in" : "out", i, error);
      }
    }
    return "";
  }

  Machine machine_{2, kSegmentBytes};
};

AcrossMachine& TheMachine() {
  static AcrossMachine& machine = *new AcrossMachine;
  return machine;
}

std::vector<Region> AnyRegions(Random& random) {
  std::vector<Region> regions(random.OneOf(3) ? random.Below(kMostAcrossCopies + 1) : 1);
  for (Region& r : regions) {
    r.bytes = random.Below(random.OneOf(3) ? 3000 : 100);
    if (random.OneOf(2)) continue;
    r.misalign = random.Below(16);
    r.pinned_misalign = random.Below(16);
  }
  return regions;
}

}  // namespace

std::string RunAcross(std::uint64_t seed, Plant plant) {
  Random random(seed);
  std::vector<Wanted> all(1 + random.Below(4));
  for (Wanted& wanted : all) {
    wanted = {.captured = random.OneOf(2), .in = AnyRegions(random), .out = AnyRegions(random)};
    if (random.OneOf(2)) wanted.threads = 32 << random.Below(3);
  }
  const std::uint32_t number = random.OneOf(2) ? 0 - random.Below(4) : 1 + random.Below(1000);  // they are modulo 2^32
  return TheMachine().Run(all, number, seed, plant);
}

std::string RunEveryAcross() {
  std::uint64_t seed = 0;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{31},
        std::size_t{333}, kMostAcrossBytewise - 1, kMostAcrossBytewise, kMostAcrossBytes - 1, kMostAcrossBytes}) {
    const std::size_t step = bytes > kMostAcrossBytewise ? 16 : bytes > 400 ? 5 : 1;
    for (std::size_t misalign = 0; misalign < 16; misalign += step) {
      for (const std::size_t pinned : {0, 1, 8}) {
        if (bytes > kMostAcrossBytewise && pinned != 0) continue;
        const std::vector<Region> regions{{bytes, misalign, pinned}};
        const Wanted wanted{.in = regions, .out = regions};
        Wanted captured = wanted;
        captured.captured = true;
        const std::string error = TheMachine().Run({wanted, captured, captured}, 1, ++seed, Plant::kNone);
        if (!error.empty()) return error;
      }
    }
  }
  return "";
}

}  // namespace tutti::tests
