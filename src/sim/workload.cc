// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <numeric>
#include <span>
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
  return fmt::format("\"{}{}\"", shown, text.size() > kMostShown ? "..." : "");
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimes[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
constexpr Unit kWork[] = {{"GFLOP", 1e-3}, {"TFLOP", 1}, {"PFLOP", 1e3}};
constexpr Unit kRates[] = {{"TFLOP/s", 1}, {"PFLOP/s", 1e3}};
constexpr Unit kPlain[] = {{"", 1}};
constexpr Unit kSizes[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3},
                           {"MB", 1e6},      {"GB", 1e9},      {"B", 1}};

// A number and one of the units, without a blank between. Work is in units of 10^12.
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
  Status ReadGpu();
  Status ReadModel();
  Status ReadPositive(std::string_view what, std::span<const Unit> units, double& value);
  Status ReadStatement(std::string_view first);
  Status ReadCompute(Statement& statement);
  Status ReadCollective(Collective collective, Statement& statement);
  Status ReadGroup(std::string_view word, int& group);
  Status ReadName(std::string_view word, int& name);
  Status CheckNames() const;
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
      0};                      // statements in the section and in each open repeat, as often as they are done
  std::vector<bool> goes_on_;  // by name: something goes on under it
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
  TUTTI_RETURN_IF_ERROR(CheckNames());
  return std::move(workload_);
}

Status Reader::ReadLine(std::string_view first) {
  if (first == "ranks") return ReadRanks();
  if (first == "microbatches" || first == "schedule") return ReadSetting(first);
  if (first == "gpu") return ReadGpu();
  if (first == "model") return ReadModel();
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
    if (equals == std::string_view::npos || name.empty() || name == "all" || name.find('+') != name.npos) {
      return Bad("a group is written as \"tensor=8\" and not named all, and its name has no plus; found {}",
                 Show(word));
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

Status Reader::ReadPositive(std::string_view what, std::span<const Unit> units, double& value) {
  const std::string_view word = Word();
  const std::optional<double> number = ParseQuantity(word, units);
  if (!number || *number <= 0) return Bad("{}, found {}", what, Show(word));
  value = *number;
  return Status::Ok();
}

Status Reader::ReadGpu() {
  if (workload_.peak_tflop_per_s > 0) return Bad("there is a line \"gpu\" before");
  constexpr std::string_view kWanted = "\"gpu\" needs a rate, as in \"gpu 989TFLOP/s\"";
  TUTTI_RETURN_IF_ERROR(ReadPositive(kWanted, kRates, workload_.peak_tflop_per_s));
  const std::string_view word = Word();
  if (word.empty()) return Status::Ok();
  if (word != "sustains") return Bad("only \"sustains\" and a rate may follow a GPU's rate, found {}", Show(word));
  TUTTI_RETURN_IF_ERROR(
      ReadPositive("\"sustains\" needs a rate, as 500TFLOP/s", kRates, workload_.sustained_tflop_per_s));
  return AtEnd();
}

Status Reader::ReadModel() {
  if (workload_.parameters > 0) return Bad("there is a line \"model\" before");
  constexpr std::string_view kWanted = "a model is written as \"model 70e9 parameters 131072 tokens\"";
  TUTTI_RETURN_IF_ERROR(ReadPositive(kWanted, kPlain, workload_.parameters));
  if (const std::string_view word = Word(); word != "parameters") return Bad("{}, found {}", kWanted, Show(word));
  TUTTI_RETURN_IF_ERROR(ReadPositive(kWanted, kPlain, workload_.tokens));
  if (const std::string_view word = Word(); word != "tokens") return Bad("{}, found {}", kWanted, Show(word));
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
    if (const std::string_view word = Word(); !word.empty()) TUTTI_RETURN_IF_ERROR(ReadName(word, statement.name));
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
  std::optional<double> us = ParseQuantity(word, kTimes);
  if (const std::optional<double> work = ParseQuantity(word, kWork)) {
    if (workload_.sustained_tflop_per_s <= 0) {
      return Bad(
          "{} takes as long as a GPU's rate makes it; say that before, as in \"gpu 989TFLOP/s sustains 500TFLOP/s\"",
          Show(word));
    }
    us = 1e6 * *work / workload_.sustained_tflop_per_s;
  }
  if (!us || !(*us <= kMostNumber / 1e6)) {
    return Bad("compute needs a time or work, as 1.5ms, 300us or 2.1TFLOP, found {}", Show(word));
  }
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
  TUTTI_RETURN_IF_ERROR(ReadGroup(Word(), statement.group));
  if (collective != Collective::kBarrier) TUTTI_RETURN_IF_ERROR(ReadBytes(Word(), statement.bytes));
  for (std::string_view word = Word(); !word.empty(); word = Word()) TUTTI_RETURN_IF_ERROR(ReadOption(word, statement));
  return Status::Ok();
}

Status Reader::ReadGroup(std::string_view word, int& group) {
  if (word == "all") return Status::Ok();
  std::vector<int> members;
  for (std::string_view rest = word;;) {
    const std::size_t plus = rest.find('+');
    const std::string_view name = rest.substr(0, plus);
    const auto found = std::ranges::find(workload_.groups, name, &Workload::Group::name);
    if (found == workload_.groups.end()) return Bad("{} is no group of the line \"ranks\"", Show(name));
    const int member = static_cast<int>(found - workload_.groups.begin());
    if (std::ranges::find(members, member) != members.end()) return Bad("{} joins {} twice", Show(word), Show(name));
    members.push_back(member);
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  std::ranges::sort(members);
  group = members.front();
  if (members.size() == 1) return Status::Ok();
  const auto known = std::ranges::find(workload_.joined, members);
  group = static_cast<int>(workload_.groups.size()) + static_cast<int>(known - workload_.joined.begin());
  if (known == workload_.joined.end()) workload_.joined.push_back(std::move(members));
  return Status::Ok();
}

Status Reader::ReadName(std::string_view word, int& name) {
  const auto known = std::ranges::find(workload_.names, word);
  name = static_cast<int>(known - workload_.names.begin());
  if (known != workload_.names.end()) return Status::Ok();
  workload_.names.emplace_back(word);
  goes_on_.push_back(false);
  return Status::Ok();
}

Status Reader::CheckNames() const {
  for (const std::vector<Statement>& section : workload_.sections) {
    for (const Statement& statement : section) {
      if (statement.kind != Statement::Kind::kWait || statement.name == Statement::kNoName) continue;
      const auto name = static_cast<std::size_t>(statement.name);
      if (goes_on_[name]) continue;
      return Status(Code::kInvalidUsage,
                    fmt::format("line {} of the workload: nothing goes on as {}; write \"beside as\" and that name "
                                "behind the collective that is to be waited for",
                                statement.line, Show(workload_.names[name])));
    }
  }
  return Status::Ok();
}

Status Reader::ReadOption(std::string_view word, Statement& statement) {
  if (word == "beside") {
    statement.beside = true;
  } else if (word == "as") {
    const std::string_view name = Word();
    if (!statement.beside || name.empty()) return Bad("\"as\" and a name come behind \"beside\"");
    TUTTI_RETURN_IF_ERROR(ReadName(name, statement.name));
    goes_on_[static_cast<std::size_t>(statement.name)] = true;
  } else if (word == "first" || word == "last") {
    if (section_ != Workload::kForward && section_ != Workload::kBackward) {
      return Bad("{} belongs into forward or backward, which are done for each microbatch", word);
    }
    statement.when = word == "first" ? Statement::When::kFirst : Statement::When::kLast;
  } else if (word == "by") {
    return ReadWay(statement);
  } else {
    return Bad("{} is no option; there are beside, as, first, last and by", Show(word));
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

std::vector<int> Workload::GroupsOf(int group) const {
  const auto count = static_cast<int>(groups.size());
  if (group >= count) return joined[static_cast<std::size_t>(group - count)];
  if (group != Statement::kAll) return {group};
  std::vector<int> all(groups.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string Workload::NameOf(int group) const {
  if (group == Statement::kAll) return "all";
  std::string name;
  for (const int each : GroupsOf(group)) {
    name += (name.empty() ? "" : "+") + groups[static_cast<std::size_t>(each)].name;
  }
  return name;
}

Result<Workload> ReadWorkload(std::string_view text) { return Reader(text).Read(); }

}  // namespace tutti::sim
