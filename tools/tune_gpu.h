// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TUNE_GPU_H_
#define TUTTI_TOOLS_TUNE_GPU_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tools/gpu_fit.h"
#include "tune/gpu_model.h"
#include "tutti/status.h"

namespace tutti::tools {

// `tutti tune --gpu`: measures every way to do every collective with `ranks` ranks on this machine's GPUs, in processes of their
// own, rank r on GPU r modulo the GPUs; fits a table and puts it into `file`, beside what is there, unless choices by the table
// before were better. 0 ranks: one for each GPU, at
// least 2. Returns what is to be printed. Takes about a minute. REQUIRES: this process has one thread and has not used a GPU.
Result<std::string> TuneGpu(const std::string& file, int ranks);

// The ways of those that are measured for a collective of so many bytes: LL is too slow for large ones, Simple for small ones.
bool IsMeasured(const tune::GpuChoice& way, std::size_t bytes);
// The sizes of the larger of the two buffers, bytes.
std::span<const std::size_t> MeasuredSizes();
// The count of float elements, of an operation whose larger buffer has so many bytes.
std::size_t MeasuredCount(Collective collective, std::size_t bytes, int ranks);

// What a fit comes to: the changed constants, and how good predictions and choices were and are.
std::string DescribeFit(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements,
                        const tune::GpuTable& before, const tune::GpuTable& after);

// The table of a situation with a name of its own.
tune::GpuTable TableOf(const tune::GpuSituation& situation, const tune::GpuMachine& machine);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TUNE_GPU_H_
