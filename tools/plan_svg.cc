// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "plan/timeline.h"

namespace tutti::tools {
namespace {

constexpr double kLeft = 64, kTop = 62, kBoxHeight = 22, kStackGap = 4, kGap = 10, kLetter = 6.7;
constexpr double kMostWidth = 1500;  // of a drawing in rounds, which goes on in a line below
constexpr int kMostAlike = 3;        // boxes of one kind of a rank in one hop; more are drawn as one
constexpr int kMostInColumn = 4;     // boxes of a rank one below the other; of more, those of a kind are drawn as one
constexpr std::array<std::string_view, 8> kColors = {"#1f6fb4", "#d1622b", "#2f8f4e", "#a33b8f",
                                                     "#8a6d1d", "#16858c", "#b8304a", "#5b5bb0"};

struct Box {
  int rank = 0;
  double x = 0, y = 0, width = 0;  // y: of its middle
  std::string label;
  int departures = 0, arrivals = 0;  // arrows
  int departures_drawn = 0, arrivals_drawn = 0;
};

// A shaded or unshaded part of the drawing with a heading.
struct Column {
  double left = 0, right = 0, top = 0;
  std::string heading;
  bool shaded = false;
};

// Where a box stands in its hop: arrows come from the left and leave to the right, so that none has to pass another box of its
// hop.
enum Kind { kThrough, kReceives, kLocal, kSends, kKinds };

Kind KindOf(const plan::Step& step) {
  if (step.received() > 0) return step.to.empty() ? kReceives : kThrough;
  return step.to.empty() ? kLocal : kSends;
}

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
    for (const plan::RankPlan& plan : plans) box_of_.emplace_back(plan.step_count(), -1);
    heights_.resize(plans.size(), kBoxHeight + 16);
    if (!PlaceInRounds()) PlaceInHops();
  }

  std::string Draw() {
    Header();
    Arrows();
    for (const Box& box : boxes_) DrawBox(box);
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  using Message = plan::Timeline::Message;

  template <typename... T>
  void Add(fmt::format_string<T...> format, T&&... arguments) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<T>(arguments)...);
  }

  // Of a rank's row, below the top of the first; for the number of ranks: the end of the last row.
  double Middle(int rank) const {
    double y = rank < ranks() ? heights_[rank] / 2 : 0;
    for (int above = 0; above < rank; ++above) y += heights_[above];
    return y;
  }

  int ranks() const { return static_cast<int>(plans_.size()); }

  // In the order in which the rank runs them; hop -1: all.
  std::vector<int> StepsOf(int rank, int hop, Kind kind) const {
    const plan::RankPlan& plan = plans_[rank];
    std::vector<int> steps;
    for (int i = 0; i < plan.step_count(); ++i) {
      const int when = timeline_.hop[rank][i];
      if (when != plan::Timeline::kNever && (hop < 0 || when == hop) && KindOf(plan.step(i)) == kind)
        steps.push_back(i);
    }
    std::ranges::stable_sort(steps, {}, [&](int i) { return plan.step(i).stage; });
    return steps;
  }

  // One box for all of `steps`, at first without a place.
  Box& AddBox(int rank, std::span<const int> steps) {
    Box box{.rank = rank, .label = LabelOf(plans_[rank].step(steps.front()))};
    if (steps.size() > 1) {
      box.label += fmt::format(" … {} ({})", LabelOf(plans_[rank].step(steps.back())), steps.size());
    }
    box.width = WidthOf(box.label);
    for (int step : steps) box_of_[rank][step] = static_cast<int>(boxes_.size());
    boxes_.push_back(std::move(box));
    return boxes_.back();
  }

  // Where every rank sends many messages in one hop, as in an all_to_all: first those that each sends first, then the second ones,
  // and so on. False where the plan is no such one.
  bool PlaceInRounds() {
    if (timeline_.hops != 1) return false;
    std::vector<std::vector<int>> sends(plans_.size());
    for (int rank = 0; rank < ranks(); ++rank) {
      sends[rank] = StepsOf(rank, 0, kSends);
      if (sends[rank].size() != sends[0].size() || sends[rank].size() <= kMostAlike) return false;
    }
    std::vector<std::vector<const Message*>> rounds(sends[0].size());
    for (const Message& message : timeline_.messages) {
      const auto place = std::ranges::find(sends[message.from], message.from_step) - sends[message.from].begin();
      if (place == std::ssize(sends[0]) || plans_[message.from].step(message.from_step).to.size() != 1 ||
          plans_[message.to].step(message.to_step).operands.size() != 1) {
        return false;
      }
      rounds[place].push_back(&message);
    }
    for (double& height : heights_) height = 34;
    width_ = kLeft;
    double x = PlaceLocals(), top = kTop;
    for (std::size_t i = 0; i < rounds.size(); ++i) x = PlaceRound(rounds[i], static_cast<int>(i), x, &top);
    height_ = top + Middle(ranks()) + 8;
    note_ = "one hop, drawn in rounds: in each, every rank's next message";
    return true;
  }

  double PlaceLocals() {
    double end = kLeft;
    for (int rank = 0; rank < ranks(); ++rank) {
      for (int step : StepsOf(rank, -1, kLocal)) {
        Box& box = AddBox(rank, {&step, 1});
        box.x = kLeft;
        box.y = kTop + Middle(rank);
        end = std::max(end, kLeft + box.width);
      }
    }
    if (end == kLeft) return kLeft;
    columns_.push_back({kLeft - kGap, end + kGap, kTop, "start", false});
    return end + 2 * kGap;
  }

  // Returns where the next one begins.
  double PlaceRound(const std::vector<const Message*>& messages, int number, double x, double* top) {
    const std::size_t first = boxes_.size();
    double send_width = 0, receive_width = 0;
    for (const Message* message : messages) {
      send_width = std::max(send_width, AddBox(message->from, {&message->from_step, 1}).width);
      receive_width = std::max(receive_width, AddBox(message->to, {&message->to_step, 1}).width);
    }
    const double between = 110;
    if (x + send_width + between + receive_width + kGap > kMostWidth && x > kLeft) {
      x = kLeft;
      *top += Middle(ranks()) + 44;
    }
    const double right = x + send_width + between + receive_width;
    for (std::size_t i = first; i < boxes_.size(); ++i) {
      const bool sends = (i - first) % 2 == 0;
      boxes_[i].x = sends ? x + send_width - boxes_[i].width : right - receive_width;
      boxes_[i].y = *top + Middle(boxes_[i].rank);
    }
    columns_.push_back({x - kGap, right + kGap, *top, fmt::format("round {}", number + 1), number % 2 == 0});
    width_ = std::max(width_, right + 24);
    return right + 2 * kGap;
  }

  // A column for each hop. The boxes of a rank in a hop stand one below the other.
  void PlaceInHops() {
    std::vector<std::size_t> first;  // box of each hop
    for (int hop = 0; hop <= timeline_.hops; ++hop) {
      first.push_back(boxes_.size());
      MakeBoxes(hop);
    }
    first.push_back(boxes_.size());
    double x = kLeft;
    for (int hop = 0; hop <= timeline_.hops; ++hop) {
      const double end = PlaceHop(first[hop], first[hop + 1], x);
      columns_.push_back({x - kGap, end + kGap, kTop, hop == 0 ? "start" : fmt::format("hop {}", hop), hop % 2 == 0});
      x = end + RoomAfter(hop);
    }
    width_ = columns_.back().right + 14;
    height_ = kTop + Middle(ranks()) + 8;
  }

  void MakeBoxes(int hop) {
    for (int rank = 0; rank < ranks(); ++rank) {
      std::array<std::vector<int>, kKinds> steps;
      std::array<int, kKinds> count{};
      for (int kind = 0; kind < kKinds; ++kind) {
        steps[kind] = StepsOf(rank, hop, static_cast<Kind>(kind));
        count[kind] = static_cast<int>(steps[kind].size());
      }
      const int most = Height(count) > kMostInColumn ? 1 : kMostAlike;
      for (int kind = 0; kind < kKinds; ++kind) {
        if (count[kind] > most) {
          count[kind] = 1;
          AddBox(rank, steps[kind]);
        } else {
          for (int step : steps[kind]) AddBox(rank, {&step, 1});
        }
        kinds_.resize(boxes_.size(), static_cast<Kind>(kind));
      }
      heights_[rank] = std::max(heights_[rank], kBoxHeight + 16 + (kBoxHeight + kStackGap) * (Height(count) - 1));
    }
  }

  static int Height(const std::array<int, kKinds>& count) {
    return count[kThrough] + std::max(count[kReceives] + count[kLocal], count[kSends]);
  }

  // What only receives stands on the left, what only sends on the right, what does both takes the whole width. Returns the right end.
  double PlaceHop(std::size_t first, std::size_t last, double x) {
    double left = 0, right = 0, whole = 40;
    std::vector<std::array<int, kKinds>> count(plans_.size()), used(plans_.size());
    for (std::size_t i = first; i < last; ++i) {
      double& width = kinds_[i] == kThrough ? whole : kinds_[i] == kSends ? right : left;
      width = std::max(width, boxes_[i].width);
      ++count[boxes_[i].rank][kinds_[i]];
    }
    whole = std::max(whole, left + right + (left > 0 && right > 0 ? kGap : 0));
    for (std::size_t i = first; i < last; ++i) {
      Box& box = boxes_[i];
      const std::array<int, kKinds>& all = count[box.rank];
      const Kind kind = kinds_[i];
      int above = used[box.rank][kind]++;
      if (kind != kThrough) above += all[kThrough];
      if (kind == kLocal) above += all[kReceives];
      const double middle = kTop + Middle(box.rank);
      box.y = middle + (above - 0.5 * (Height(all) - 1)) * (kBoxHeight + kStackGap);
      if (kind == kThrough) box.width = whole;
      box.x = kind == kSends ? x + whole - box.width : x;
    }
    return x + whole;
  }

  // Between two hops, so that arrows which cross many rows do not stand on end.
  double RoomAfter(int hop) const {
    double farthest = 0;
    for (const Message& message : timeline_.messages) {
      if (timeline_.hop[message.from][message.from_step] != hop) continue;
      farthest = std::max(farthest, std::abs(Middle(message.to) - Middle(message.from)));
    }
    return 50 + 0.13 * farthest;
  }

  static std::string_view ColorOf(int rank) { return kColors[static_cast<std::size_t>(rank) % kColors.size()]; }

  void Header() {
    width_ = std::max(width_, kLeft + 1.4 * WidthOf(title_) + WidthOf(note_));
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
    if (!note_.empty()) {
      Add("<text x=\"{:.1f}\" y=\"22\" fill=\"#667\">{}</text>\n", 24 + 1.3 * WidthOf(title_), note_);
    }
    double line = -1;
    for (const Column& column : columns_) {
      if (column.shaded) {
        Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f4f5f7\"/>\n", column.left,
            column.top - 6, column.right - column.left, Middle(ranks()) + 8);
      }
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#667\">{}</text>\n",
          (column.left + column.right) / 2, column.top - 14, column.heading);
      if (column.top != line) Rows(line = column.top);
    }
  }

  void Rows(double top) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const double y = top + Middle(rank);
      if (rank > 0) {
        Add("<line x1=\"10\" y1=\"{0:.1f}\" x2=\"{1:.1f}\" y2=\"{0:.1f}\" stroke=\"#e3e6ea\"/>\n",
            y - heights_[rank] / 2, width_ - 12);
      }
      Add("<text x=\"6\" y=\"{:.1f}\" fill=\"{}\" font-weight=\"bold\">rank {}</text>\n", y + 4, ColorOf(rank), rank);
    }
  }

  // Through a switch: long dashes where it copies, short ones where it folds.
  static std::string_view DashesOf(plan::Sending sending) {
    if (plan::IsMulticast(sending)) return " stroke-dasharray=\"7 3\"";
    return plan::IsOffer(sending) ? " stroke-dasharray=\"2 3\"" : "";
  }

  Box* BoxOf(int rank, int step) {
    const int box = box_of_[rank][step];
    return box < 0 ? nullptr : &boxes_[box];
  }

  // The place of one of several arrows at a box's side.
  static double Share(const Box& box, int place, int all) {
    return box.y + kBoxHeight * ((place + 1.0) / (all + 1.0) - 0.5);
  }

  struct Ends {
    const Message* message;
    Box *from, *to;
    double leaves = 0, arrives = 0;  // y
  };

  // Those that leave or reach a box do so in the order of their other ends, so that they do not cross there.
  void Arrows() {
    std::vector<Ends> all;
    for (const Message& message : timeline_.messages) {
      Box* const from = BoxOf(message.from, message.from_step);
      Box* const to = BoxOf(message.to, message.to_step);
      if (from == nullptr || to == nullptr) continue;
      ++from->departures;
      ++to->arrivals;
      all.push_back({&message, from, to});
    }
    std::ranges::stable_sort(all, {}, [](const Ends& ends) { return ends.to->y; });
    for (Ends& ends : all) ends.leaves = Share(*ends.from, ends.from->departures_drawn++, ends.from->departures);
    std::ranges::stable_sort(all, {}, [](const Ends& ends) { return ends.from->y; });
    for (Ends& ends : all) ends.arrives = Share(*ends.to, ends.to->arrivals_drawn++, ends.to->arrivals);
    for (const Ends& ends : all) Arrow(ends);
  }

  // From the right side of one box to the left side of the other.
  void Arrow(const Ends& ends) {
    const Message& message = *ends.message;
    const double x1 = ends.from->x + ends.from->width, x2 = ends.to->x - 1, bend = (x2 - x1) * 0.4;
    Add("<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"1.3\" stroke-opacity=\"0.85\"{} marker-end=\"url(#m{})\"/>\n",
        x1, ends.leaves, x1 + bend, ends.leaves, x2 - bend, ends.arrives, x2, ends.arrives, ColorOf(message.from),
        DashesOf(plans_[static_cast<std::size_t>(message.from)].step(message.from_step).sending),
        static_cast<std::size_t>(message.from) % kColors.size());
  }

  void DrawBox(const Box& box) {
    Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"#ffffff\" "
        "stroke=\"{}\"/>\n",
        box.x, box.y - kBoxHeight / 2, box.width, kBoxHeight, ColorOf(box.rank));
    Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#222\">{}</text>\n", box.x + box.width / 2,
        box.y + 4, box.label);
  }

  std::string title_, note_;
  std::span<const plan::RankPlan> plans_;
  plan::Timeline timeline_;
  std::vector<Box> boxes_;
  std::vector<Kind> kinds_;               // of boxes that stand in hops
  std::vector<std::vector<int>> box_of_;  // by rank and step; -1: a step that waits for ever
  std::vector<Column> columns_;
  std::vector<double> heights_;  // of rows, by rank
  double width_ = 0, height_ = 0;
  std::string svg_;
};

}  // namespace

std::string DrawPlan(std::string_view title, std::span<const plan::RankPlan> plans) {
  return Drawing(title, plans).Draw();
}

}  // namespace tutti::tools
