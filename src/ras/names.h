// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_NAMES_H_
#define TUTTI_RAS_NAMES_H_

// Words that the text and the JSON have in common.

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::ras {

// The version of NCCL whose interface the library has, and its own: "2.28.9", "0.1.0".
std::string_view NcclVersion();
std::string_view TuttiVersion();

// "2026-11-26 14:10:58", in local time as NCCL has it.
std::string LocalTime(std::int64_t unix_ns);

// Bits of CommunicatorReport::errors: "OK", "INCOMPLETE,MISMATCH".
std::string ErrorNames(unsigned errors);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_NAMES_H_
