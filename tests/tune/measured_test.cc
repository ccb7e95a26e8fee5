// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the cost model chooses by the constants of machines on which all ways were timed (`tutti tune --regret --json`), against
// what was fastest there. measured/*.txt hold both: for each number of ranks the constants that a communicator measured at init, then
// for each operation and size the times of its ways, us, fastest first; what took more than four times as long is left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "comm/host/size_class.h"
#include "exec/cpu/chunks.h"
#include "plan/plan.h"
#include "transport/shm/segment.h"
#include "tune/chooser.h"
#include "tune/table.h"
#include "tutti/settings.h"

namespace tutti::tune {
namespace {

constexpr double kNotMeasured = 4;  // times the best, or more

struct Sizes {
  Collective collective = Collective::kAllReduce;
  std::size_t bytes = 0;  // of the larger side
  double best_us = 0;
  std::map<std::string, double> us;  // by way
};
struct Job {
  int ranks = 0, cpus = 0;
  Machine machine;
  std::vector<Sizes> sizes;
};

Sizes ParseLine(const std::string& line) {
  Sizes sizes;
  const std::size_t blank = line.find(' '), colon = line.find(':');
  sizes.collective = *ParseCollective(line.substr(0, blank));
  sizes.bytes = std::stoull(line.substr(blank));
  std::istringstream ways(line.substr(colon + 1));
  for (std::string way; std::getline(ways, way, ';');) {
    std::size_t end = 0;
    const double us = std::stod(way, &end);
    if (sizes.us.empty()) sizes.best_us = us;
    sizes.us[way.substr(end + 1)] = us;
  }
  return sizes;
}

std::vector<Job> Load(const std::string& name) {
  std::ifstream file(std::string(TUTTI_SOURCE_DIR) + "/tests/tune/measured/" + name + ".txt");
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<Job> jobs;
  std::string constants;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("ranks")) {
      Job job;
      std::sscanf(line.c_str(), "ranks %d cpus %d", &job.ranks, &job.cpus);
      jobs.push_back(job);
      constants.clear();
    } else if (line == "[times]") {
      const auto tables = SplitTables(constants);
      EXPECT_TRUE(tables.ok());
      jobs.back().machine = *Machine::Parse(tables->front());
    } else if (line.find(':') == line.npos) {
      constants += line + "\n";
    } else {
      jobs.back().sizes.push_back(ParseLine(line));
    }
  }
  return jobs;
}

Chooser ChooserOf(const Job& job) {
  const Settings settings;
  const int channels = std::max(1, settings.max_channels);
  const auto geometry =
      transport::shm::MakeGeometry(job.ranks, channels, static_cast<std::size_t>(settings.shared_bytes));
  const exec::cpu::ChunkRules rules{.rings = geometry.rings, .pool_bytes = geometry.pool_bytes, .ranks = job.ranks};
  return *Chooser::Create(
      {.ranks = job.ranks,
       .cpus = job.cpus,
       .machine = job.machine,
       .can_refer = true,
       .min_channels = std::clamp(settings.min_channels, 1, channels),
       .max_channels = channels,
       .chunk_bytes = [rules](const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference,
                              int count) { return rules.ForPlan(footprint, protocol, by_reference, count); },
       .transfer_chunk_bytes = [rules](proto::Protocol protocol,
                                       bool by_reference) { return rules.ForTransfer(protocol, by_reference); }});
}

struct Regret {
  double mean = 0, worst = 0;
  int beyond = 0;  // sizes where the choice takes more than a tenth longer
  std::string text;
};

Regret RegretOf(const Job& job) {
  Chooser chooser = ChooserOf(job);
  Regret regret;
  for (const Sizes& sizes : job.sizes) {
    const int pieces =
        std::max(plan::InPieces(sizes.collective, job.ranks), plan::OutPieces(sizes.collective, job.ranks));
    const std::size_t bytes =
        comm::SmallestOfClass(comm::SizeClass(sizes.bytes / static_cast<std::size_t>(std::max(pieces, 1))));
    const std::string chosen =
        ToString(sizes.collective == Collective::kSendRecv ? chooser.ChooseTransfer(bytes)
                                                           : *chooser.Choose(sizes.collective, bytes));
    const auto found = sizes.us.find(chosen);
    const double lost = (found == sizes.us.end() ? kNotMeasured : found->second / sizes.best_us) - 1;
    regret.mean += lost / static_cast<double>(job.sizes.size());
    regret.worst = std::max(regret.worst, lost);
    if (lost <= 0.1) continue;
    ++regret.beyond;
    const auto best = std::ranges::min_element(sizes.us, {}, [](const auto& way) { return way.second; });
    regret.text += fmt::format("  {} {}: {} takes {:.0f} % longer than {} ({} us)\n", Name(sizes.collective),
                               sizes.bytes, chosen, 100 * lost, best->first, best->second);
  }
  return regret;
}

void Expect(const std::string& name, double most_mean, double most_beyond) {
  for (const Job& job : Load(name)) {
    const Regret regret = RegretOf(job);
    const std::string text =
        fmt::format("{}, {} ranks: mean {:.1f} %, worst {:.0f} %, {} of {} sizes beyond 10 %\n{}", name, job.ranks,
                    100 * regret.mean, 100 * regret.worst, regret.beyond, job.sizes.size(), regret.text);
    if (std::getenv("TUTTI_TEST_SHOW") != nullptr) fmt::print("{}", text);
    EXPECT_LE(regret.mean, most_mean) << text;
    EXPECT_LE(regret.beyond, most_beyond * static_cast<double>(job.sizes.size())) << text;
  }
}

TEST(Measured, ChoicesOnTwoCores) { Expect("epyc_2_cores", 0.10, 0.27); }
TEST(Measured, ChoicesOnSixteenCores) { Expect("xeon_16_cores", 0.22, 0.40); }

}  // namespace
}  // namespace tutti::tune
