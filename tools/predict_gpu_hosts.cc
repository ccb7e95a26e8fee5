// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is predicted of GPUs of several hosts: stage by stage, as communicators divide operations.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/gpu/predict_hosts.h"
#include "comm/gpu/work.h"
#include "comm/host/predict.h"
#include "tools/gpu_choices.h"
#include "tools/predictor_kinds.h"
#include "tools/rank_simulation.h"
#include "tools/tutti_points.h"

namespace tutti::tools {
namespace {

using comm::HostsPart;
using comm::HostsPlace;
using comm::HostsTime;

// What choices are made by: of the GPUs of a host, where each host has several; in host memory, of all ranks and of a rail's.
struct Choices {
  std::optional<GpuChoices> within;
  HostChoices all, rail;
};

tune::Terms Scaled(tune::Terms terms, double factor) {
  for (double& part : terms.us) part *= factor;
  return terms;
}

class GpuHostsPredictor final : public Predictor {
 public:
  GpuHostsPredictor(const SourcedTopology& topology, const PredictorShape& shape, Choices choices,
                    std::vector<std::string> notes)
      : shape_(shape), choices_(std::move(choices)), simulation_(topology, shape) {
    about_ = {.machine = topology.graph.name,
              .memory = "memory of GPUs",
              .hosts = shape.hosts,
              .ranks = shape.ranks(),
              .notes = std::move(notes)};
    about_.notes.push_back("between hosts memory of GPUs goes through host memory today, over TCP");
    about_.notes.push_back(fmt::format("no error is known: Tutti was not measured between such hosts; {}",
                                       ErrorsOfGpusOfHosts().Describe()));
  }

  Result<Prediction> Predict(Collective collective, std::size_t size) override {
    Prediction prediction = PredictionOf(collective, shape_.ranks(), size);
    const std::vector<Operation> operations = OperationsOf(collective, prediction.bytes);
    const Result<HostsTime> model = PredictAcrossHosts(ModelFor(Timing::kModel, HasStages::kYes), operations);
    if (!model.ok()) return model.status();
    Result<PredictedWay> chosen = DescribeWay(*model, prediction.parts);
    if (!chosen.ok()) return chosen.status();
    prediction.ways.push_back(std::move(*chosen));
    TUTTI_RETURN_IF_ERROR(AddOtherWays(operations, *model, prediction));
    PutChosenFirst(prediction.ways, 0);
    if (choices_.within) prediction.rule = RuleOf(collective, prediction.ways.front().name.starts_with("in stages"));
    prediction.brief = BriefOf(prediction.parts);
    prediction.us = prediction.model_us();
    std::optional<LinkLoad> busiest;
    if (simulation_.possible()) TUTTI_RETURN_IF_ERROR(Simulate(collective, operations, prediction, busiest));
    SayWhatBinds(busiest, prediction);
    return prediction;
  }

 private:
  enum class Timing { kModel, kSimulated };
  enum class HasStages { kYes, kNo };

  // A collective, or a send to the next rank and a receive from the one before, of the last rank of a host.
  std::vector<Operation> OperationsOf(Collective collective, std::size_t bytes) const {
    const Operation operation{.kind = collective, .count = bytes, .type = DataType::kUint8};
    if (collective != Collective::kSendRecv) return {operation};
    const int rank = shape_.ranks_of_host - 1, ranks = shape_.ranks();
    Operation send = operation, receive = operation;
    send.kind = Collective::kSend;
    send.root = (rank + 1) % ranks;
    receive.kind = Collective::kRecv;
    receive.root = (rank + ranks - 1) % ranks;
    return {send, receive};
  }

  HostChoices& In(HostsPlace place) { return place == HostsPlace::kRail ? choices_.rail : choices_.all; }

  comm::HostsModel ModelFor(Timing timing, HasStages stages) {
    comm::HostsModel model{.rank = shape_.ranks_of_host - 1, .ranks = shape_.ranks()};
    if (choices_.within && stages == HasStages::kYes) {
      model.shape = comm::HostShape{
          .hosts = shape_.hosts, .places = shape_.ranks_of_host, .host = 0, .place = shape_.ranks_of_host - 1};
      model.within = [this](std::span<const Operation> group) { return choices_.within->PredictGroupUs(group); };
    }
    if (timing == Timing::kModel) {
      model.in_host_memory = [this](HostsPlace place, std::span<const Operation> group) {
        return comm::PredictGroupUs(In(place).chooser(), group);
      };
    } else {
      model.in_host_memory = [this](HostsPlace place, std::span<const Operation> group) {
        return SimulateGroup(place, group);
      };
    }
    return model;
  }

  // Which of both divisions a communicator takes is a rule of sizes (comm/gpu/host_stages.h).
  static std::string RuleOf(Collective collective, bool staged) {
    const bool moves_blocks =
        collective == Collective::kAllToAll || collective == Collective::kGather || collective == Collective::kScatter;
    if (collective == Collective::kSendRecv) return "a send goes from GPU to GPU where its peer is on the same host";
    const char* const from = moves_blocks ? "64 KiB for each peer" : "128 KiB of a rank's data";
    return staged ? fmt::format("from {} on operations are divided by hosts", from)
                  : fmt::format("below {} operations go through host memory as they are", from);
  }

  // The name and the parts of the time of a way, and what follows what.
  Result<PredictedWay> DescribeWay(const HostsTime& time, std::vector<PredictedPart>& parts) {
    PredictedWay way;
    bool staged = false;
    for (const HostsPart& part : time.parts) {
      PredictedWay one;
      if (part.place == HostsPlace::kWithin) {
        Result<PredictedWay> group = choices_.within->DescribeGroup(part.operations);
        if (!group.ok()) return group.status();
        one = std::move(*group);
      } else {
        Result<PredictedWay> group = DescribeInHostMemory(part);
        if (!group.ok()) return group.status();
        one = std::move(*group);
      }
      staged |= part.place != HostsPlace::kAll;
      way.terms += one.terms;
      parts.push_back({.what = NameOf(part), .way = one.name, .us = part.us});
    }
    way.name = staged ? "in stages" : "through host memory";
    for (const PredictedPart& part : parts)
      way.name += fmt::format("{} {}", &part == &parts.front() ? ":" : ",", part.way);
    return way;
  }

  // By the longest part.
  static std::string BriefOf(const std::vector<PredictedPart>& parts) {
    const auto longest = std::ranges::max_element(parts, {}, &PredictedPart::us);
    if (longest == parts.end()) return "nothing to do";
    return parts.size() == 1 ? longest->way : fmt::format("{} stages; {}", parts.size(), longest->way);
  }

  static std::string NameOf(const HostsPart& part) {
    const char* const where = part.place == HostsPlace::kWithin ? "GPUs of each host"
                              : part.place == HostsPlace::kRail ? "each rail, through host memory"
                                                                : "all ranks, through host memory";
    std::size_t bytes = 0;
    for (const Operation& o : part.operations) bytes = std::max(bytes, comm::BytesOf(o));
    return fmt::format(
        "{}: {} of {} bytes{}", where,
        IsTransfer(part.operations.front().kind) ? "sends and receives" : Name(part.operations.front().kind), bytes,
        part.pieces > 1 ? fmt::format(" in {} pieces", part.pieces) : "");
  }

  // A group in host memory with the way of its first piece.
  Result<PredictedWay> DescribeInHostMemory(const HostsPart& part) {
    HostChoices& choices = In(part.place);
    const Result<std::pair<Collective, std::size_t>> first = FirstOf(part.piece);
    if (!first.ok()) return first.status();
    const Result<tune::Choice> way = choices.Choose(first->first, first->second);
    if (!way.ok()) return way.status();
    PredictedWay described{.name = NameOf(*way, first->first)};
    tune::Terms terms = tune::TermsOf(choices.chooser(), *way, first->first, first->second);
    const double one_us = terms.Sum();
    described.terms = Scaled(terms, one_us > 0 ? part.across.runs_us / one_us : 0);
    described.terms[tune::Term::kStart] += part.across.start_us;
    described.terms[tune::Term::kCopies] += part.across.copies_us;
    return described;
  }

  static std::string NameOf(const tune::Choice& way, Collective collective) {
    const std::string name = tune::ToString(way);
    return collective == Collective::kSendRecv ? "sends and receives" + name.substr(name.find(' ')) : name;
  }

  // Of a piece: its collective, or that of sends and receives, and how many bytes.
  static Result<std::pair<Collective, std::size_t>> FirstOf(std::span<const Operation> piece) {
    if (piece.empty()) return Status(Code::kInternal, "a part in host memory has no piece");
    if (!IsTransfer(piece.front().kind)) return std::pair(piece.front().kind, comm::BytesOf(piece.front()));
    return std::pair(Collective::kSendRecv, comm::MostTransferred(piece).bytes);
  }

  // The other division, and for each part in host memory the second best way there.
  Status AddOtherWays(std::span<const Operation> operations, const HostsTime& chosen, Prediction& prediction) {
    const bool staged =
        std::ranges::any_of(chosen.parts, [](const HostsPart& p) { return p.place != HostsPlace::kAll; });
    if (staged) {
      const Result<HostsTime> other = PredictAcrossHosts(ModelFor(Timing::kModel, HasStages::kNo), operations);
      if (!other.ok()) return other.status();
      std::vector<PredictedPart> parts;
      Result<PredictedWay> way = DescribeWay(*other, parts);
      if (!way.ok()) return way.status();
      prediction.ways.push_back(std::move(*way));
    }
    for (std::size_t i = 0; i < chosen.parts.size(); ++i) {
      const HostsPart& part = chosen.parts[i];
      Result<std::vector<PredictedWay>> ways = WaysOf(part);
      if (!ways.ok()) return ways.status();
      if (ways->size() < 2) continue;
      const double runs_us = part.place == HostsPlace::kWithin ? part.us : part.across.runs_us;
      const double factor = (*ways)[0].us() > 0 ? runs_us / (*ways)[0].us() : 0;
      for (std::size_t other = 1; other < std::min<std::size_t>(ways->size(), 3); ++other) {
        PredictedWay way = prediction.ways.front();
        way.name = fmt::format("with {} in place of {}", (*ways)[other].name, (*ways)[0].name);
        way.terms += Scaled((*ways)[other].terms, factor);
        way.terms += Scaled((*ways)[0].terms, -factor);
        prediction.ways.push_back(std::move(way));
      }
    }
    return Status::Ok();
  }

  // Of the first operation of a part.
  Result<std::vector<PredictedWay>> WaysOf(const HostsPart& part) {
    if (part.place != HostsPlace::kWithin) {
      const Result<std::pair<Collective, std::size_t>> first = FirstOf(part.piece);
      if (!first.ok()) return first.status();
      return In(part.place).Ways(first->first, first->second);
    }
    const Operation& first = part.operations.front();
    if (part.operations.size() > 1 || IsTransfer(first.kind)) return std::vector<PredictedWay>();
    Result<GpuChoices::Ways> found = choices_.within->Find(first.kind, comm::BytesOf(first), tune::Outputs::kAnywhere);
    if (!found.ok()) return found.status();
    return std::move(found->ways);
  }

  // The same operation with what the simulator says of its pieces.
  Status Simulate(Collective collective, std::span<const Operation> operations, Prediction& prediction,
                  std::optional<LinkLoad>& busiest) {
    simulated_collective_ = collective;
    most_ = {};
    const Result<HostsTime> time = PredictAcrossHosts(ModelFor(Timing::kSimulated, HasStages::kYes), operations);
    if (!time.ok()) return time.status();
    prediction.us = time->us;
    prediction.why_not_model =
        "what goes between hosts takes what the simulator says, message by message over the links between them";
    int pieces = 0;
    for (const HostsPart& part : time->parts) pieces += part.pieces;
    for (std::size_t i = 0; i < std::min(prediction.parts.size(), time->parts.size()); ++i) {
      prediction.parts[i].us = time->parts[i].us;
    }
    // Of the longest piece, as often as there are pieces.
    prediction.wire_gb_per_s = most_.port_bytes * pieces / prediction.us / 1e3;
    busiest = most_.busiest;
    if (busiest) busiest->busy_us *= pieces;
    return Status::Ok();
  }

  Result<double> SimulateGroup(HostsPlace place, std::span<const Operation> group) {
    const Result<std::pair<Collective, std::size_t>> first = FirstOf(group);
    if (!first.ok()) return first.status();
    HostChoices& choices = In(place);
    const Result<tune::Choice> way = choices.Choose(first->first, first->second);
    if (!way.ok()) return way.status();
    const auto among = place == HostsPlace::kRail ? RankSimulation::Among::kRails : RankSimulation::Among::kAll;
    const Result<Simulated> simulated =
        first->first == Collective::kSendRecv
            ? simulation_.RunTransfers(choices, *way, PairsOf(place), comm::BytesOf(group.front()), among)
            : simulation_.Run(choices, *way, first->first, first->second, among);
    if (!simulated.ok()) return simulated.status();
    if (simulated->us > most_.us) most_ = *simulated;
    return simulated->us;
  }

  // Who sends to whom between hosts in what sends and receives stand for.
  std::vector<HostChoices::Pair> PairsOf(HostsPlace place) const {
    std::vector<HostChoices::Pair> pairs;
    const int ranks = place == HostsPlace::kRail ? shape_.hosts : shape_.ranks();
    const auto host_of = [&](int rank) { return place == HostsPlace::kRail ? rank : rank / shape_.ranks_of_host; };
    const auto is_pair = [&](int from, int to) {
      switch (simulated_collective_) {
        case Collective::kSendRecv:
          return (from + 1) % ranks == to;
        case Collective::kGather:
          return to == 0;
        case Collective::kScatter:
          return from == 0;
        default:
          return true;
      }
    };
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (host_of(from) != host_of(to) && is_pair(from, to)) pairs.push_back({.from = from, .to = to});
      }
    }
    return pairs;
  }

  PredictorShape shape_;
  Choices choices_;
  RankSimulation simulation_;
  Collective simulated_collective_ = Collective::kAllReduce;
  Simulated most_;  // the longest that was simulated for the operation in hand
};

}  // namespace

Result<std::unique_ptr<Predictor>> MakeGpuHostsPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                         const PredictorOptions& options) {
  const HostFacts facts = FactsFor(shape, options);
  std::vector<std::string> notes = topology.notes;
  std::optional<GpuChoices> within;
  if (shape.ranks_of_host > 1) {
    const Result<GpuFacts> gpus = GpuFactsOf(topology, shape.ranks_of_host, options.settings);
    if (!gpus.ok()) return gpus.status();
    Result<GpuChoices> made = GpuChoices::Create(*gpus, options.settings);
    if (!made.ok()) return made.status();
    notes.insert(notes.end(), gpus->notes.begin(), gpus->notes.end());
    notes.push_back(fmt::format("constants of GPUs: the table {}", made->table()));
    within = std::move(*made);
  }
  notes.push_back(fmt::format("constants of host memory: {}", facts.source));
  Result<HostChoices> all = HostChoices::Create(HostsFor(shape), options.settings, facts);
  if (!all.ok()) return all.status();
  Result<HostChoices> rail =
      HostChoices::Create(HostsFor({.hosts = shape.hosts, .ranks_of_host = 1}), options.settings, facts);
  if (!rail.ok()) return rail.status();
  return std::unique_ptr<Predictor>(std::make_unique<GpuHostsPredictor>(
      topology, shape, Choices{std::move(within), std::move(*all), std::move(*rail)}, std::move(notes)));
}

}  // namespace tutti::tools
