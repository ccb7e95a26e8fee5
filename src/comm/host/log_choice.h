// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_LOG_CHOICE_H_
#define TUTTI_COMM_HOST_LOG_CHOICE_H_

#include <set>
#include <string>
#include <string_view>

#include "tutti/operation.h"

namespace tutti::comm {

// "AllReduce", as NCCL names its functions.
std::string_view NcclName(Collective kind);

// That a kind of call goes by this algorithm from now on: "Algorithm Ring, Protocol LL (AllReduce)". Once for each such line and
// `said`, the lines of one communicator.
void LogChoice(std::set<std::string>& said, Collective kind, std::string_view algorithm, std::string_view protocol);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_LOG_CHOICE_H_
