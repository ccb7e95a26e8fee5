// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

// The number of bytes of the UTF-8 character that `text` begins with; 0 where it does not begin with one.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text, std::size_t room) {
  const std::size_t limit = room == std::string::npos ? room : out.size() + room;
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    std::string piece;
    if (length == 0) {
      piece = "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      piece = {'\\', text[0]};
    } else if (c < 0x20) {
      piece = fmt::format("\\u{:04x}", c);
    } else {
      piece = text.substr(0, length);
    }
    if (out.size() + piece.size() > limit) return;
    out += piece;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace tutti
