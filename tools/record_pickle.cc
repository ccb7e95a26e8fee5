// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_pickle.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace tutti::tools {
namespace {

// What the bytes of a pickle mean to its reader, which has a stack.
enum Opcode : char {
  kProtocol = '\x80',
  kMark = '(',
  kEmptyDict = '}',
  kSetItems = 'u',  // names and values above the mark go into the dict below it
  kEmptyList = ']',
  kAppends = 'e',  // the same for a list
  kText = 'X',     // 4 bytes of length, the text
  kInt = 'J',      // 4 bytes
  kLongInt = '\x8a',
  kFloat = 'G',  // 8 bytes, the highest first
  kTrue = '\x88',
  kFalse = '\x89',
  kNone = 'N',
  kStop = '.',
};
constexpr char kVersion = 2;

void AppendLittle(std::string& out, std::uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(bits >> 8 * i & 0xff);
}

void AppendText(std::string& out, const std::string& text) {
  out += kText;
  AppendLittle(out, text.size(), 4);
  out += text;
}

void AppendWhole(std::string& out, std::int64_t number) {
  if (number >= INT32_MIN && number <= INT32_MAX) {
    out += kInt;
    AppendLittle(out, static_cast<std::uint64_t>(number), 4);
  } else {
    out += kLongInt;
    out += '\x08';
    AppendLittle(out, static_cast<std::uint64_t>(number), 8);
  }
}

void AppendWhole(std::string& out, std::uint64_t number) {
  if (number <= INT64_MAX) return AppendWhole(out, static_cast<std::int64_t>(number));
  out += kLongInt;
  out += '\x09';
  AppendLittle(out, number, 8);
  out += '\0';  // it is not negative
}

void AppendFloat(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += kNone;  // as in JSON
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(number);
  out += kFloat;
  for (int i = 7; i >= 0; --i) out += static_cast<char>(bits >> 8 * i & 0xff);
}

}  // namespace

struct JsonPickle {
  static void Append(std::string& out, const Json& json) {
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::nullptr_t>) {
            out += kNone;
          } else if constexpr (std::is_same_v<Value, bool>) {
            out += value ? kTrue : kFalse;
          } else if constexpr (std::is_same_v<Value, double>) {
            AppendFloat(out, value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            AppendText(out, value);
          } else if constexpr (std::is_same_v<Value, Json::ArrayMark>) {
            out += kEmptyList;
            out += kMark;
            for (const Json& item : json.items_) Append(out, item);
            out += kAppends;
          } else if constexpr (std::is_same_v<Value, Json::ObjectMark>) {
            out += kEmptyDict;
            out += kMark;
            for (std::size_t i = 0; i < json.items_.size(); ++i) {
              AppendText(out, json.names_[i]);
              Append(out, json.items_[i]);
            }
            out += kSetItems;
          } else {
            AppendWhole(out, value);
          }
        },
        json.value_);
  }
};

std::string Pickle(const Json& value) {
  std::string out{kProtocol, kVersion};
  JsonPickle::Append(out, value);
  out += kStop;
  return out;
}

}  // namespace tutti::tools
