// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/words.h"

namespace tutti::plan {
namespace {

void AppendSizes(std::string_view name, const std::vector<std::size_t>& sizes, std::string* text) {
  if (sizes.empty()) return;
  fmt::format_to(std::back_inserter(*text), "  {}", name);
  for (std::size_t size : sizes) fmt::format_to(std::back_inserter(*text), " {}", size);
  *text += '\n';
}

// One line as words. "->" and "+" are words, so is each operand, target and number.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) { Skip(); }

  bool done() const { return rest_.empty(); }
  std::string_view Peek() const { return rest_.substr(0, rest_.find_first_of(kSpace)); }
  std::string_view Next() {
    const std::string_view word = Peek();
    rest_.remove_prefix(word.size());
    Skip();
    return word;
  }
  bool Take(std::string_view word) {
    if (Peek() != word) return false;
    Next();
    return true;
  }

 private:
  static constexpr std::string_view kSpace = " \t\r";
  void Skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size())); }
  std::string_view rest_;
};

template <typename T>
bool ReadNumber(std::string_view word, T limit, T* number) {
  const std::optional<T> value = ParseNumber<T>(word);
  if (!value || *value < 0 || *value > limit) return false;
  *number = *value;
  return true;
}

// "in3": a word that is a prefix and a number.
bool ReadTagged(std::string_view word, std::string_view tag, int limit, int* number) {
  return word.starts_with(tag) && ReadNumber(word.substr(tag.size()), limit, number);
}

struct TargetTag {
  std::string_view tag;
  Sending sending;
};
constexpr TargetTag kTargetTags[] = {
    {">>", Sending::kMulticast}, {">", Sending::kEach}, {"^^", Sending::kOfferOnce}, {"^", Sending::kOffer}};

std::string_view TagOf(Sending sending) {
  if (sending == Sending::kMulticastBack) sending = Sending::kMulticast;
  return std::ranges::find(kTargetTags, sending, &TargetTag::sending)->tag;
}

class Parser {
 public:
  Result<std::vector<RankPlan>> Run(std::string_view text) {
    if (text.size() > kMaxText) {
      return Status(Code::kInvalidArgument,
                    fmt::format("the text of a plan has {} bytes; at most {} are read", text.size(), kMaxText));
    }
    while (!text.empty()) {
      ++line_;
      Words words(TakeLine(text));
      if (words.done()) continue;
      TUTTI_RETURN_IF_ERROR(Line(&words));
    }
    return std::move(plans_);
  }

 private:
  Status Error(std::string_view what, std::string_view word) const {
    constexpr std::size_t kShown = 40;
    return Status(Code::kInvalidArgument, fmt::format("line {} of the plan: {}, found '{}{}'", line_, what,
                                                      word.substr(0, kShown), word.size() > kShown ? "..." : ""));
  }

  Status Line(Words* words) {
    if (const auto collective = ParseCollective(words->Peek()); collective && Name(*collective) == words->Peek()) {
      words->Next();
      return Header(*collective, words);
    }
    if (plans_.empty()) {
      return Error("expected a header such as 'all_gather rank 0 of 4 in 1 out 4 slots 2'", words->Peek());
    }
    if (words->Take("in_sizes")) return Sizes(words, &plans_.back().in_sizes);
    if (words->Take("out_sizes")) return Sizes(words, &plans_.back().out_sizes);
    return ParseStep(words, &plans_.back());
  }

  Status Field(std::string_view name, int limit, Words* words, int* number) {
    if (!words->Take(name)) return Error(fmt::format("expected '{}' and a number", name), words->Peek());
    const std::string_view word = words->Next();
    if (ReadNumber(word, limit, number)) return Status::Ok();
    return Error(fmt::format("'{}' wants a number up to {}", name, limit), word);
  }

  Status Header(Collective collective, Words* words) {
    RankPlan plan(collective, 0, 1);
    TUTTI_RETURN_IF_ERROR(Field("rank", kMaxParseRanks, words, &plan.rank));
    TUTTI_RETURN_IF_ERROR(Field("of", kMaxParseRanks, words, &plan.ranks));
    if (words->Peek() == "root") TUTTI_RETURN_IF_ERROR(Field("root", kMaxParseRanks, words, &plan.root));
    TUTTI_RETURN_IF_ERROR(Field("in", kMaxNumber, words, &plan.in_blocks));
    TUTTI_RETURN_IF_ERROR(Field("out", kMaxNumber, words, &plan.out_blocks));
    TUTTI_RETURN_IF_ERROR(Field("slots", kMaxNumber, words, &plan.link_slots));
    if (!words->done()) return Error("expected the end of the line after 'slots'", words->Peek());
    plans_.push_back(std::move(plan));
    return Status::Ok();
  }

  Status Sizes(Words* words, std::vector<std::size_t>* sizes) {
    if (!sizes->empty()) return Error("the sizes were given before", words->Peek());
    while (!words->done()) {
      const std::string_view word = words->Next();
      std::size_t size = 0;
      if (!ReadNumber(word, ~std::size_t{0}, &size)) return Error("expected a number of elements", word);
      sizes->push_back(size);
    }
    return Status::Ok();
  }

  Status ParseStep(Words* words, RankPlan* plan) {
    int stage = 0;
    if (words->Peek().starts_with('@')) {
      const std::string_view word = words->Next();
      if (!ReadTagged(word, "@", kMaxNumber, &stage)) return Error("expected a stage such as '@1'", word);
    }
    operands_.clear();
    targets_.clear();
    do {
      const std::string_view word = words->Next();
      Operand operand{};
      if (ReadTagged(word, "in", kMaxNumber, &operand.index)) {
        operand.kind = Operand::Kind::kIn;
      } else if (ReadTagged(word, "out", kMaxNumber, &operand.index)) {
        operand.kind = Operand::Kind::kOut;
      } else if (ReadTagged(word, "<", kMaxParseRanks, &operand.index)) {
        operand.kind = Operand::Kind::kRecv;
      } else if (ReadTagged(word, "^", kMaxParseRanks, &operand.index)) {
        operand.kind = Operand::Kind::kOffered;
      } else {
        return Error("expected an operand: in and out with a block's number, or < and ^ with a rank", word);
      }
      operands_.push_back(operand);
    } while (words->Take("+"));
    if (!words->Take("->")) return Error("expected '+' or '->' after an operand", words->Peek());

    int out = kNoBlock;
    const bool back = ReadTagged(words->Peek(), ">>out", kMaxNumber, &out);
    if (back || ReadTagged(words->Peek(), "out", kMaxNumber, &out)) words->Next();
    Sending sending = Sending::kEach;
    TUTTI_RETURN_IF_ERROR(Targets(words, &sending));
    if (back && !targets_.empty() && sending != Sending::kMulticast) {
      return Error("expected targets of the multicast that comes back as >>out: >> with a rank", words->Peek());
    }
    plan->Add(operands_, targets_, out, stage, back ? Sending::kMulticastBack : sending);
    return Status::Ok();
  }

  Status Targets(Words* words, Sending* sending) {
    while (!words->done()) {
      const std::string_view word = words->Next();
      int target = 0;
      const auto tag = std::ranges::find_if(
          kTargetTags, [&](const TargetTag& t) { return ReadTagged(word, t.tag, kMaxParseRanks, &target); });
      if (tag == std::end(kTargetTags)) {
        return Error("expected targets: >, >>, ^ or ^^ with a rank, after at most one block such as out0", word);
      }
      if (!targets_.empty() && tag->sending != *sending) return Error("expected targets of one kind", word);
      *sending = tag->sending;
      targets_.push_back(target);
    }
    return Status::Ok();
  }

  int line_ = 0;
  std::vector<RankPlan> plans_;
  std::vector<Operand> operands_;
  std::vector<std::int32_t> targets_;
};

}  // namespace

std::string Print(const Step& step) {
  std::string text;
  auto end = std::back_inserter(text);
  if (step.stage != 0) fmt::format_to(end, "@{} ", step.stage);
  std::string_view between = "";
  for (const Operand& operand : step.operands) {
    constexpr std::string_view kTags[] = {"in", "out", "<", "^"};
    fmt::format_to(end, "{}{}{}", between, kTags[static_cast<int>(operand.kind)], operand.index);
    between = " + ";
  }
  text += " ->";
  if (step.out != kNoBlock)
    fmt::format_to(end, " {}out{}", step.sending == Sending::kMulticastBack ? ">>" : "", step.out);
  for (int target : step.to) fmt::format_to(end, " {}{}", TagOf(step.sending), target);
  return text;
}

std::string Print(const RankPlan& plan) {
  std::string text = fmt::format("{} rank {} of {}", Name(plan.collective), plan.rank, plan.ranks);
  auto end = std::back_inserter(text);
  if (HasRoot(plan.collective) || plan.root != 0) fmt::format_to(end, " root {}", plan.root);
  fmt::format_to(end, " in {} out {} slots {}\n", plan.in_blocks, plan.out_blocks, plan.link_slots);
  AppendSizes("in_sizes", plan.in_sizes, &text);
  AppendSizes("out_sizes", plan.out_sizes, &text);
  for (int i = 0; i < plan.step_count(); ++i) fmt::format_to(end, "  {}\n", Print(plan.step(i)));
  return text;
}

std::string Print(std::span<const RankPlan> plans) {
  std::string text;
  for (const RankPlan& plan : plans) text += Print(plan);
  return text;
}

Result<std::vector<RankPlan>> Parse(std::string_view text) { return Parser().Run(text); }

}  // namespace tutti::plan
