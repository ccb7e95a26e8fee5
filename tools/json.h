// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_JSON_H_
#define TUTTI_TOOLS_JSON_H_

// JSON as the tools write it; nothing here reads any. It is what they use of nlohmann's library, which costs every source
// that includes it seconds of compiling; json.cc alone does. The members of an object keep their order.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti::tools {

class Json {
 public:
  struct Member;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::uint64_t>(value)) {}
  // null where it is not finite: JSON has no such numbers.
  Json(double value) : value_(value) {}
  // Any bytes: what is no UTF-8 becomes U+FFFD.
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  Json(const std::vector<std::string>& values);
  // An object: {{"name", value}, ...}.
  Json(std::initializer_list<Member> members);
  static Json Array();

  // The member of this name, null where it is new. REQUIRES: this is an object, or null, which becomes one.
  Json& operator[](const std::string& name);
  // REQUIRES: this is an array.
  void Append(Json value);
  // Of an array or object: how many there are in it.
  std::size_t size() const { return items_.size(); }

  // The text, each level indented by so many more spaces, without a line's end behind it.
  std::string Dump(int indent) const;

 private:
  friend struct JsonText;
  friend struct JsonPickle;  // record_pickle.cc
  struct ArrayMark {};
  struct ObjectMark {};

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, ArrayMark, ObjectMark> value_;
  std::vector<std::string> names_;  // of an object: of its items
  std::vector<Json> items_;         // of an array or object
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_JSON_H_
