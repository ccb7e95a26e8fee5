// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/model_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/diag/model.h"

namespace tutti::tests {
namespace {

using diag::Kind;

constexpr int kLookMs = 200;
constexpr double kMostSeconds = 45, kAfterwards = 1;

class Case {
 public:
  Case(ModelFault fault, std::uint64_t seed, const diag::Rules& rules, const std::function<void(diag::Look&)>& distort)
      : fault_(fault),
        random_(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(fault)),
        rules_(rules),
        distort_(distort) {}

  CaseResult Run() {
    Choose();
    Model model(options_);
    model.Run(static_cast<int>(50 + Any(350)));
    std::vector<Expected> expected;
    if (fault_ == ModelFault::kTwo) {
      constexpr ModelFault kKinds[] = {ModelFault::kLate, ModelFault::kStopped, ModelFault::kDead,
                                       ModelFault::kGpuHung};
      const int one = Any(options_.ranks);
      const int other = (one + 1 + Any(options_.ranks - 1)) % options_.ranks;
      expected.push_back(Plant(model, kKinds[Any(4)], one));
      expected.push_back(Plant(model, kKinds[Any(4)], other));
      if (expected[0].kind == expected[1].kind) {  // one verdict may name both
        for (Expected& e : expected) e.ranks = {one, other};
      }
      name_ = fmt::format("two, ranks {} and {}", one, other);
    } else if (fault_ == ModelFault::kBenign) {
      return Benign(model);
    } else {
      victim_ = Any(options_.ranks);
      const Expected one = Plant(model, fault_, victim_);
      if (fault_ == ModelFault::kLie) {
        lie_ = Any(4);
        expected.push_back({.kind = Kind::kUnknown});
      } else {
        expected.push_back(one);
      }
    }
    return Observe(model, std::move(expected));
  }

 private:
  int Any(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }

  void Choose() {
    options_.ranks = 4 + Any(9);
    options_.shape = static_cast<Shape>(Any(3));
    constexpr int kUnits[] = {1, 16, 64};
    options_.units = kUnits[Any(3)];
    options_.rounds = Any(2) == 0 ? 1 : 6;
    constexpr int kPerHost[] = {1, 2, 4};
    options_.ranks_per_host = kPerHost[Any(3)];
    if (fault_ == ModelFault::kHostGone) options_.ranks_per_host = std::min(options_.ranks_per_host, 2);
    if (fault_ == ModelFault::kLinkStalled || fault_ == ModelFault::kWayBack || fault_ == ModelFault::kLinkSlow) {
      options_.ranks_per_host = 1;
    }
    if (fault_ == ModelFault::kNvLinkStalled || fault_ == ModelFault::kNvLinkSlow) {
      options_.ranks_per_host = std::max(options_.ranks_per_host, 2);
    }
    // What is too short for a link to be full of is no matter of speed.
    if (fault_ == ModelFault::kLinkSlow || fault_ == ModelFault::kGpuSlow || fault_ == ModelFault::kNvLinkSlow ||
        fault_ == ModelFault::kGpuTooHot) {
      options_.shape = Shape::kRing;
      options_.units = 64;
    }
  }

  Expected Plant(Model& model, ModelFault fault, int victim) {
    name_ = fmt::format("rank {}", victim);
    switch (fault) {
      case ModelFault::kGpuLate:
        model.DoNotStart(victim);
        return {.kind = Kind::kGpuLate, .ranks = {victim}};
      case ModelFault::kGpuHung:
        model.SetSpeed(victim, 0);
        return {.kind = Kind::kGpuHung, .ranks = {victim}};
      case ModelFault::kGpuSlow:
        model.SetSpeed(victim, 5);
        return {.kind = Kind::kGpuSlow, .ranks = {victim}};
      case ModelFault::kLinkStalled:
      case ModelFault::kWayBack:
      case ModelFault::kLinkSlow: {
        const auto [from, to] = model.AnyEdge(random_);
        name_ = fmt::format("link {} to {}", from, to);
        if (fault == ModelFault::kLinkStalled) model.SetLink(from, to, 0);
        if (fault == ModelFault::kLinkSlow) model.SetLink(from, to, options_.link_speed * 0.1);
        if (fault == ModelFault::kWayBack) model.LoseCredit(from, to);
        return {.kind = fault == ModelFault::kLinkSlow ? Kind::kLinkSlow : Kind::kLinkStalled,
                .link_from = from,
                .link_to = to};
      }
      case ModelFault::kNvLinkStalled:
      case ModelFault::kNvLinkSlow: {
        std::pair<int, int> edge;
        do {
          edge = model.AnyEdge(random_);
        } while (edge.first / options_.ranks_per_host != edge.second / options_.ranks_per_host);
        const auto [from, to] = edge;
        name_ = fmt::format("NVLink {} to {}", from, to);
        model.SetLink(from, to, fault == ModelFault::kNvLinkSlow ? options_.link_speed * 0.1 : 0);
        // One of the two ends counts; links to a switch say nothing of where their data go.
        const bool at_sender = Any(2) == 0;
        const std::string far = Any(2) == 0 ? "" : BusIdOf(at_sender ? to : from);
        gpus_[at_sender ? from : to].nvlinks.push_back({.number = 4, .down = Any(2) == 0, .to = far, .recoveries = 3});
        return {.kind = Kind::kNvLinkFault, .link_from = from, .link_to = to, .reason = "NVLink 4 of GPU "};
      }
      case ModelFault::kGpuFailed:
        model.SetSpeed(victim, 0);
        gpus_[victim].xids.push_back({.number = 79, .at_ns = model.now_ns()});
        return {.kind = Kind::kGpuHung, .ranks = {victim}, .reason = "Xid 79 of GPU " + BusIdOf(victim)};
      case ModelFault::kGpuTooHot:
        model.SetSpeed(victim, 5);
        gpus_[victim].clock_mhz = 345;
        gpus_[victim].most_clock_mhz = 1980;
        gpus_[victim].throttle = diag::kTooHot;
        return {.kind = Kind::kGpuSlow, .ranks = {victim}, .reason = "runs at 345 of 1980 MHz (too hot)"};
      case ModelFault::kOutOfMemory:
        model.SetProcess(victim, diag::ProcessState::kGone);
        ended_ = victim;
        return {.kind = Kind::kDead, .ranks = {victim}, .reason = "control group /job lacked memory"};
      case ModelFault::kDead:
        model.SetProcess(victim, diag::ProcessState::kGone);
        return {.kind = Kind::kDead, .ranks = {victim}};
      case ModelFault::kStopped:
        model.SetProcess(victim, diag::ProcessState::kStopped);
        return {.kind = Kind::kStopped, .ranks = {victim}};
      case ModelFault::kHostGone: {
        model.LoseHost(victim);
        Expected gone{.kind = Kind::kHostGone};
        const int first = victim / options_.ranks_per_host * options_.ranks_per_host;
        for (int r = first; r < first + options_.ranks_per_host; ++r) gone.ranks.push_back(r);
        return gone;
      }
      case ModelFault::kMismatch:
        model.CallSomethingElse(victim);
        return {.kind = Kind::kMismatch, .ranks = {victim}};
      default:
        model.DoNotCall(victim);
        return {.kind = Kind::kLateHost, .ranks = {victim}};
    }
  }

  diag::Look Take(const Model& model) const {
    diag::Look look = model.Take();
    AddHardware(look);
    if (lie_ >= 0) Lie(look);
    if (distort_) distort_(look);
    return look;
  }

  static std::string BusIdOf(int rank) { return fmt::format("0000:{:02x}:00.0", rank + 1); }

  // Every rank has a GPU of its own, of which the system says what was planted.
  void AddHardware(diag::Look& look) const {
    for (diag::RankLook& rank : look.communicators[0].seen) {
      rank.gpu_bus_id = BusIdOf(rank.rank);
      const auto planted = gpus_.find(rank.rank);
      diag::GpuLook gpu = planted == gpus_.end() ? diag::GpuLook() : planted->second;
      gpu.bus_id = rank.gpu_bus_id;
      look.processes[static_cast<std::size_t>(rank.process)].gpus.push_back(std::move(gpu));
    }
    if (ended_ >= 0)
      look.processes[static_cast<std::size_t>(ended_)].ending = {
          .out_of_memory = true, .of_group = true, .group = "/job"};
  }

  // A rank that waits says what cannot be.
  void Lie(diag::Look& look) const {
    std::vector<diag::RankLook>& seen = look.communicators[0].seen;
    const auto liar = std::ranges::find_if(seen, [&](const diag::RankLook& r) {
      return r.rank != victim_ && r.wait.kind != trace::WaitKind::kNothing && r.finished > 0;
    });
    if (liar == seen.end()) return;
    const auto out = std::ranges::find_if(liar->links, [](const diag::LinkLook& l) { return l.sent[0] > 0; });
    switch (lie_) {
      case 0:
        liar->finished = liar->called + 2;
        liar->called = liar->called + 1;
        return;
      case 1:
        liar->wait.number += 40;
        return;
      case 2:
        if (out != liar->links.end()) out->credit[0] = out->sent[0] + 5;
        return;
      default:
        if (out == liar->links.end()) return;
        for (diag::LinkLook& l : std::ranges::find(seen, out->peer, &diag::RankLook::rank)->links) {
          if (l.peer == liar->rank) l.received[0] = out->sent[0] + 9;
        }
    }
  }

  CaseResult Named() const {
    return {.name = fmt::format("{} of {}, {} to a host, {}, {} units x {}", name_, options_.ranks,
                                options_.ranks_per_host, Name(options_.shape), options_.units, options_.rounds),
            .kind = Name(fault_)};
  }

  CaseResult Observe(Model& model, std::vector<Expected> expected) {
    Listener listener(std::move(expected), rules_);
    const std::int64_t begin_ns = model.now_ns();
    diag::Look before = Take(model);
    double until = kMostSeconds;
    for (double seconds = 0; seconds < until;) {
      model.Run(kLookMs);
      diag::Look now = Take(model);
      seconds = static_cast<double>(model.now_ns() - begin_ns) * 1e-9;
      const bool heard = listener.heard();
      listener.Hear(diag::Judge(before, now, rules_), seconds);
      if (!heard && listener.heard()) until = seconds + kAfterwards;
      before = std::move(now);
    }
    CaseResult result = Named();
    listener.Tell(result);
    return result;
  }

  // Nothing may be told, whatever goes on. A rank that pauses for some seconds may be named at INFO.
  CaseResult Benign(Model& model) {
    const int what = Any(4);
    const int victim = Any(options_.ranks);
    constexpr const char* kNames[] = {"nothing", "a pause of 1.2 s", "a slower rank and link", "a pause of 8 s"};
    name_ = kNames[what];
    std::vector<Expected> expected;
    if (what == 1 || what == 3) model.DoNotCall(victim);
    if (what == 2) {
      const auto [from, to] = model.AnyEdge(random_);
      model.SetSpeed(victim, options_.rank_speed * 0.3);
      model.SetLink(from, to, options_.link_speed * 0.7);
    }
    if (what == 3) expected.push_back({.kind = Kind::kLateHost, .ranks = {victim}});
    Listener listener(std::move(expected), rules_);
    diag::Look before = Take(model);
    const int pause = what == 1 ? 6 : 40;
    for (int look = 0; look < 60; ++look) {
      if (look == pause) model.Resume(victim);
      model.Run(kLookMs);
      diag::Look now = Take(model);
      listener.Hear(diag::Judge(before, now, rules_), look * kLookMs * 1e-3);
      before = std::move(now);
    }
    CaseResult result = Named();
    listener.Tell(result);
    if (listener.loud() || !listener.nothing_stands()) {
      result.right = false;
      result.wrong.push_back("it warned, or went on when all was well again");
    }
    return result;
  }

  const ModelFault fault_;
  std::mt19937_64 random_;
  const diag::Rules& rules_;
  const std::function<void(diag::Look&)>& distort_;
  ModelOptions options_;
  std::string name_;
  int victim_ = -1;
  int lie_ = -1;
  std::map<int, diag::GpuLook> gpus_;  // by rank: what the system says of them
  int ended_ = -1;                     // for want of memory
};

}  // namespace

const char* Name(ModelFault fault) {
  constexpr const char* kNames[kModelFaults] = {
      "late host",      "GPU late",    "GPU hung",   "GPU slow",    "link stalled", "way back stalled", "link slow",
      "dead",           "stopped",     "host gone",  "mismatch",    "two faults",   "planted lie",      "benign",
      "NVLink stalled", "NVLink slow", "GPU failed", "GPU too hot", "out of memory"};
  return kNames[static_cast<int>(fault)];
}

CaseResult RunModelCase(ModelFault fault, std::uint64_t seed, const diag::Rules& rules,
                        const std::function<void(diag::Look&)>& distort) {
  return Case(fault, seed, rules, distort).Run();
}

void LoseConsumed(diag::Look& look) {
  for (diag::CommunicatorLook& c : look.communicators) {
    for (diag::RankLook& rank : c.seen) {
      for (diag::LinkLook& link : rank.links) link.credit = {};
    }
  }
}

}  // namespace tutti::tests
