// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_MACHINE_WORDS_H_
#define TUTTI_TOPO_MACHINE_WORDS_H_

// The words of one line of a machine's text (machine_text.h), taken from the left.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::topo {

class MachineWords {
 public:
  // Without comment, commas, colons, and words for the eye. `line` is counted from 1. The texts must live longer.
  MachineWords(std::string_view text, int line, std::string_view where);

  int line() const { return line_; }
  int indent() const { return indent_; }  // blanks before the first word
  bool done() const { return next_ == words_.size(); }
  // The next word, "" where there is none.
  std::string_view Peek() const { return done() ? std::string_view() : words_[next_]; }
  std::string_view Take();
  // Takes the next word if it is one of these, in any letters; a word may end in `s` in the text that does not here.
  bool TakeIf(std::string_view word);
  std::optional<double> TakeNumber();
  std::optional<int> TakeWhole();
  // A number from `least` to `most`, of the thing that it is said to be.
  Result<double> Number(std::string_view what, double least, double most);
  Result<int> Whole(std::string_view what, int least, int most);

  // "line 3 of box.txt: REASON"
  Status Error(std::string_view reason) const;
  // About the next word: "line 3 of box.txt: "WORD" is not known here; write KNOWN".
  Status Unknown(std::string_view known) const;

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
  int line_;
  int indent_ = 0;
  std::string_view where_;
};

// At most 60 bytes of a text from outside, on one line.
std::string Excerpt(std::string_view text);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_MACHINE_WORDS_H_
