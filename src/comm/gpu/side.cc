// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "base/log.h"
#include "comm/gpu/availability.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/impl.h"
#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "sys/os/clock.h"

namespace tutti::comm {

Result<GpuSide> MakeGpuSide(Communicator& communicator, const GpuWishes& wishes) {
  GpuSide made;
  Communicator::Impl& c = *communicator.impl();
  const bool mine = CanUseGpuFor(c);
  const bool beside = mine && wishes.beside_others && wishes.max_blocks == 0 && c.ranks > 1;
  const int wished = beside ? BlocksOfPart(c, wishes.device) : wishes.max_blocks;
  const int most = LeastSet(wished, wishes.shared_blocks, INT_MAX);
  // Whether this rank can use its GPU, and the most blocks that it wishes for; the least of all ranks holds.
  const int own[2] = {mine ? 1 : 0, most};
  int least[2];
  TUTTI_RETURN_IF_ERROR(GpuExchange(communicator).FindLeast(own, least));
  c.ledger.EndOwn();
  if (least[0] == 0) {
    if (mine) {
      TUTTI_WARN("{} has a GPU, but another rank has none that it can use: the communicator works on host memory only",
                 c.who);
    }
    if (const std::optional<std::string> why = WhyHostOnly(c)) {
      made.host_only = std::make_unique<HostOnly>(**sys::cuda::OpenDriver(), *why);
    }
    return made;
  }
  const std::int64_t begin_ns = sys::NowNs();
  GpuOptions gpu_options{.device = wishes.device};
  gpu_options.max_channels = std::min(gpu_options.max_channels, least[1]);
  constexpr int kZeroBlocks = 2;  // of NCCL_CTA_POLICY
  gpu_options.zero_ctas = c.settings.cta_policy >= 0 ? (c.settings.cta_policy & kZeroBlocks) != 0 : wishes.zero_blocks;
  Result<GpuCommunicator> gpu = GpuCommunicator::Create(communicator, gpu_options);
  if (!gpu.ok()) return gpu.status();
  c.ledger.EndOwn();
  const std::string over = gpu->host_bytes() == 0 ? "" : fmt::format(" over host memory ({} bytes)", gpu->host_bytes());
  TUTTI_INFO(log::kInit, "{} GPU {}{} device memory {} bytes, up to {} blocks{} - ready in {:.2f} ms", c.who,
             wishes.device, over, gpu->device_bytes(), gpu->impl()->limits.most_blocks,
             beside ? ", beside other communicators" : "", static_cast<double>(sys::NowNs() - begin_ns) / 1e6);
  made.gpu = std::move(*gpu);
  return made;
}

}  // namespace tutti::comm
