// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PREDICT_H_
#define TUTTI_COMM_HOST_PREDICT_H_

// How long operations that are called as one take by the cost model, us. What ncclGroupSimulateEnd and the tools say.
//
// A way is chosen for a class of sizes (comm/host/size_class.h) and predicted for the size itself.

#include <cstddef>
#include <functional>
#include <span>

#include "tune/choice.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::tune {
class Chooser;
}

namespace tutti::comm {

// Bytes of the sends of a group, or of its receives, whichever are more: both take place at the same time.
struct Transferred {
  std::size_t bytes = 0;    // of all
  std::size_t largest = 0;  // of one
};
Transferred MostTransferred(std::span<const Operation> operations);

// As Chooser::Choose, for the class of so many bytes.
using ChooseWay = std::function<Result<tune::Choice>(Collective collective, std::size_t bytes)>;

// Operations in host memory: collectives one after the other, sends and receives as one. `choose`: how collectives are done; none: as
// the chooser has it. Fails where nothing can do a collective. REQUIRES: valid operations.
Result<double> PredictGroupUs(tune::Chooser& chooser, std::span<const Operation> operations,
                              const ChooseWay& choose = {});

// The chosen way of a collective, or of sends and receives for kSendRecv, of so many bytes.
Result<tune::Choice> ChooseForClass(tune::Chooser& chooser, Collective collective, std::size_t bytes);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PREDICT_H_
