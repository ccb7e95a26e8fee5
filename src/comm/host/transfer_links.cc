// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/transfer_links.h"

#include "comm/host/core.h"
#include "comm/host/transfer_trials.h"
#include "exec/cpu/engine.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

std::shared_ptr<TransferTrials> MakeTransferTrials(const Core& core) {
  constexpr int kChannel = exec::cpu::kTransferChannel;
  return std::make_shared<TransferTrials>(core.ranks, [&core](int peer) {
    return TransferTrials::Link{.own = core.fabric->in(kChannel, peer).credit,
                                .peers = core.fabric->out(kChannel, peer).credit};
  });
}

}  // namespace tutti::comm
