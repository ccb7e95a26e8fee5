// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_MEASURE_PLACE_H_
#define TUTTI_COMM_GPU_MEASURE_PLACE_H_

// Where a GPU is in its host, by what it takes from the memory of each NUMA node: for machines that do not say it, as many virtual
// ones.

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "comm/agree/host_graph.h"
#include "sys/cuda/cuda.h"
#include "topo/measured.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti {
class Communicator;
}

namespace tutti::comm {

using BusId = std::array<char, 32>;  // with a zero at its end

// Whose context must be the thread's current one.
struct GpuToMeasure {
  const sys::cuda::Driver& driver;
  sys::cuda::Device device;
  sys::cuda::Stream stream;  // for copies
};

// Where the system does not say of a GPU of `bus_ids` where it is, each rank measures its own GPU, and each remembers what all have found
// (host_graph.h). Rank 0 decides whether it is needed. `bus_ids`: of all ranks, on one host. Collective; an error is the same on all
// ranks.
Status MeasurePlaces(const GpuToMeasure& own, Communicator& communicator, const Settings& settings,
                     std::span<const BusId> bus_ids, const HostPlaces& places = {});

inline constexpr std::size_t kMostNumas = 16;  // more are not looked at

// GB/s from the memory of each of the NUMA nodes that were asked for; 0: it could not be measured.
using NumaReadings = std::array<double, kMostNumas>;

// `numas`: their numbers; -1: memory of whatever node. Takes about 1 ms for each, and 2 MiB of each one's memory and of the GPU's until the
// process ends: to give them back would wait for the kernels of all other communicators. Waits for what is in `stream` before, and for
// nothing else on the GPU. Threads: any.
NumaReadings MeasureFromNumas(const GpuToMeasure& gpu, std::span<const int> numas);

// A GPU is nearest to the node from where it takes most, if it takes clearly less from the second one.
topo::MeasuredGpu PlaceOf(std::string bus_id, std::span<const int> numas, const NumaReadings& readings);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_MEASURE_PLACE_H_
