// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_timer.h"

#include <cstdint>
#include <span>
#include <utility>

#include "sys/os/clock.h"

namespace tutti::tools {

using sys::cuda::Check;

GpuTimer::GpuTimer(Communicator& communicator, const sys::cuda::Driver& driver)
    : communicator_(communicator), d_(driver) {
  d_.StreamCreate(&stream_, sys::cuda::kNonBlocking);
  d_.EventCreate(&begin_, 0);
  d_.EventCreate(&end_, 0);
}

GpuTimer::~GpuTimer() {
  d_.EventDestroy(begin_);
  d_.EventDestroy(end_);
  d_.StreamDestroy(stream_);
}

Result<GpuTimer::Batch> GpuTimer::Prepare(Enqueue enqueue, int operations, bool graph) {
  Batch batch{.enqueue = std::move(enqueue), .operations = operations};
  for (int i = 0; i < 2; ++i) TUTTI_RETURN_IF_ERROR(batch.enqueue(stream_));
  TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamSynchronize(stream_), "warming up"));
  if (!graph) return batch;
  sys::cuda::Graph captured = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamBeginCapture(stream_, sys::cuda::kThreadLocalCapture), "capturing"));
  Status status = Status::Ok();
  for (int i = 0; i < operations && status.ok(); ++i) status = batch.enqueue(stream_);
  TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamEndCapture(stream_, &captured), "ending a capture"));
  TUTTI_RETURN_IF_ERROR(status);
  TUTTI_RETURN_IF_ERROR(Check(d_, d_.GraphInstantiate(&batch.graph, captured, 0), "a graph"));
  d_.GraphDestroy(captured);
  return batch;
}

void GpuTimer::Forget(Batch& batch) {
  if (batch.graph != nullptr) d_.GraphExecDestroy(batch.graph);
  batch.graph = nullptr;
}

Result<GpuTimer::Timing> GpuTimer::Time(const Batch& batch) {
  TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
  d_.EventRecord(begin_, stream_);
  const std::int64_t begin_ns = sys::NowNs();
  if (batch.graph != nullptr) {
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.GraphLaunch(batch.graph, stream_), "replaying a graph"));
  } else {
    for (int i = 0; i < batch.operations; ++i) TUTTI_RETURN_IF_ERROR(batch.enqueue(stream_));
  }
  const std::int64_t called_ns = sys::NowNs() - begin_ns;
  d_.EventRecord(end_, stream_);
  TUTTI_RETURN_IF_ERROR(Check(d_, d_.EventSynchronize(end_), "timing"));
  float ms = 0;
  d_.EventElapsedTime(&ms, begin_, end_);
  const double own[] = {1000.0 * ms / batch.operations, static_cast<double>(called_ns) / 1000.0 / batch.operations};
  double slowest[2] = {};
  TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(std::span(own), std::span(slowest), ReduceOp::kMax)));
  return Timing{.us = slowest[0], .call_us = slowest[1]};
}

int OperationsFor(std::size_t bytes) {
  if (bytes <= std::size_t{1} << 20) return 50;
  if (bytes <= std::size_t{16} << 20) return 20;
  return bytes <= std::size_t{64} << 20 ? 8 : 3;
}

}  // namespace tutti::tools
