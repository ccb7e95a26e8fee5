// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_XML_FILE_H_
#define TUTTI_TOPO_XML_FILE_H_

// What the readers and writers of NCCL's XML files share: an element's place in the text, its numbers, what is refused
// and what is noted and passed over; and elements as text.

#include <cstddef>
#include <cstdint>
#include <pugixml.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/status.h"

namespace tutti::topo {

// An element that a kind of files has, where it may stand, and what it may say.
struct XmlRule {
  std::string_view name;
  std::vector<std::string_view> parents;  // "": the file itself
  std::vector<std::string_view> attributes;
};

// A file as a tree of elements. Declarations, DOCTYPE and comments are passed over, and no entities but XML's own five
// are replaced. Threads: one at a time.
class XmlFile {
 public:
  // `where` names the file in sentences.
  explicit XmlFile(std::string where) : where_(std::move(where)) {}

  // Fails, with line and column, for what is no XML, for elements of the rules that stand where they may not, and for
  // more than 256 elements in each other, which no machine has: a PCI domain has 256 buses. Other elements, attributes
  // and text become notes. REQUIRES: called once.
  Status Parse(std::string_view text, std::span<const XmlRule> rules);
  pugi::xml_node root() const { return document_; }

  // "topo.xml:3:5: <pci>: ..."
  Status Refuse(pugi::xml_node at, std::string_view sentence) const;
  // As Refuse, for the reader of the notes. Of very many only the first are kept.
  void Note(pugi::xml_node at, std::string_view sentence);
  std::vector<std::string> TakeNotes();

  // Store an attribute's number. Where the attribute is missing or empty, `number` stays. Fail for what is no number,
  // or not within the bounds. Whole numbers are decimal, or hexadecimal with 0x.
  Status Read(pugi::xml_node at, const char* attribute, int least, int most, int& number) const;
  Status Read(pugi::xml_node at, const char* attribute, double least, double most, double& number) const;
  // As Read, and fails where there is none.
  Status Require(pugi::xml_node at, const char* attribute, int least, int most, int& number) const;
  Status Require(pugi::xml_node at, const char* attribute, double least, double most, double& number) const;

 private:
  Status CheckElement(pugi::xml_node at, const XmlRule& rule);
  std::string Place(std::ptrdiff_t offset) const;

  std::string where_;
  pugi::xml_document document_;
  std::vector<std::ptrdiff_t> lines_;  // where they begin
  std::vector<std::string> notes_;
  std::size_t left_out_ = 0;  // notes
};

// Bytes of a value that NCCL's parser has room for: it keeps 254, the closing quote among them (xmlGetValue in xml.cc).
inline constexpr std::size_t kMostXmlValue = 253;

// A value as sentences show it: at most 60 bytes, in one line.
std::string Shown(std::string_view value);

// Elements as NCCL's parser takes them: no declaration, and one blank between attributes. What is longer than
// kMostXmlValue is cut off.
class XmlWriter {
 public:
  void Open(std::string_view name);
  void Attribute(std::string_view name, std::string_view value);
  void Close();
  // REQUIRES: all that was opened is closed.
  std::string Take() { return std::move(text_); }

 private:
  void EndTag();

  std::string text_;
  std::vector<std::string> open_;
  bool in_tag_ = false;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_XML_FILE_H_
