// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tools/topo_view.h"

namespace tutti::tools {
namespace {

using topo::Graph;
using topo::LinkKind;
using topo::NodeKind;

constexpr double kWidth = 92, kHeight = 34, kGapX = 12, kGapY = 54, kMargin = 24;

// What hangs below nothing that others hang on stands side by side; the rest above the middle of what hangs on it.
class Picture {
 public:
  Picture(const Graph& graph, int host) : graph_(graph), tree_(TreeOf(graph, host)), x_(tree_.size(), 0), y_(x_) {
    Place();
  }

  std::string Draw() {
    const double width = 2 * kMargin + columns_ * (kWidth + kGapX),
                 height = 2 * kMargin + (rows_ + 3) * (kHeight + kGapY);
    fmt::format_to(
        out(),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    for (const topo::Link& link : graph_.links()) Line(link);
    for (std::size_t i = 0; i < tree_.size(); ++i) Box(i);
    svg_ += "</svg>\n";
    return svg_;
  }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(svg_); }

  bool HasBelow(std::size_t place) const {
    return std::ranges::any_of(tree_, [&](const TreeEntry& e) { return e.parent == static_cast<int>(place); });
  }

  void Place() {
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      rows_ = std::max(rows_, tree_[i].depth);
      if (IsApart(i) || HasBelow(i)) continue;
      x_[i] = kMargin + columns_++ * (kWidth + kGapX);
    }
    for (std::size_t i = tree_.size(); i-- > 0;) {
      double least = 1e9, most = -1;
      for (std::size_t k = i + 1; k < tree_.size(); ++k) {
        if (tree_[k].parent != static_cast<int>(i)) continue;
        least = std::min(least, x_[k]);
        most = std::max(most, x_[k]);
      }
      if (most >= 0) x_[i] = (least + most) / 2;
      y_[i] = kMargin + (rows_ + 1 - tree_[i].depth) * (kHeight + kGapY);
    }
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      if (KindOf(i) == NodeKind::kNvSwitch) {
        x_[i] = kMargin + (columns_ - 1) * (kWidth + kGapX) / 2;
        y_[i] = kMargin;
      } else if (KindOf(i) == NodeKind::kCpu) {
        x_[i] = kMargin;
        for (const topo::Neighbour& n : graph_.NeighboursOf(tree_[i].node)) x_[i] = x_[PlaceOf(n.node)];
        y_[i] = kMargin + (rows_ + 2) * (kHeight + kGapY);
      }
    }
  }

  // Stands in a row of its own: above all, or below.
  bool IsApart(std::size_t place) const {
    return KindOf(place) == NodeKind::kNvSwitch || KindOf(place) == NodeKind::kCpu;
  }
  std::size_t PlaceOf(int node) const {
    return static_cast<std::size_t>(std::ranges::find(tree_, node, &TreeEntry::node) - tree_.begin());
  }

  NodeKind KindOf(std::size_t place) const { return graph_.node(tree_[place].node).kind; }

  void Line(const topo::Link& link) {
    const std::size_t a = PlaceOf(link.from), b = PlaceOf(link.to);
    if (a == tree_.size() || b == tree_.size()) return;
    const std::string_view color = link.gb_per_s() <= 0             ? "#c0392b"
                                   : link.kind == LinkKind::kNvLink ? "#76b900"
                                   : link.kind == LinkKind::kC2c    ? "#2f8f4e"
                                   : link.kind == LinkKind::kSocket ? "#a33b8f"
                                                                    : "#1f6fb4";
    const double x1 = x_[a] + kWidth / 2, y1 = y_[a] + kHeight / 2, x2 = x_[b] + kWidth / 2, y2 = y_[b] + kHeight / 2;
    // A link in a row goes round what stands between.
    const double arc = y1 == y2 ? std::min(2 * (kHeight + kGapY), kHeight + std::abs(x2 - x1) / 6) : 0;
    fmt::format_to(out(), "<path d=\"M{:.0f} {:.0f} Q{:.0f} {:.0f} {:.0f} {:.0f}\" fill=\"none\" stroke=\"{}\">", x1,
                   y1, (x1 + x2) / 2, (y1 + y2) / 2 - arc, x2, y2, color);
    fmt::format_to(out(), "<title>{} x {}, {:.4g} GB/s</title></path>\n", link.count, topo::ToString(link.kind),
                   link.gb_per_s());
    if (link.kind == LinkKind::kLocal) return;
    fmt::format_to(out(),
                   "<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\" font-size=\"9\" text-anchor=\"middle\">{:.4g}</text>\n",
                   (x1 + x2) / 2, (y1 + y2) / 2 - arc / 2, color, link.gb_per_s());
  }

  static std::string Escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
      safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    return safe;
  }

  void Box(std::size_t place) {
    const topo::Node& node = graph_.node(tree_[place].node);
    fmt::format_to(
        out(), "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" stroke=\"#555\"/>\n",
        x_[place], y_[place], kWidth, kHeight, node.kind == NodeKind::kGpu ? "#e8f5d0" : "#f2f2f2");
    fmt::format_to(out(), "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x_[place] + kWidth / 2,
                   y_[place] + 14, Escaped(node.name.empty() ? topo::ToString(node.kind) : node.name));
    const std::string below =
        node.port() != nullptr ? fmt::format("{:g} Gbit/s", node.port()->gbit_per_s) : node.pci.bus_id;
    fmt::format_to(out(),
                   "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\" font-size=\"9\" fill=\"#555\">{}</text>\n",
                   x_[place] + kWidth / 2, y_[place] + 27, Escaped(below));
  }

  const Graph& graph_;
  std::vector<TreeEntry> tree_;
  std::vector<double> x_, y_;  // of boxes, by place in the tree
  int columns_ = 0, rows_ = 0;
  std::string svg_;
};

}  // namespace

std::string DrawTopology(const Graph& graph, int host) { return Picture(graph, host).Draw(); }

}  // namespace tutti::tools
