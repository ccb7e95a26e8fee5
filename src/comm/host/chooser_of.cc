// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/chooser_of.h"

#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "tune/chooser.h"

namespace tutti::comm {

std::shared_ptr<tune::Chooser> ChooserOf(Communicator& communicator) {
  return std::make_shared<tune::Chooser>(communicator.impl()->planner.chooser());
}

}  // namespace tutti::comm
