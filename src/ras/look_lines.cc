// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/look_lines.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/words.h"

namespace tutti::ras {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kHead = "LOOK ";

}  // namespace

std::string ToLines(std::span<const std::byte> message) {
  std::string text = std::string(kHead) + std::to_string(message.size()) + "\n";
  text.reserve(text.size() + message.size() * 2 + message.size() / kLineBytes + 1);
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(message[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
    if ((i + 1) % kLineBytes == 0 || i + 1 == message.size()) text += '\n';
  }
  return text;
}

Result<std::vector<std::byte>> FromLines(std::string_view text) {
  const Status wrong(Code::kInvalidArgument, "this is no look in lines");
  const std::size_t end = text.find('\n');
  if (!text.starts_with(kHead) || end == std::string_view::npos) return wrong;
  const std::optional<std::uint64_t> size = ParseNumber<std::uint64_t>(text.substr(kHead.size(), end - kHead.size()));
  text.remove_prefix(end + 1);
  if (!size || *size > text.size() / 2) return wrong;
  std::vector<std::byte> message;
  message.reserve(*size);
  while (message.size() < *size) {
    const std::size_t in_line = std::min<std::size_t>(kLineBytes, *size - message.size());
    if (text.size() <= 2 * in_line || text[2 * in_line] != '\n') return wrong;
    for (std::size_t i = 0; i < in_line; ++i) {
      const std::size_t high = kDigits.find(text[2 * i]), low = kDigits.find(text[2 * i + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) return wrong;
      message.push_back(static_cast<std::byte>(high << 4 | low));
    }
    text.remove_prefix(2 * in_line + 1);
  }
  if (!text.empty()) return wrong;
  return message;
}

}  // namespace tutti::ras
