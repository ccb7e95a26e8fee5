// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_TRANSFER_LINKS_H_
#define TUTTI_COMM_HOST_TRANSFER_LINKS_H_

#include <memory>

namespace tutti::comm {

struct Core;
class TransferTrials;

// Trials of a communicator's sends, which watch its links once it has some. `core` outlives them.
std::shared_ptr<TransferTrials> MakeTransferTrials(const Core& core);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_TRANSFER_LINKS_H_
