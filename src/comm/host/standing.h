// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_STANDING_H_
#define TUTTI_COMM_HOST_STANDING_H_

#include "tutti/communicator.h"

namespace tutti::comm {

// Communicator::WhoHoldsItUp, for any thread, also while others wait in calls.
StandingVerdict WhatStands(const Communicator::Impl& communicator);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_STANDING_H_
