// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_LINE_TAGGER_H_
#define TUTTI_TOOLS_LINE_TAGGER_H_

#include <string>
#include <string_view>
#include <utility>

namespace tutti::tools {

// Turns a stream of bytes into whole lines that begin with a tag, so that lines of several ranks do not mix.
class LineTagger {
 public:
  explicit LineTagger(std::string tag) : tag_(std::move(tag)) {}

  // The complete lines that `bytes` finishes, tagged; the rest waits for the next call.
  std::string Add(std::string_view bytes) {
    std::string lines;
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      if (newline == bytes.npos) {
        rest_ += bytes;
        break;
      }
      lines.append(tag_).append(rest_).append(bytes.substr(0, newline + 1));
      rest_.clear();
      bytes.remove_prefix(newline + 1);
    }
    return lines;
  }
  // What is left of an unfinished last line, tagged and ended.
  std::string Finish() { return rest_.empty() ? std::string() : tag_ + std::exchange(rest_, {}) + '\n'; }

 private:
  std::string tag_;
  std::string rest_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_LINE_TAGGER_H_
