// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a GpuCommunicator is connected with its peers': over the GPUs' own memory, or else over the host's.
#include <string>

#include "base/log.h"
#include "comm/gpu/graph.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/log_links.h"
#include "comm/gpu/segments.h"
#include "transport/p2p/fabric.h"
#include "tutti/settings.h"

namespace tutti {
namespace {

using transport::p2p::Memory;

// Whether peer access is switched off.
bool ForbidsPeerAccess(const Settings& settings) {
  return settings.p2p_disable || settings.p2p_level == "LOC" || settings.p2p_level == "0";
}

}  // namespace

Status GpuCommunicator::Impl::Connect() {
  TUTTI_RETURN_IF_ERROR(Open());
  const sys::cuda::ScopedContext scope(driver, context.get());
  if (several_hosts) return ConnectAcrossHosts();
  TUTTI_RETURN_IF_ERROR(Load());

  std::string too_far;
  TUTTI_RETURN_IF_ERROR(comm::AskGraph(*this, communicator, too_far));
  if (!too_far.empty() && rank == 0) {
    TUTTI_INFO(log::kInit | log::kP2p | log::kGraph, "{} {}: operations on device memory go through host memory", who,
               too_far);
  }
  const bool staged = ranks > 1 && (ForbidsPeerAccess(settings) || !too_far.empty());
  Memory memory = staged ? Memory::kHost : Memory::kDevice;
  Status connected = ConnectSegments(memory);
  if (!staged && connected.code() == Code::kUnsupported) {  // so on all ranks
    if (rank == 0) {
      TUTTI_WARN(
          "{} some GPUs do not reach each other: {}. Operations on device memory go through host memory, which is "
          "slower",
          who, connected.message());
    }
    memory = Memory::kHost;
    connected = ConnectSegments(memory);
  }
  if (connected.code() == Code::kUnsupported) connected = ConnectSegments(Memory::kPages);
  TUTTI_RETURN_IF_ERROR(connected);
  TUTTI_RETURN_IF_ERROR(SetUp());
  using enum comm::SegmentsIn;
  comm::LogGpuLinks(*this, limits.most_blocks, memory == Memory::kDevice ? kDeviceMemory : kHostMemory);
  return Status::Ok();
}

// The same error on all ranks; kUnsupported where two GPUs do not reach each other's memory.
Status GpuCommunicator::Impl::ConnectSegments(Memory memory) {
  const bool staged = memory != Memory::kDevice;
  const Result<std::shared_ptr<const tune::GpuMachine>> agreed = comm::AgreeOnMachine(communicator, *this, staged);
  if (!agreed.ok()) return agreed.status();
  machine = *agreed;
  return comm::ConnectSegments({.driver = driver,
                                .device = device,
                                .rank = rank,
                                .sections = comm::SectionsFor(ranks, *machine, options, settings),
                                .force_ipc = options.legacy_ipc,
                                .memory = memory},
                               *this, exchange, words, submitter);
}

}  // namespace tutti
