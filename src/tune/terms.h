// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_TERMS_H_
#define TUTTI_TUNE_TERMS_H_

// What a predicted time consists of.
//
// The parts are found by asking the same model again, each time with one more group of its constants at no cost: what the prediction
// loses is that group's part. So this knows no formula, parts add up to the prediction whatever formula makes it, and a formula that
// changes needs no change here. What takes place at the same time as something else belongs to the group that is taken away first, in
// the order kHops, kNetwork, kLinks, kCopies, kFolds, kMessages, kStart.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tune/chooser.h"
#include "tune/gpu_model.h"
#include "tutti/types.h"

namespace tutti::tune {

enum class Term : std::uint8_t {
  kStart,     // launches, and the filling of pipelines
  kHops,      // until a peer sees what was written, as often as messages wait for each other
  kMessages,  // the price of messages, whatever their size
  kLinks,     // bytes on the links of GPUs
  kCopies,    // bytes written to and read from memory of the host
  kFolds,
  kNetwork,  // bytes between hosts: what they cost the ranks that send and receive them
};
inline constexpr int kTerms = 7;
// "start", "hops", "messages", "links", "copies", "folds", "network".
std::string_view Name(Term term);

// A time in parts, us.
struct Terms {
  std::array<double, kTerms> us{};

  double& operator[](Term term) { return us[static_cast<std::size_t>(term)]; }
  double operator[](Term term) const { return us[static_cast<std::size_t>(term)]; }
  Terms& operator+=(const Terms& more);
  double Sum() const;
  // The first one where several are.
  Term Largest() const;
};

// A way of GPUs with the parts of its prediction.
struct GpuWayTerms {
  GpuChoice way;
  Terms terms;
  bool by_channels = false;  // kLinks: the channels are too few for the link, which could carry more
};
// GpuChooser::Candidates with the parts of each, in the same order.
std::vector<GpuWayTerms> TermsOf(const GpuChooser& chooser, Collective collective, std::size_t bytes,
                                 Outputs outputs = Outputs::kAnywhere);
// Of PredictTransferUs.
Terms TermsOfTransfer(const GpuMachine& machine, std::size_t bytes);

// Of Chooser::PredictUs. REQUIRES: as there.
Terms TermsOf(const Chooser& chooser, const Choice& way, Collective collective, std::size_t bytes);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_TERMS_H_
