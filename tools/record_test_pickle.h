// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_TEST_PICKLE_H_
#define TUTTI_TOOLS_RECORD_TEST_PICKLE_H_

// A reader of pickles, for tests: what protocol 2 has for plain values, as Python's documents of its module pickletools say.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::tools {

// Throws where the bytes are not one whole pickle of plain values.
class PickleReader {
 public:
  using Value = nlohmann::ordered_json;

  static Value Read(const std::string& bytes) { return PickleReader(bytes).Run(); }

 private:
  explicit PickleReader(const std::string& bytes) : bytes_(bytes) {}

  Value Run() {
    if (Byte() != 0x80 || Byte() != 2) throw std::runtime_error("it is not of protocol 2");
    while (true) {
      const int opcode = Byte();
      if (opcode == '.') break;
      Take(opcode);
    }
    if (at_ != bytes_.size()) throw std::runtime_error("there is more behind its end");
    if (stack_.size() != 1 || !marks_.empty()) throw std::runtime_error("it does not leave one value");
    return stack_.front();
  }

  void Take(int opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        break;
      case '}':
        stack_.push_back(Value::object());
        break;
      case ']':
        stack_.push_back(Value::array());
        break;
      case 'u':
        TakeItems();
        break;
      case 'e':
        TakeElements();
        break;
      case 'X':
        stack_.push_back(Text(Little(4)));
        break;
      case 'J':
        stack_.push_back(static_cast<std::int32_t>(Little(4)));
        break;
      case 0x8a:
        TakeLong();
        break;
      case 'G': {
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8 | static_cast<std::uint64_t>(Byte());
        stack_.push_back(std::bit_cast<double>(bits));
        break;
      }
      case 0x88:
      case 0x89:
        stack_.push_back(opcode == 0x88);
        break;
      case 'N':
        stack_.push_back(nullptr);
        break;
      default:
        throw std::runtime_error("it has an opcode that plain values do not need: " + std::to_string(opcode));
    }
  }

  void TakeItems() {
    const std::size_t mark = Mark();
    if ((stack_.size() - mark) % 2 != 0 || !stack_.at(mark - 1).is_object())
      throw std::runtime_error("no items of a dict");
    for (std::size_t i = mark; i < stack_.size(); i += 2) {
      Value& dict = stack_[mark - 1];
      const std::string name = stack_[i];
      if (dict.contains(name)) throw std::runtime_error("a name comes twice: " + name);
      dict[name] = stack_[i + 1];
    }
    stack_.resize(mark);
  }
  void TakeElements() {
    const std::size_t mark = Mark();
    if (!stack_.at(mark - 1).is_array()) throw std::runtime_error("no elements of a list");
    for (std::size_t i = mark; i < stack_.size(); ++i) stack_[mark - 1].push_back(stack_[i]);
    stack_.resize(mark);
  }
  // Two's complement, the lowest byte first.
  void TakeLong() {
    const int length = Byte();
    const std::uint64_t low = Little(std::min(length, 8));
    if (length == 8) {
      stack_.push_back(static_cast<std::int64_t>(low));
    } else if (length == 9 && Byte() == 0) {
      stack_.push_back(low);
    } else {
      throw std::runtime_error("a whole number of another length");
    }
  }

  std::size_t Mark() {
    if (marks_.empty() || marks_.back() == 0) throw std::runtime_error("there is no mark, or nothing below it");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  int Byte() {
    if (at_ >= bytes_.size()) throw std::runtime_error("it ends in the middle");
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t Little(int bytes) {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(Byte()) << 8 * i;
    return number;
  }
  std::string Text(std::uint64_t length) {
    if (length > bytes_.size() - at_) throw std::runtime_error("a text ends in the middle");
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_TEST_PICKLE_H_
