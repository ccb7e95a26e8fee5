// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/segments.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "comm/gpu/core.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/trial.h"
#include "sys/os/process.h"
#include "transport/p2p/fabric.h"

namespace tutti::comm {
namespace {

using transport::p2p::Fabric;
using transport::p2p::FabricOptions;
using transport::p2p::Identity;
using transport::p2p::Sections;

struct GpuGreeting {
  Identity identity;
  Sections sections;
};
static_assert(std::is_trivially_copyable_v<GpuGreeting>);

// Exchanges segments with all ranks. kUnsupported where one can not be reached.
Status MeetPeers(int rank, Fabric& fabric, GpuExchange& exchange) {
  const GpuGreeting greeting{.identity = fabric.identity(), .sections = fabric.sections()};
  return exchange.HandAround(
      std::as_bytes(std::span(&greeting, 1)), fabric.descriptor(),
      [&](int peer, const std::byte* offer, const sys::Fd& shared) -> Status {
        GpuGreeting theirs;
        std::memcpy(&theirs, offer, sizeof(theirs));
        if (std::memcmp(&theirs.sections, &greeting.sections, sizeof(Sections)) != 0) {
          return Status(Code::kInvalidUsage,
                        fmt::format("ranks {} and {} ask for different scratch_bytes or max_channels", rank, peer),
                        peer);
        }
        return fabric.Connect(peer, theirs.identity, shared);
      });
}

}  // namespace

Status ConnectSegments(const FabricOptions& options, GpuCore& core, GpuExchange& exchange, const GpuWords& words,
                       GpuSubmitter& submitter) {
  const sys::ProcessId self = sys::Self();
  FabricOptions own = options;
  own.process = self.pid;
  own.start = self.start_ticks;
  core.fabric.reset();
  Result<Fabric> created = Fabric::Create(own);
  if (created.ok()) core.fabric = std::make_shared<Fabric>(std::move(*created));
  TUTTI_RETURN_IF_ERROR(exchange.AgreeOnAll(created.status(), "could not get its GPU memory"));
  if (core.ranks == 1) return Status::Ok();

  TUTTI_RETURN_IF_ERROR(
      exchange.AgreeOnAll(MeetPeers(core.rank, *core.fabric, exchange), "could not reach a peer's GPU memory"));
  core.fabric->CloseDescriptor();
  return exchange.AgreeOnAll(TryPeers(core, words, submitter), "could not reach a peer's GPU");
}

}  // namespace tutti::comm
