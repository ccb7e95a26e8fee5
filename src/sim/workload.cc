// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>
#include <utility>

#include "base/one_line.h"
#include "base/words.h"

namespace tutti::sim {
namespace {

constexpr double kMostNumber = 1e15;
constexpr int kMostMicrobatches = 1 << 16;
constexpr std::size_t kMostShown = 40;  // bytes of a file's own text in a sentence
constexpr std::string_view kPipeline = "pipeline";

std::string Show(std::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  ReplaceControls(shown, '?');
  return "\"" + (text.size() > kMostShown ? shown + "..." : shown) + "\"";
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimes[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
constexpr Unit kSizes[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3},
                           {"MB", 1e6},      {"GB", 1e9},      {"B", 1}};

// A number and one of the units, without a blank between.
std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    std::istringstream stream{std::string(text.substr(0, text.size() - unit.name.size()))};
    stream.imbue(std::locale::classic());
    double number = 0;
    if (!(stream >> std::noskipws >> number) || stream.peek() != std::istringstream::traits_type::eof()) continue;
    number *= unit.factor;
    if (number >= 0 && number <= kMostNumber) return number;
  }
  return std::nullopt;
}

// Reads a file line by line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Result<Workload> Read();

 private:
  template <typename... Values>
  Status Bad(fmt::format_string<Values...> format, Values&&... values) const {
    return Status(Code::kInvalidUsage, fmt::format("line {} of the workload: {}", line_,
                                                   fmt::format(format, std::forward<Values>(values)...)));
  }
  // The line's next word; empty: there is none.
  std::string_view Word();
  Status AtEnd();

  Status ReadLine(std::string_view first);
  Status ReadRanks();
  Status ReadSetting(std::string_view name);
  Status ReadStatement(std::string_view first);
  Status ReadCompute(Statement& statement);
  Status ReadCollective(Collective collective, Statement& statement);
  Status ReadTransfer(std::string_view first, Statement& statement);
  Status ReadRepeat(Statement& statement);
  Status ReadEnd(Statement& statement);
  Status ReadOption(std::string_view word, Statement& statement);
  Status ReadWay(Statement& statement);
  Status ReadBytes(std::string_view word, std::uint64_t& bytes);
  template <typename Number>
  Status ReadCount(std::string_view what, std::string_view word, Number most, Number& count);
  Status EndSection();

  std::string_view text_;
  std::string_view rest_;  // of the line
  int line_ = 0;
  Workload workload_;
  int section_ = -1;
  std::vector<std::size_t> open_;  // repeats, by place in the section
  std::vector<std::uint64_t> counts_ = {
      0};  // statements in the section and in each open repeat, as often as they are done
};

std::string_view Reader::Word() {
  const std::size_t begin = std::min(rest_.find_first_not_of(kSpace), rest_.size());
  rest_.remove_prefix(begin);
  const std::size_t end = std::min(rest_.find_first_of(kSpace), rest_.size());
  const std::string_view word = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return word;
}

Status Reader::AtEnd() {
  const std::string_view word = Word();
  return word.empty() ? Status::Ok() : Bad("{} is more than belongs there; remove it", Show(word));
}

Result<Workload> Reader::Read() {
  while (!text_.empty()) {
    ++line_;
    rest_ = TakeLine(text_);
    rest_ = rest_.substr(0, rest_.find('#'));
    const std::string_view first = Word();
    if (first.empty()) continue;
    TUTTI_RETURN_IF_ERROR(ReadLine(first));
  }
  ++line_;
  TUTTI_RETURN_IF_ERROR(EndSection());
  if (workload_.groups.empty()) return Bad("the file has no line \"ranks\"; begin with one, as \"ranks data=8\"");
  return std::move(workload_);
}

Status Reader::ReadLine(std::string_view first) {
  if (first == "ranks") return ReadRanks();
  if (first == "microbatches" || first == "schedule") return ReadSetting(first);
  constexpr std::string_view kNames[] = {"begin", "forward", "backward", "finish"};
  const auto name = std::ranges::find(kNames, first);
  if (name == std::end(kNames)) return ReadStatement(first);
  TUTTI_RETURN_IF_ERROR(EndSection());
  section_ = static_cast<int>(name - std::begin(kNames));
  if (!workload_.sections[static_cast<std::size_t>(section_)].empty())
    return Bad("there is a section {} before", first);
  return AtEnd();
}

Status Reader::EndSection() {
  if (!open_.empty()) {
    const Statement& repeat = workload_.sections[static_cast<std::size_t>(section_)][open_.back()];
    return Bad("the repeat of line {} has no end before this", repeat.line);
  }
  counts_ = {0};
  return Status::Ok();
}

template <typename Number>
Status Reader::ReadCount(std::string_view what, std::string_view word, Number most, Number& count) {
  const auto number = ParseNumber<Number>(word);
  if (!number || *number < 1 || *number > most) {
    return Bad("{} needs a whole number from 1 to {}, found {}", what, most, Show(word));
  }
  count = *number;
  return Status::Ok();
}

Status Reader::ReadRanks() {
  if (!workload_.groups.empty()) return Bad("there is a line \"ranks\" before");
  std::int64_t ranks = 1;
  for (std::string_view word = Word(); !word.empty(); word = Word()) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (equals == std::string_view::npos || name.empty() || name == "all") {
      return Bad("a group is written as \"tensor=8\" and not named all, found {}", Show(word));
    }
    const auto same = [&](const Workload::Group& group) { return group.name == name; };
    if (std::ranges::any_of(workload_.groups, same)) return Bad("group {} is there twice", Show(name));
    Workload::Group group{.name = std::string(name)};
    TUTTI_RETURN_IF_ERROR(ReadCount("a group", word.substr(equals + 1), kMostWorkloadRanks, group.size));
    ranks *= group.size;
    if (ranks > kMostWorkloadRanks) return Bad("these are {} ranks; {} are the most", ranks, kMostWorkloadRanks);
    workload_.groups.push_back(std::move(group));
  }
  return workload_.groups.empty() ? Bad("\"ranks\" needs a group, as in \"ranks data=8\"") : Status::Ok();
}

Status Reader::ReadSetting(std::string_view name) {
  const std::string_view word = Word();
  if (name == "microbatches") {
    TUTTI_RETURN_IF_ERROR(ReadCount(name, word, kMostMicrobatches, workload_.microbatches));
  } else if (word == "1f1b" || word == "all_forward") {
    workload_.schedule = word == "1f1b" ? Workload::Schedule::k1f1b : Workload::Schedule::kAllForward;
  } else {
    return Bad("a schedule is 1f1b or all_forward, found {}", Show(word));
  }
  return AtEnd();
}

Status Reader::ReadStatement(std::string_view first) {
  if (section_ < 0 || workload_.groups.empty()) {
    return Bad("{} comes before a line \"ranks\" and one of begin, forward, backward and finish", Show(first));
  }
  Statement statement{.line = line_};
  const auto collective = ParseCollective(first);
  if (first == "compute") {
    TUTTI_RETURN_IF_ERROR(ReadCompute(statement));
  } else if (first == "send" || first == "receive") {
    TUTTI_RETURN_IF_ERROR(ReadTransfer(first, statement));
  } else if (first == "wait") {
    statement.kind = Statement::Kind::kWait;
  } else if (first == "repeat") {
    TUTTI_RETURN_IF_ERROR(ReadRepeat(statement));
  } else if (first == "end") {
    TUTTI_RETURN_IF_ERROR(ReadEnd(statement));
  } else if (collective && *collective != Collective::kSendRecv) {
    TUTTI_RETURN_IF_ERROR(ReadCollective(*collective, statement));
  } else {
    return Bad("{} is no statement; there are compute, wait, send, receive, repeat, end and collectives, as all_reduce",
               Show(first));
  }
  TUTTI_RETURN_IF_ERROR(AtEnd());
  if (++counts_.back() > kMostStatements) return Bad("a section has more than {} statements", kMostStatements);
  workload_.sections[static_cast<std::size_t>(section_)].push_back(std::move(statement));
  return Status::Ok();
}

Status Reader::ReadCompute(Statement& statement) {
  const std::string_view word = Word();
  const std::optional<double> us = ParseQuantity(word, kTimes);
  if (!us || *us > kMostNumber / 1e6) return Bad("compute needs a time, as 1.5ms or 300us, found {}", Show(word));
  statement.kind = Statement::Kind::kCompute;
  statement.compute_us = *us;
  return Status::Ok();
}

Status Reader::ReadBytes(std::string_view word, std::uint64_t& bytes) {
  const std::optional<double> size = ParseQuantity(word, kSizes);
  if (!size) return Bad("a size is written as 24MiB, 1.5GB or 512B, found {}", Show(word));
  bytes = static_cast<std::uint64_t>(std::llround(*size));
  return Status::Ok();
}

Status Reader::ReadTransfer(std::string_view first, Statement& statement) {
  if (workload_.pipeline() < 0) return Bad("{} needs a group named pipeline in the line \"ranks\"", first);
  if (section_ != Workload::kForward && section_ != Workload::kBackward) {
    return Bad("{} belongs into forward or backward, which say from where and to where", first);
  }
  statement.kind = first == "send" ? Statement::Kind::kSend : Statement::Kind::kReceive;
  statement.beside = first == "send";
  return ReadBytes(Word(), statement.bytes);
}

Status Reader::ReadRepeat(Statement& statement) {
  statement.kind = Statement::Kind::kRepeat;
  TUTTI_RETURN_IF_ERROR(ReadCount("repeat", Word(), kMostStatements, statement.times));
  open_.push_back(workload_.sections[static_cast<std::size_t>(section_)].size());
  counts_.push_back(0);
  return Status::Ok();
}

Status Reader::ReadEnd(Statement& statement) {
  if (open_.empty()) return Bad("there is no repeat that ends here");
  statement.kind = Statement::Kind::kEnd;
  const std::uint64_t times = workload_.sections[static_cast<std::size_t>(section_)][open_.back()].times;
  const std::uint64_t inside = counts_.back() + 1;
  open_.pop_back();
  counts_.pop_back();
  if (inside > kMostStatements / times) return Bad("a section has more than {} statements", kMostStatements);
  counts_.back() += inside * times;
  return Status::Ok();
}

Status Reader::ReadCollective(Collective collective, Statement& statement) {
  statement.kind = Statement::Kind::kCollective;
  statement.collective = collective;
  const std::string_view group = Word();
  if (group != "all") {
    const auto found = std::ranges::find(workload_.groups, group, &Workload::Group::name);
    if (found == workload_.groups.end()) return Bad("{} is no group of the line \"ranks\"", Show(group));
    statement.group = static_cast<int>(found - workload_.groups.begin());
  }
  if (collective != Collective::kBarrier) TUTTI_RETURN_IF_ERROR(ReadBytes(Word(), statement.bytes));
  for (std::string_view word = Word(); !word.empty(); word = Word()) TUTTI_RETURN_IF_ERROR(ReadOption(word, statement));
  return Status::Ok();
}

Status Reader::ReadOption(std::string_view word, Statement& statement) {
  if (word == "beside") {
    statement.beside = true;
  } else if (word == "first" || word == "last") {
    if (section_ != Workload::kForward && section_ != Workload::kBackward) {
      return Bad("{} belongs into forward or backward, which are done for each microbatch", word);
    }
    statement.when = word == "first" ? Statement::When::kFirst : Statement::When::kLast;
  } else if (word == "by") {
    return ReadWay(statement);
  } else {
    return Bad("{} is no option; there are beside, first, last and by", Show(word));
  }
  return Status::Ok();
}

Status Reader::ReadWay(Statement& statement) {
  Way way;
  const std::string_view algorithm = Word(), protocol = Word();
  const auto known_algorithm = algo::ParseAlgorithm(algorithm);
  const auto known_protocol = proto::ParseProtocol(protocol);
  if (!known_algorithm) {
    std::string names;
    for (const algo::Entry& entry : algo::Registry())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    return Bad("{} is no algorithm; there are {}", Show(algorithm), names);
  }
  if (!known_protocol) return Bad("{} is no protocol; there are LL, LL128 and Simple", Show(protocol));
  way.algorithm = *known_algorithm;
  way.protocol = *known_protocol;
  if (const std::string_view word = Word(); word != "channels") {
    return Bad("\"channels\" and their number come behind the protocol, found {}", Show(word));
  }
  constexpr int kMostChannels = 1024;
  TUTTI_RETURN_IF_ERROR(ReadCount("channels", Word(), kMostChannels, way.channels));
  const std::string_view before = rest_;
  if (Word() == "chunk") {
    TUTTI_RETURN_IF_ERROR(ReadBytes(Word(), way.chunk_bytes));
    if (way.chunk_bytes == 0) return Bad("a chunk of 0 bytes carries nothing");
  } else {
    rest_ = before;
  }
  statement.by = way;
  return Status::Ok();
}

}  // namespace

int Workload::ranks() const {
  int ranks = 1;
  for (const Group& group : groups) ranks *= group.size;
  return ranks;
}

int Workload::pipeline() const {
  const auto found = std::ranges::find(groups, kPipeline, &Group::name);
  return found == groups.end() ? -1 : static_cast<int>(found - groups.begin());
}

Result<Workload> ReadWorkload(std::string_view text) { return Reader(text).Read(); }

}  // namespace tutti::sim
