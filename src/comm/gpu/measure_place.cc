// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/measure_place.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/agree/bytes.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using sys::cuda::Address;
using sys::cuda::DeviceMemory;
using sys::cuda::Driver;

constexpr std::size_t kBytes = std::size_t{2} << 20;
constexpr int kTries = 4;
constexpr double kClearly = 1.1;

// What may not be given back before the process ends.
template <typename Memory>
const Memory& Keep(Memory memory) {
  struct Kept {
    std::mutex mutex;
    std::vector<Memory*> all;
  };
  static auto* const kept = new Kept;
  const std::lock_guard lock(kept->mutex);
  kept->all.push_back(new Memory(std::move(memory)));
  return *kept->all.back();
}

// GB/s by the quickest of some tries; 0: it could not be done.
double RateFrom(const Driver& driver, int numa, Address to, sys::cuda::Stream stream) {
  Result<sys::PrivatePages> made = sys::PrivatePages::Make(kBytes);
  if (!made.ok()) return 0;
  const sys::PrivatePages& pages = Keep(std::move(*made));
  if (numa >= 0 && !pages.PlaceOn(numa, kBytes)) return 0;
  std::memset(pages.data(), 1, kBytes);
  if (driver.MemHostRegister(pages.data(), kBytes, sys::cuda::kHostMapped) != 0) return 0;
  std::int64_t least_ns = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t begin_ns = sys::NowNs();
    if (driver.MemcpyAsync(to, reinterpret_cast<Address>(pages.data()), kBytes, stream) != 0 ||
        driver.StreamSynchronize(stream) != 0) {
      return 0;
    }
    const std::int64_t took_ns = std::max<std::int64_t>(sys::NowNs() - begin_ns, 1);
    least_ns = i == 0 ? took_ns : std::min(least_ns, took_ns);
  }
  return static_cast<double>(kBytes) / static_cast<double>(least_ns);
}

// The numbers of the NUMA nodes from which GPUs are to be measured, as rank 0 tells them.
struct NumasToTry {
  std::int32_t count = 0;  // 0: the system says enough
  std::array<std::int32_t, kMostNumas> numbers{};
};

NumasToTry WhatToMeasure(const Settings& settings, std::span<const BusId> bus_ids, const HostPlaces& places) {
  NumasToTry numas;
  const Result<std::shared_ptr<const HostGraph>> host = FindHostGraph(settings, GraphOf::kHostWithGpus, places);
  if (!host.ok()) return numas;
  const std::vector<std::string>& unsaid = (*host)->unsaid_gpus;
  const std::vector<int>& known = (*host)->numas;
  const bool wanted = std::ranges::any_of(bus_ids, [&](const BusId& bus_id) {
    return std::ranges::find(unsaid, std::string_view(bus_id.data())) != unsaid.end();
  });
  if (!wanted) return numas;
  numas.count = static_cast<std::int32_t>(std::min(known.size(), kMostNumas));
  std::copy_n(known.begin(), numas.count, numas.numbers.begin());
  return numas;
}

}  // namespace

Status MeasurePlaces(const GpuToMeasure& own, Communicator& communicator, const Settings& settings,
                     std::span<const BusId> bus_ids, const HostPlaces& places) {
  NumasToTry numas;
  if (communicator.rank() == 0) numas = WhatToMeasure(settings, bus_ids, places);
  TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kBroadcast, &numas, &numas, sizeof(numas))));
  if (numas.count == 0) return Status::Ok();
  const std::span<const int> numbers(numas.numbers.data(), static_cast<std::size_t>(numas.count));
  const NumaReadings found = MeasureFromNumas(own, numbers);
  std::vector<NumaReadings> readings(bus_ids.size());
  TUTTI_RETURN_IF_ERROR(communicator.Run(Bytes(Collective::kAllGather, &found, readings.data(), sizeof(found))));
  std::vector<topo::MeasuredGpu> measured;
  for (std::size_t rank = 0; rank < bus_ids.size(); ++rank) {
    measured.push_back(PlaceOf(bus_ids[rank].data(), numbers, readings[rank]));
  }
  RememberMeasured(settings, measured, places);
  return Status::Ok();
}

NumaReadings MeasureFromNumas(const GpuToMeasure& gpu, std::span<const int> numas) {
  NumaReadings readings{};
  const DeviceMemory::Way way = DeviceMemory::BestWay(&gpu.driver, gpu.device);
  Result<DeviceMemory> made = DeviceMemory::Create(&gpu.driver, gpu.device, kBytes, way);
  if (!made.ok()) return readings;
  const auto to = reinterpret_cast<Address>(Keep(std::move(*made)).data());
  for (std::size_t i = 0; i < std::min(numas.size(), readings.size()); ++i) {
    readings[i] = RateFrom(gpu.driver, numas[i], to, gpu.stream);
  }
  return readings;
}

topo::MeasuredGpu PlaceOf(std::string bus_id, std::span<const int> numas, const NumaReadings& readings) {
  topo::MeasuredGpu gpu{.bus_id = std::move(bus_id)};
  double second = 0;
  for (std::size_t i = 0; i < std::min(numas.size(), readings.size()); ++i) {
    if (readings[i] <= gpu.gb_per_s) {
      second = std::max(second, readings[i]);
      continue;
    }
    second = gpu.gb_per_s;
    gpu.gb_per_s = readings[i];
    gpu.numa = numas[i];
  }
  // With one node there is nothing to find out.
  if (second == 0 || gpu.gb_per_s < kClearly * second) gpu.numa = -1;
  return gpu;
}

}  // namespace tutti::comm
