// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace tutti::tools {

using Tree = nlohmann::ordered_json;

// What nlohmann's library makes of a value.
struct JsonText {
  static Tree TreeOf(const Json& json) {
    return std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, Json::ArrayMark>) {
            Tree tree = Tree::array();
            for (const Json& item : json.items_) tree.push_back(TreeOf(item));
            return tree;
          } else if constexpr (std::is_same_v<Value, Json::ObjectMark>) {
            Tree tree = Tree::object();
            for (std::size_t i = 0; i < json.items_.size(); ++i) tree[json.names_[i]] = TreeOf(json.items_[i]);
            return tree;
          } else {
            return Tree(value);
          }
        },
        json.value_);
  }
};

Json::Json(const std::vector<std::string>& values) : value_(ArrayMark{}), items_(values.begin(), values.end()) {}

Json::Json(std::initializer_list<Member> members) : value_(ObjectMark{}) {
  for (const Member& member : members) {
    names_.push_back(member.name);
    items_.push_back(member.value);
  }
}

Json Json::Array() {
  Json array;
  array.value_ = ArrayMark{};
  return array;
}

Json& Json::operator[](const std::string& name) {
  value_ = ObjectMark{};
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return items_[static_cast<std::size_t>(found - names_.begin())];
  names_.push_back(name);
  return items_.emplace_back();
}

void Json::Append(Json value) { items_.push_back(std::move(value)); }

std::string Json::Dump(int indent) const {
  return JsonText::TreeOf(*this).dump(indent, ' ', false, Tree::error_handler_t::replace);
}

}  // namespace tutti::tools
