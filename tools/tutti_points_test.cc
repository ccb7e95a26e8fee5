// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tutti_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/nccl_points.h"
#include "tools/point_texts.h"

namespace tutti::tools {
namespace {

double MeanOf(const std::vector<JudgedPoint>& points) {
  double sum = 0;
  for (const JudgedPoint& point : points) sum += point.error();
  return points.empty() ? 0 : sum / static_cast<double>(points.size());
}

void Show(const char* what, const SeenErrors& errors) {
  if (std::getenv("TUTTI_TEST_SHOW") == nullptr) return;
  fmt::print("{}: {}; mean {:.1f} %\n", what, errors.Describe(), 100 * MeanOf(errors.points()));
  if (errors.points().size() > 300) return;
  for (const JudgedPoint& p : errors.points()) {
    fmt::print("  {} {} ranks {}: {:.2f} us, predicted {:.2f}\n", Name(p.collective), p.ranks, p.size, p.measured_us,
               p.predicted_us);
  }
}

// Every line of the files has a prediction.
TEST(TuttiPoints, AllHaveAPrediction) {
  const auto lines = [](std::string_view file) {
    std::size_t count = 0, at = 0;
    const std::string_view text = PointText(file);
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at && text[at] != '#') ++count;
      at = end + 1;
    }
    return count - 1;  // of names
  };
  EXPECT_EQ(ErrorsOfGpus().points().size(), lines("tutti_one_host.csv"));
  EXPECT_EQ(ErrorsOfHosts(Cores::kOneForEach).points().size() + ErrorsOfHosts(Cores::kShared).points().size() +
                ErrorsOfGpusOfHosts().points().size(),
            lines("tutti_hosts.csv"));
  EXPECT_GT(ErrorsOfHostMemory(Constants::kMeasured, Cores::kOneForEach).points().size(), 400u);
  EXPECT_GT(ErrorsOfHostMemory(Constants::kMeasured, Cores::kShared).points().size(), 50u);
  Show("GPUs", ErrorsOfGpus());
  for (const Cores cores : {Cores::kOneForEach, Cores::kShared}) {
    Show("host memory, measured constants", ErrorsOfHostMemory(Constants::kMeasured, cores));
    Show("host memory, built-in constants", ErrorsOfHostMemory(Constants::kBuiltIn, cores));
    Show("hosts", ErrorsOfHosts(cores));
  }
  Show("GPUs of hosts", ErrorsOfGpusOfHosts());
}

TEST(TuttiPoints, ConstantsOfTheMachineItselfAreBetter) {
  EXPECT_LT(MeanOf(ErrorsOfHostMemory(Constants::kMeasured, Cores::kOneForEach).points()),
            MeanOf(ErrorsOfHostMemory(Constants::kBuiltIn, Cores::kOneForEach).points()));
}

// AcrossConstants::kernel_gb_per_s is fitted to these points: the mean of logarithms of ratios is least.
TEST(TuttiPoints, AnotherRateOfTheKernelIsNoBetter) {
  const auto mean_of = [](const std::vector<JudgedPoint>& points) {
    double sum = 0;
    for (const JudgedPoint& point : points) sum += std::abs(std::log(point.predicted_us / point.measured_us));
    return sum / static_cast<double>(points.size());
  };
  const double mean = mean_of(ErrorsOfGpusOfHosts().points());
  EXPECT_LT(mean, 0.3);
  for (const double factor : {0.6, 0.8, 1.25, 1.6}) {
    tune::AcrossConstants other;
    other.kernel_gb_per_s *= factor;
    EXPECT_GT(mean_of(JudgeGpusOfHosts(other)), mean) << factor;
  }
}

TEST(SeenErrors, AreThoseOfSizesNearby) {
  std::vector<JudgedPoint> points;
  for (int i = 1; i <= 10; ++i) {
    points.push_back({.size = 100, .measured_us = 100, .predicted_us = 100.0 + i});
    points.push_back({.size = 1'000'000, .measured_us = 100, .predicted_us = 100.0 - 5 * i});
  }
  const SeenErrors errors(points, "somewhere");
  EXPECT_NEAR(errors.At(100)->error, 0.09, 1e-9) << "nine of ten";
  EXPECT_EQ(errors.At(700)->points, 10);
  EXPECT_NEAR(errors.At(8'000'000)->error, 0.45, 1e-9);
  EXPECT_EQ(errors.At(20'000)->points, 20) << "none is near";
  EXPECT_NE(errors.Describe().find("20 points measured somewhere"), std::string::npos) << errors.Describe();
  EXPECT_FALSE(SeenErrors({}, "nowhere").At(8));
  EXPECT_NE(SeenErrors({}, "nowhere").Describe().find("no measured point nowhere"), std::string::npos);
}

TEST(WasMeasured, OnH200OfOneHostOnly) {
  tune::GpuSituation situation{.gpu = "NVIDIA H200", .compute_capability = 90, .multiprocessors = 132, .ranks = 4};
  EXPECT_TRUE(WasMeasured(situation));
  situation.ranks = 8;
  EXPECT_FALSE(WasMeasured(situation));
  situation.ranks = 2;
  situation.staged = true;
  EXPECT_FALSE(WasMeasured(situation));
  EXPECT_FALSE(WasMeasured({.gpu = "NVIDIA H100", .ranks = 2}));
}

TEST(ParseMeasuredHosts, SaysWhatIsWrong) {
  const auto says = [](const std::string& text) { return ParseMeasuredHosts(text).status().message(); };
  EXPECT_NE(says("all_reduce 8: 0.3 ring LL\n").find("line 1"), std::string::npos);
  EXPECT_NE(says("# fine\nranks two\n").find("line 2"), std::string::npos);
  const std::string head = "ranks 2 cpus 2\n" + tune::Machine().ToText() + "[times]\n";
  EXPECT_NE(says(head + "nothing 8: 1 ring\n").find("an operation and a size"), std::string::npos);
  EXPECT_NE(says(head + "all_reduce 8: soon ring\n").find("a time and a name"), std::string::npos);
  EXPECT_NE(says("ranks 2 cpus 2\n[times]\n").find("no constants"), std::string::npos);
  const auto hosts = ParseMeasuredHosts(head + "all_reduce 8: 0.3 ring LL; 0.4 tree LL, 2 channels\n");
  ASSERT_TRUE(hosts.ok()) << hosts.status().message();
  EXPECT_EQ(hosts->front().sizes.front().us.at("tree LL, 2 channels"), 0.4);
  EXPECT_EQ(hosts->front().sizes.front().best_us, 0.3);
}

}  // namespace
}  // namespace tutti::tools
