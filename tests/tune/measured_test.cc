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
#include <sstream>
#include <string>
#include <vector>

#include "tools/host_choices.h"
#include "tools/perf_shape.h"
#include "tools/tutti_points.h"
#include "tune/chooser.h"
#include "tutti/settings.h"

namespace tutti::tools {
namespace {

constexpr double kNotMeasured = 4;  // times the best, or more

std::vector<MeasuredHost> Load(const std::string& name) {
  std::ifstream file(std::string(TUTTI_SOURCE_DIR) + "/tests/tune/measured/" + name + ".txt");
  EXPECT_TRUE(file.is_open()) << name;
  std::stringstream text;
  text << file.rdbuf();
  const Result<std::vector<MeasuredHost>> hosts = ParseMeasuredHosts(text.str());
  EXPECT_TRUE(hosts.ok()) << hosts.status().message();
  return hosts.ok() ? *hosts : std::vector<MeasuredHost>();
}

struct Regret {
  double mean = 0, worst = 0;
  int beyond = 0;  // sizes where the choice takes more than a tenth longer
  std::string text;
};

Regret RegretOf(const MeasuredHost& host) {
  Result<HostChoices> made = HostChoices::Create(host.ranks, Settings(), {.machine = host.machine, .cpus = host.cpus});
  Regret regret;
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return regret;
  HostChoices& choices = *made;
  for (const MeasuredSizes& sizes : host.sizes) {
    const std::size_t bytes = CountFor(sizes.collective, DataType::kUint8, host.ranks, sizes.size, Rounding::kExact);
    const std::string chosen = tune::ToString(*choices.Choose(sizes.collective, bytes));
    const auto found = sizes.us.find(chosen);
    const double lost = (found == sizes.us.end() ? kNotMeasured : found->second / sizes.best_us) - 1;
    regret.mean += lost / static_cast<double>(host.sizes.size());
    regret.worst = std::max(regret.worst, lost);
    if (lost <= 0.1) continue;
    ++regret.beyond;
    const auto best = std::ranges::min_element(sizes.us, {}, [](const auto& way) { return way.second; });
    regret.text += fmt::format("  {} {}: {} takes {:.0f} % longer than {} ({} us)\n", Name(sizes.collective),
                               sizes.size, chosen, 100 * lost, best->first, best->second);
  }
  return regret;
}

void Expect(const std::string& name, double most_mean, double most_beyond) {
  for (const MeasuredHost& host : Load(name)) {
    const Regret regret = RegretOf(host);
    const std::string text =
        fmt::format("{}, {} ranks: mean {:.1f} %, worst {:.0f} %, {} of {} sizes beyond 10 %\n{}", name, host.ranks,
                    100 * regret.mean, 100 * regret.worst, regret.beyond, host.sizes.size(), regret.text);
    if (std::getenv("TUTTI_TEST_SHOW") != nullptr) fmt::print("{}", text);
    EXPECT_LE(regret.mean, most_mean) << text;
    EXPECT_LE(regret.beyond, most_beyond * static_cast<double>(host.sizes.size())) << text;
  }
}

TEST(Measured, ChoicesOnTwoCores) { Expect("epyc_2_cores", 0.10, 0.27); }
TEST(Measured, ChoicesOnSixteenCores) { Expect("xeon_16_cores", 0.22, 0.40); }

}  // namespace
}  // namespace tutti::tools
