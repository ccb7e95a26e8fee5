// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_MEASURE_H_
#define TUTTI_COMM_AGREE_MEASURE_H_

// The constants of the cost model that matter most and differ most between machines, measured anew by every
// communicator at init: what it costs to write pages that a peer has read, to read pages that a peer has written, and
// to read a peer's own memory. Takes some milliseconds at most; `tutti tune --calibrate` measures all constants, with more
// care, and stores them.

#include <functional>

#include "tune/machine.h"
#include "tutti/status.h"

namespace tutti::transport::shm {
class Fabric;
}

namespace tutti::comm {

// Waits until `ready`; an error where that does not happen in time or a peer is gone. `what` completes "rank 3 ...".
using WaitAtInit = std::function<Status(const std::function<bool()>& ready, const char* what)>;

// Called by every rank of rank 0's host, once these are connected: rank 0 and the next one measure, the others wait. The same
// result on all of them. A rank 0 that is alone on its host measures its own memory only.
// Both measure at the same time, as they work at the same time in an operation. A figure is the mean of what both find, and each one's
// is the least of several tries, so that other load on the machine does little harm. Constants that are not measured follow from those
// that are, or are the built-in ones.
Result<tune::Machine> MeasureMachine(transport::shm::Fabric& fabric, const WaitAtInit& wait);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_MEASURE_H_
