// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_ONE_LINE_H_
#define TUTTI_BASE_ONE_LINE_H_

#include <algorithm>
#include <string>

namespace tutti {

// Puts `substitute` in the place of every control character, line ends included: so text from outside stays one line.
inline void ReplaceControls(std::string& text, char substitute) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, substitute);
}

}  // namespace tutti

#endif  // TUTTI_BASE_ONE_LINE_H_
