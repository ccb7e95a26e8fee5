// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/xml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <optional>
#include <sstream>

#include "base/one_line.h"
#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kMostShown = 60;
constexpr std::size_t kMostNotes = 100;
constexpr std::size_t kMostDepth = 256;

std::optional<std::int64_t> Whole(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  if (text.starts_with('-')) return std::nullopt;
  const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text, hexadecimal ? 16 : 10);
  return minus && number ? -*number : number;
}

// By a stream, since std::from_chars would make libnccl.so.2 need libm, and strtod goes by the program's locale.
std::optional<double> Real(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double number = 0;
  if (!(stream >> std::noskipws >> number) || stream.peek() != std::istringstream::traits_type::eof()) return {};
  return number;
}

}  // namespace

std::string Shown(std::string_view value) {
  std::string shown(value.substr(0, kMostShown));
  ReplaceControls(shown, '?');
  return value.size() > kMostShown ? shown + "..." : shown;
}

Status XmlFile::Parse(std::string_view text, std::span<const XmlRule> rules) {
  lines_.push_back(0);
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    lines_.push_back(static_cast<std::ptrdiff_t>(at) + 1);
  }
  const pugi::xml_parse_result result =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    const bool empty = result.status == pugi::status_no_document_element;
    return Status(Code::kInvalidUsage, fmt::format("{}: this is no XML: {}", Place(empty ? 0 : result.offset),
                                                   empty ? "it has no element" : Lower(result.description())));
  }
  std::vector<pugi::xml_node> next = {document_.first_child()};  // at each depth
  while (!next.empty()) {
    const pugi::xml_node at = next.back();
    if (!at) {
      next.pop_back();
      continue;
    }
    next.back() = at.next_sibling();
    if (at.type() != pugi::node_element) {
      Note(at.parent(), "text between elements is passed over");
      continue;
    }
    const auto rule = std::ranges::find(rules, std::string_view(at.name()), &XmlRule::name);
    if (rule == rules.end()) {
      Note(at, "no such element is known, it is passed over");
      continue;
    }
    TUTTI_RETURN_IF_ERROR(CheckElement(at, *rule));
    if (next.size() == kMostDepth) {
      return Refuse(at, fmt::format("{} elements stand in each other, which no machine has", kMostDepth));
    }
    next.push_back(at.first_child());
  }
  return Status::Ok();
}

Status XmlFile::CheckElement(pugi::xml_node at, const XmlRule& rule) {
  for (const pugi::xml_attribute& attribute : at.attributes()) {
    if (std::ranges::find(rule.attributes, std::string_view(attribute.name())) != rule.attributes.end()) continue;
    Note(at, fmt::format("{} is no attribute that is known, it is passed over", Shown(attribute.name())));
  }
  const std::string_view parent = at.parent().name();
  if (std::ranges::find(rule.parents, parent) != rule.parents.end()) return Status::Ok();
  std::vector<std::string> places;
  for (const std::string_view place : rule.parents) {
    places.push_back(place.empty() ? "by itself" : fmt::format("in <{}>", place));
  }
  return Refuse(
      at, fmt::format("it stands {}; its place is {}",
                      parent.empty() ? "by itself" : fmt::format("in <{}>", Shown(parent)), fmt::join(places, " or ")));
}

std::string XmlFile::Place(std::ptrdiff_t offset) const {
  const auto line = std::ranges::upper_bound(lines_, std::max(offset, std::ptrdiff_t{0})) - 1;
  return fmt::format("{}:{}:{}", where_, line - lines_.begin() + 1, std::max(offset, std::ptrdiff_t{0}) - *line + 1);
}

Status XmlFile::Refuse(pugi::xml_node at, std::string_view sentence) const {
  // pugixml counts to the name, the element begins one before it.
  return Status(Code::kInvalidUsage,
                fmt::format("{}: <{}>: {}", Place(at.offset_debug() - 1), Shown(at.name()), sentence));
}

void XmlFile::Note(pugi::xml_node at, std::string_view sentence) {
  if (notes_.size() == kMostNotes) {
    ++left_out_;
    return;
  }
  notes_.push_back(Refuse(at, sentence).message());
}

std::vector<std::string> XmlFile::TakeNotes() {
  if (left_out_ > 0) notes_.push_back(fmt::format("{}: and {} more", where_, left_out_));
  return std::move(notes_);
}

Status XmlFile::Read(pugi::xml_node at, const char* attribute, int least, int most, int& number) const {
  const std::string_view value = Trim(at.attribute(attribute).value());
  if (value.empty()) return Status::Ok();
  const std::optional<std::int64_t> read = Whole(value);
  if (!read || *read < least || *read > most) {
    return Refuse(at, fmt::format("{}=\"{}\" is no whole number from {} to {}", attribute, Shown(value), least, most));
  }
  number = static_cast<int>(*read);
  return Status::Ok();
}

Status XmlFile::Read(pugi::xml_node at, const char* attribute, double least, double most, double& number) const {
  const std::string_view value = Trim(at.attribute(attribute).value());
  if (value.empty()) return Status::Ok();
  const std::optional<double> read = Real(value);
  if (!read || !(*read >= least && *read <= most)) {
    return Refuse(at, fmt::format("{}=\"{}\" is no number from {} to {}", attribute, Shown(value), least, most));
  }
  number = *read;
  return Status::Ok();
}

Status XmlFile::Require(pugi::xml_node at, const char* attribute, int least, int most, int& number) const {
  if (Trim(at.attribute(attribute).value()).empty()) return Refuse(at, fmt::format("it has no {}", attribute));
  return Read(at, attribute, least, most, number);
}

Status XmlFile::Require(pugi::xml_node at, const char* attribute, double least, double most, double& number) const {
  if (Trim(at.attribute(attribute).value()).empty()) return Refuse(at, fmt::format("it has no {}", attribute));
  return Read(at, attribute, least, most, number);
}

void XmlWriter::EndTag() {
  if (in_tag_) text_ += ">\n";
  in_tag_ = false;
}

void XmlWriter::Open(std::string_view name) {
  EndTag();
  text_ += fmt::format("{:{}}<{}", "", 2 * open_.size(), name);
  open_.emplace_back(name);
  in_tag_ = true;
}

void XmlWriter::Attribute(std::string_view name, std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    std::string_view bytes(&c, 1);
    if (c == '&') bytes = "&amp;";
    if (c == '<') bytes = "&lt;";
    if (c == '"') bytes = "&quot;";
    if (escaped.size() + bytes.size() > kMostXmlValue) break;
    escaped += bytes;
  }
  ReplaceControls(escaped, ' ');
  text_ += fmt::format(" {}=\"{}\"", name, escaped);
}

void XmlWriter::Close() {
  const std::string name = std::move(open_.back());
  open_.pop_back();
  text_ += in_tag_ ? "/>\n" : fmt::format("{:{}}</{}>\n", "", 2 * open_.size(), name);
  in_tag_ = false;
}

}  // namespace tutti::topo
