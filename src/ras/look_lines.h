// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_LOOK_LINES_H_
#define TUTTI_RAS_LOOK_LINES_H_

// A message of bytes among lines of text, as a RAS client is told one:
//
//   LOOK 1234                 how many bytes
//   0a1b2c...                 they, two digits each, kLineBytes of them in a line, the last line shorter

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::ras {

inline constexpr std::string_view kAskForLook = "TUTTI LOOK";
inline constexpr std::size_t kLineBytes = 480;

std::string ToLines(std::span<const std::byte> message);
// kInvalidArgument where it is not what ToLines writes, whole.
Result<std::vector<std::byte>> FromLines(std::string_view text);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_LOOK_LINES_H_
