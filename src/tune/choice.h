// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_CHOICE_H_
#define TUTTI_TUNE_CHOICE_H_

#include <cstdint>
#include <string>

#include "proto/protocol.h"

namespace tutti::algo {
enum class Algorithm : std::uint8_t;
}

namespace tutti::tune {

// A way to do a collective.
struct Choice {
  algo::Algorithm algorithm{};
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;  // large blocks are read straight from the sender's memory
  int channels = 1;
  double predicted_us = 0;
};

// "two_shot Simple", "ring LL128, by reference".
std::string ToString(const Choice& choice);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_CHOICE_H_
