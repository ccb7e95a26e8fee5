// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "plan/timeline.h"

namespace tutti::tools {
namespace {

constexpr double kLeft = 64, kTop = 62, kRow = 70, kBoxHeight = 22, kGap = 8, kHopGap = 46, kLetter = 6.7;
constexpr std::array<std::string_view, 8> kColors = {"#1f6fb4", "#d1622b", "#2f8f4e", "#a33b8f",
                                                     "#8a6d1d", "#16858c", "#b8304a", "#5b5bb0"};

struct Box {
  double x = 0, width = 0;
  std::string label;
  bool drawn = false;
};

// What a step does apart from its messages, which are arrows: "in0", "+ in2", "in0 → out0", "→ out1"; "^" for what a switch folds, and
// "→→ out1" for what a multicast brings back.
std::string LabelOf(const plan::Step& step) {
  std::string label;
  bool receives = false;
  for (const plan::Operand& operand : step.operands) {
    if (!operand.local()) {
      receives = true;
      continue;
    }
    if (!label.empty()) label += " + ";
    label += fmt::format("{}{}", operand.kind == plan::Operand::Kind::kIn ? "in" : "out", operand.index);
  }
  if (receives && !label.empty()) label = "+ " + label;
  if (receives && label.empty() && step.values() > 1) label = "fold";
  if (step.offers() > 0) label = fmt::format("^{}{}", label.empty() ? "" : " ", label);
  if (step.out != plan::kNoBlock) {
    label += fmt::format("{}{}→ out{}", label.empty() ? "" : " ",
                         step.sending == plan::Sending::kMulticastBack ? "→" : "", step.out);
  }
  return label.empty() ? "pass on" : label;
}

double WidthOf(const std::string& label) {
  const auto letters = std::count_if(label.begin(), label.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return static_cast<double>(letters) * kLetter + 12;
}

class Drawing {
 public:
  Drawing(std::string_view title, std::span<const plan::RankPlan> plans)
      : title_(title), plans_(plans), timeline_(plan::MakeTimeline(plans)) {
    Place();
  }

  std::string Draw() {
    Header();
    for (const plan::Timeline::Message& message : timeline_.messages) Arrow(message);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      for (const Box& box : boxes_[rank]) {
        if (box.drawn) DrawBox(static_cast<int>(rank), box);
      }
    }
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  template <typename... T>
  void Add(fmt::format_string<T...> format, T&&... arguments) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<T>(arguments)...);
  }

  // Steps of one hop stand side by side; a hop is as wide as its fullest rank.
  void Place() {
    boxes_.resize(plans_.size());
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) boxes_[rank].resize(plans_[rank].step_count());
    double x = kLeft;
    for (int hop = 0; hop <= timeline_.hops; ++hop) {
      hop_x_.push_back(x);
      double end = x + 40;
      for (std::size_t rank = 0; rank < plans_.size(); ++rank) end = std::max(end, PlaceRank(rank, hop, x));
      hop_end_.push_back(end);
      x = end + kHopGap;
    }
    width_ = std::max(x - kHopGap + 24, kLeft + 1.4 * WidthOf(title_));
    height_ = kTop + kRow * static_cast<double>(plans_.size());
  }

  double PlaceRank(std::size_t rank, int hop, double x) {
    const plan::RankPlan& plan = plans_[rank];
    std::vector<int> steps;
    for (int i = 0; i < plan.step_count(); ++i) {
      if (timeline_.hop[rank][i] == hop) steps.push_back(i);
    }
    std::stable_sort(steps.begin(), steps.end(), [&](int a, int b) { return plan.step(a).stage < plan.step(b).stage; });
    for (int i : steps) {
      Box& box = boxes_[rank][i];
      box = {.x = x, .label = LabelOf(plan.step(i)), .drawn = true};
      box.width = WidthOf(box.label);
      x += box.width + kGap;
    }
    return x - kGap;
  }

  static double RowOf(int rank) { return kTop + kRow * rank + kRow / 2; }
  static std::string_view ColorOf(int rank) { return kColors[static_cast<std::size_t>(rank) % kColors.size()]; }

  void Header() {
    Add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"11\">\n",
        width_, height_);
    Add("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<defs>\n");
    for (std::size_t i = 0; i < std::min(kColors.size(), plans_.size()); ++i) {
      Add("<marker id=\"m{0}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
          "orient=\"auto\"><path d=\"M0 0.8 L8 4 L0 7.2 z\" fill=\"{1}\"/></marker>\n",
          i, kColors[i]);
    }
    Add("</defs>\n<text x=\"16\" y=\"22\" font-size=\"14\" font-weight=\"bold\" fill=\"#222\">{}</text>\n", title_);
    for (std::size_t hop = 0; hop < hop_x_.size(); ++hop) {
      const double left = hop_x_[hop] - 12;
      const double right = hop_end_[hop] + 12;
      if (hop % 2 == 0) {
        Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f4f5f7\"/>\n", left, kTop - 6,
            right - left, height_ - kTop);
      }
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#667\">{}</text>\n", (left + right) / 2,
          kTop - 14, hop == 0 ? "start" : fmt::format("hop {}", hop));
    }
    for (int rank = 0; rank < static_cast<int>(plans_.size()); ++rank) {
      Add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#cfd3da\"/>\n", kLeft - 10,
          RowOf(rank), width_ - 12, RowOf(rank));
      Add("<text x=\"10\" y=\"{:.1f}\" fill=\"{}\" font-weight=\"bold\">rank {}</text>\n", RowOf(rank) + 4,
          ColorOf(rank), rank);
    }
  }

  // Through a switch: long dashes where it copies, short ones where it folds.
  static std::string_view DashesOf(plan::Sending sending) {
    if (plan::IsMulticast(sending)) return " stroke-dasharray=\"7 3\"";
    return plan::IsOffer(sending) ? " stroke-dasharray=\"2 3\"" : "";
  }

  // From the edge of one box to the facing edge of the other, bent so that parallel messages part.
  void Arrow(const plan::Timeline::Message& message) {
    const Box& from = boxes_[message.from][message.from_step];
    const Box& to = boxes_[message.to][message.to_step];
    if (!from.drawn || !to.drawn) return;
    const double side = message.to > message.from ? 1 : -1, turn = message.to == message.from ? -1 : 1;
    const double x1 = from.x + from.width * 0.75;
    const double y1 = RowOf(message.from) + side * kBoxHeight / 2;
    const double x2 = to.x + to.width * 0.25;
    const double y2 = RowOf(message.to) - turn * side * (kBoxHeight / 2 + 1);
    const double bend = (x2 - x1) * 0.45;
    Add("<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"1.3\" stroke-opacity=\"0.85\"{} marker-end=\"url(#m{})\"/>\n",
        x1, y1, x1 + bend, y1 + side * 14, x2 - bend * 0.6, y2 - turn * side * 20, x2, y2, ColorOf(message.from),
        DashesOf(plans_[static_cast<std::size_t>(message.from)].step(message.from_step).sending),
        static_cast<std::size_t>(message.from) % kColors.size());
  }

  void DrawBox(int rank, const Box& box) {
    Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"#ffffff\" "
        "stroke=\"{}\"/>\n",
        box.x, RowOf(rank) - kBoxHeight / 2, box.width, kBoxHeight, ColorOf(rank));
    Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#222\">{}</text>\n", box.x + box.width / 2,
        RowOf(rank) + 4, box.label);
  }

  std::string title_;
  std::span<const plan::RankPlan> plans_;
  plan::Timeline timeline_;
  std::vector<std::vector<Box>> boxes_;  // by rank and step
  std::vector<double> hop_x_, hop_end_;
  double width_ = 0, height_ = 0;
  std::string svg_;
};

}  // namespace

std::string DrawPlan(std::string_view title, std::span<const plan::RankPlan> plans) {
  return Drawing(title, plans).Draw();
}

}  // namespace tutti::tools
