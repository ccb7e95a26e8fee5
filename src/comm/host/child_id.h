// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_CHILD_ID_H_
#define TUTTI_COMM_HOST_CHILD_ID_H_

#include <string_view>

#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// The id of a communicator that some ranks of `parent` make: it follows from the parent's and from what this one is, the same on
// all of them. Where the parent's ranks are on several hosts they meet at the process of `first`, one of them by its rank in the
// parent, which begins to await them here.
Result<UniqueId> ChildId(const Communicator::Impl& parent, std::string_view what, int first);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_CHILD_ID_H_
