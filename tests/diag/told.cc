// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/told.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

namespace tutti::tests {
namespace {

using diag::Kind;

// "rank 3", "ranks 1, 2 and 5-7": those of the first such list from `from` on.
std::vector<int> FirstList(const std::string& text, std::size_t from) {
  static const std::regex list(R"(\branks? ((?:\d+(?:-\d+)?(?:, | and )?)+))");
  static const std::regex part(R"((\d+)(?:-(\d+))?)");
  std::smatch found;
  std::vector<int> ranks;
  const std::string rest = text.substr(from);
  if (!std::regex_search(rest, found, list)) return ranks;
  const std::string all = found[1];
  for (std::sregex_iterator i(all.begin(), all.end(), part), end; i != end; ++i) {
    const int first = std::stoi((*i)[1]);
    const int last = (*i)[2].matched ? std::stoi((*i)[2]) : first;
    for (int r = first; r <= last; ++r) ranks.push_back(r);
  }
  return ranks;
}

// Of a deadlock: each that is in a call and has not called another.
std::vector<int> AllInCircle(const std::string& text) {
  static const std::regex one(R"(\brank (\d+) (?:\([^)]*\) )?is in )");
  std::vector<int> ranks;
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) ranks.push_back(std::stoi((*i)[1]));
  return ranks;
}

struct Phrase {
  std::string_view text;
  Kind kind;
};
// The first that is in a sentence says its kind.
constexpr Phrase kPhrases[] = {
    {"the calls of the ranks do not match: ", Kind::kMismatch},
    {" is not known: ", Kind::kUnknown},
    {"deadlock: ", Kind::kDeadlock},
    {"which cannot be seen on this host", Kind::kInitIncomplete},
    {" have come, and have not connected", Kind::kInitIncomplete},
    {", nobody answers, so it is not known here whether ", Kind::kInitIncomplete},
    {"NVLink fault between ", Kind::kNvLinkFault},
    {"nothing moves on ", Kind::kLinkStalled},
    {"data move slowly on ", Kind::kLinkSlow},
    {" held by a debugger", Kind::kTraced},
    {" gone: its process ", Kind::kDead},
    {"its control group was kept off the cores", Kind::kStarved},
    {"was ready and had no core", Kind::kStarved},
    {" not called ", Kind::kLateHost},
    {" not go on with it", Kind::kLateHost},
    {" is stopped", Kind::kStopped},
    {" are stopped", Kind::kStopped},
    {" frozen", Kind::kStopped},
    {" answer, and ", Kind::kStopped},
    {" does not answer", Kind::kHostGone},
};

// Ranks that such a sentence lists are not to blame for anything.
bool NamesNobody(const Phrase& phrase) {
  return phrase.text.find("have come, and") != phrase.text.npos ||
         phrase.text.find("nobody answers") != phrase.text.npos;
}

}  // namespace

Told ReadSentence(const std::string& sentence) {
  Told told{.kind = Kind::kBroken, .text = sentence};
  std::string rest = sentence;
  if (rest.starts_with("cleared after ")) {
    told.cleared = true;
    rest = rest.substr(rest.find(": ") + 2);
  }
  for (const Phrase& phrase : kPhrases) {
    const std::size_t at = rest.find(phrase.text);
    if (at == std::string::npos) continue;
    told.kind = phrase.kind;
    if (phrase.kind == Kind::kDeadlock) {
      told.ranks = AllInCircle(rest);
    } else if (phrase.kind == Kind::kMismatch) {
      told.ranks = FirstList(rest, at);
    } else if (phrase.kind != Kind::kUnknown && !NamesNobody(phrase)) {
      told.ranks = FirstList(rest, 0);
      const bool is_link = phrase.kind == Kind::kLinkSlow || phrase.kind == Kind::kLinkStalled;
      const std::size_t to = is_link ? rest.find(" to rank ") : std::string::npos;
      if (to != std::string::npos) told.to = std::stoi(rest.substr(to + 9));
    }
    break;
  }
  return told;
}

std::vector<Told> LogReader::More() {
  std::vector<Told> all;
  std::ifstream file(path_);
  file.seekg(static_cast<std::streamoff>(read_));
  for (std::string line; std::getline(file, line) && !file.eof();) {  // the last line may be half written
    read_ += line.size() + 1;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded() || json["file"] != "watch/vigil.cc") continue;
    Told told = ReadSentence(json["message"].get<std::string>());
    told.warn = json["level"] == "WARN";
    all.push_back(std::move(told));
  }
  return all;
}

}  // namespace tutti::tests
