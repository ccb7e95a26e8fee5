// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/by_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/gpu/across_hosts.h"

namespace tutti::comm {

using sys::cuda::Stream;
using Over = GpuAcrossHosts::Over;

GpuByHosts::GpuByHosts(const sys::cuda::Driver* driver, const HostShape& shape, GpuAcrossHosts& across,
                       RunWithin within)
    : driver_(*driver), shape_(shape), across_(across), within_(std::move(within)), sides_(driver) {}

GpuByHosts::~GpuByHosts() {
  for (const Memory& memory : scratch_) driver_.MemFree(reinterpret_cast<sys::cuda::Address>(memory.data));
}

std::size_t GpuByHosts::device_bytes() const {
  std::size_t bytes = 0;
  for (const Memory& memory : scratch_) bytes += memory.bytes;
  return bytes;
}

std::string GpuByHosts::Explain(const Operation& o) const {
  if (GoesInStages(o, shape_)) return "on each host, then through host memory";
  if (IsTransfer(o.kind) && shape_.HostOf(o.root) == shape_.host) return "direct";
  if (!AsTransfers(o, shape_).empty()) return "direct on each host, through host memory between hosts";
  return "through host memory";
}

// Twice as much as before at least, so that what is outgrown is less than what is in use.
Result<std::byte*> GpuByHosts::Scratch(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (!scratch_.empty() && scratch_.back().bytes >= bytes) return scratch_.back().data;
  const std::size_t all = std::max(bytes, scratch_.empty() ? 0 : 2 * scratch_.back().bytes);
  sys::cuda::Address address = 0;
  // An allocation is not an operation of a stream; a capture by this thread may go on.
  int mode = sys::cuda::kRelaxedCapture;
  driver_.ThreadExchangeStreamCaptureMode(&mode);
  const int result = driver_.MemAlloc(&address, all);
  driver_.ThreadExchangeStreamCaptureMode(&mode);
  TUTTI_RETURN_IF_ERROR(
      sys::cuda::Check(driver_, result, fmt::format("{} bytes of memory for sums of a host", all).c_str()));
  scratch_.push_back({reinterpret_cast<std::byte*>(address), all});
  return scratch_.back().data;
}

Status GpuByHosts::Run(std::span<const Operation> operations, const ProgramCalls& calls, Stream stream) {
  near_.clear();
  far_.clear();
  const auto add_transfer = [&](const Operation& o) {
    const bool is_near = shape_.HostOf(o.root) == shape_.host;
    (is_near ? near_ : far_).push_back(o);
    if (is_near) near_.back().root = shape_.PlaceOf(o.root);
  };
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) add_transfer(o);
    for (const Operation& transfer : AsTransfers(o, shape_)) add_transfer(transfer);
  }
  TUTTI_RETURN_IF_ERROR(RunTransfers(calls, stream));
  far_.clear();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    if (IsTransfer(o.kind) || !AsTransfers(o, shape_).empty()) continue;
    if (!GoesInStages(o, shape_)) {
      far_.push_back(o);
      continue;
    }
    TUTTI_RETURN_IF_ERROR(across_.Run(Over::kAll, far_, calls, stream));
    far_.clear();
    TUTTI_RETURN_IF_ERROR(RunStages(o, calls.Only(i), stream));
  }
  return across_.Run(Over::kAll, far_, calls, stream);
}

// Those within the host beside the others: neither may wait for the other, as of a group's sends and receives none does.
Status GpuByHosts::RunTransfers(const ProgramCalls& calls, Stream stream) {
  if (near_.empty()) return across_.Run(Over::kAll, far_, calls, stream);
  if (far_.empty()) return within_(near_, calls, stream);
  const Result<exec::gpu::SideStreams::Side> side = sides_.Fork(stream);
  if (!side.ok()) return side.status();
  TUTTI_RETURN_IF_ERROR(within_(near_, calls, side->stream));
  TUTTI_RETURN_IF_ERROR(sides_.End(*side));
  TUTTI_RETURN_IF_ERROR(across_.Run(Over::kAll, far_, calls, stream));
  return sides_.Join(*side, stream);
}

Status GpuByHosts::RunStages(const Operation& o, const ProgramCalls& call, Stream stream) {
  const Result<std::byte*> scratch = Scratch(ScratchBytes(o, shape_));
  if (!scratch.ok()) return scratch.status();
  const HostStages stages = CutIntoStages(o, shape_, *scratch);
  if (!stages.before.empty()) TUTTI_RETURN_IF_ERROR(within_(stages.before, call, stream));
  TUTTI_RETURN_IF_ERROR(across_.Run(Over::kRail, stages.between, call, stream));
  if (!stages.after.empty()) TUTTI_RETURN_IF_ERROR(within_(stages.after, call, stream));
  return Status::Ok();
}

}  // namespace tutti::comm
