// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_GROUP_H_
#define TUTTI_CAPI_GROUP_H_

// The group of a thread: what was called since the outermost ncclGroupStart.

#include <functional>
#include <memory>
#include <vector>

#include "capi/handle.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::capi {

// A part of a communicator's life that takes a while: being made, split, finalized. Alone it runs at once; in a group,
// when the group ends, at the same time as the others.
struct LifeJob {
  std::shared_ptr<ncclComm> comm;    // what it makes or ends; null for a rank that a split leaves out
  std::shared_ptr<ncclComm> parent;  // null: none
  ncclComm_t* slot = nullptr;        // where the caller keeps `comm`; becomes NULL when it fails before it returns
  std::function<Status()> run;
  bool blocking = true;
};

// Runs a job, or keeps it for the end of the group, where those of one communicator run one after the other. With an error nothing is left behind. kInProgress where it goes on
// in the background.
Status RunOrDefer(LifeJob job);

// Runs what waits for peers now, or at the end of the group, behind everything that peers may wait for.
Status RunOrDeferWait(ncclComm& comm, std::function<Status()> wait);

// Takes comm down now, or when the group ends.
Status DestroyOrDefer(ncclComm& comm);

// Whether a data type exists.
Status CheckType(ncclDataType_t type);

// Begins an operation, or keeps it for the end of the group. `stream` counts for buffers that the GPU works on.
Status PostOrDefer(ncclComm* comm, const Operation& operation, cudaStream_t stream);

// Whether this thread is in a group.
bool InGroup();

void BeginGroup();
// Ends the group; the outermost runs what was kept.
Status EndGroup();

}  // namespace tutti::capi

#endif  // TUTTI_CAPI_GROUP_H_
