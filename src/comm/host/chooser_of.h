// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_CHOOSER_OF_H_
#define TUTTI_COMM_HOST_CHOOSER_OF_H_

#include <memory>

namespace tutti {
class Communicator;
namespace tune {
class Chooser;
}
}  // namespace tutti

namespace tutti::comm {

// A copy of what a communicator's choices in host memory are made by, for use while other threads use the communicator.
std::shared_ptr<tune::Chooser> ChooserOf(Communicator& communicator);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_CHOOSER_OF_H_
