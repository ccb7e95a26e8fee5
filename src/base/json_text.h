// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_JSON_TEXT_H_
#define TUTTI_BASE_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti {

// Appends `text` as the inside of a JSON string, at most `room` bytes of it. Any bytes: what is no UTF-8 becomes U+FFFD, and no
// character is cut in two.
void AppendJsonText(std::string& out, std::string_view text, std::size_t room = std::string::npos);

}  // namespace tutti

#endif  // TUTTI_BASE_JSON_TEXT_H_
