// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Prometheus' text of jobs that were written by hand, read back line by line.
#include "tools/record_prometheus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "diag/test_looks.h"

namespace tutti::tools {
namespace {

// Samples by series, as "name{label="value",...}". Fails the test on any line that the format does not allow.
class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    EXPECT_TRUE(text.ends_with("\n"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) Read(line);
  }
  double At(const std::string& series) const {
    const auto found = samples_.find(series);
    EXPECT_NE(found, samples_.end()) << series;
    return found == samples_.end() ? -1 : found->second;
  }
  bool Has(const std::string& series) const { return samples_.contains(series); }
  std::size_t CountOf(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        samples_, [&](const auto& s) { return s.first == name || s.first.starts_with(name + "{"); }));
  }
  std::size_t size() const { return samples_.size(); }

 private:
  void Read(const std::string& line) {
    static const std::regex kHelp("# HELP ([a-z_]+) (\\S.*)"), kType("# TYPE ([a-z_]+) (counter|gauge)"),
        kSample(
            "([a-z_]+)(\\{[a-z_]+=\"(?:[^\"\\\\\n]|\\\\[\\\\\"n])*\"(?:,[a-z_]+=\"(?:[^\"\\\\\n]|\\\\[\\\\\"n])*\")*\\}"
            ")? "
            "(-?[0-9]+(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?)");
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      EXPECT_TRUE(families_.insert(match[1]).second) << "a second time: " << line;
      family_ = match[1];
      type_.clear();
    } else if (std::regex_match(line, match, kType)) {
      EXPECT_EQ(match[1], family_) << line;
      EXPECT_TRUE(type_.empty()) << line;
      type_ = match[2];
      EXPECT_EQ(family_.ends_with("_total"), type_ == "counter") << line;
    } else if (std::regex_match(line, match, kSample)) {
      EXPECT_EQ(match[1], family_) << line;
      EXPECT_FALSE(type_.empty()) << line;
      EXPECT_TRUE(family_.starts_with("tutti_")) << line;
      EXPECT_TRUE(samples_.emplace(match[1].str() + match[2].str(), std::stod(match[3])).second) << "twice: " << line;
    } else {
      ADD_FAILURE() << "no line of this format: " << line;
    }
  }

  std::set<std::string> families_;
  std::string family_, type_;
  std::map<std::string, double> samples_;
};

Exposition Format(const diag::Job& job) {
  const diag::Look before = job.Before();
  return Exposition(FormatPrometheus(job.now, FindJobs(before, job.now, diag::Judge(before, job.now))));
}

constexpr const char* kDp = "comm=\"00000000000000c0\",comm_name=\"dp\"";

TEST(Prometheus, CountsWhatIsKnown) {
  diag::Job job(3);
  job.rank(1).called = job.rank(1).finished = 17;  // seven of them transfers
  diag::LinkLook& link = job.LinkOf(1, 2);
  link.sent = {5, 0, 7};
  link.received = {6, 0, 0};
  link.data_wait_ns = 1'500 * diag::kMs;
  link.room_wait_ns = 250 * diag::kMs;
  job.LinkOf(1, 0).sent = {2, 0, 0};
  const Exposition text = Format(job);
  EXPECT_EQ(text.At("tutti_jobs"), 1);
  EXPECT_EQ(text.At("tutti_ranks{job_pid=\"100\"}"), 3);
  EXPECT_EQ(text.At("tutti_job_status{job_pid=\"100\"}"), 0);
  EXPECT_EQ(text.At("tutti_stuck_seconds{job_pid=\"100\"}"), 0);
  EXPECT_EQ(text.CountOf("tutti_build_info"), 1u);
  EXPECT_EQ(text.CountOf("tutti_communicator_info"), 1u);
  const auto of = [&](const std::string& name, const std::string& more) {
    return text.At(name + "{" + kDp + ",rank=\"1\"" + more + "}");
  };
  EXPECT_EQ(of("tutti_operations_total", ",op=\"collective\""), 10);
  EXPECT_EQ(of("tutti_operations_total", ",op=\"transfer\""), 7);
  EXPECT_EQ(of("tutti_operations_ended_total", ""), 17);
  EXPECT_EQ(of("tutti_waited_seconds_total", ",for=\"data\""), 1.5);
  EXPECT_EQ(of("tutti_waited_seconds_total", ",for=\"room\""), 0.25);
  EXPECT_EQ(of("tutti_link_units_total", ",protocol=\"LL\",direction=\"sent\""), 7);
  EXPECT_EQ(of("tutti_link_units_total", ",protocol=\"LL\",direction=\"received\""), 6);
  EXPECT_EQ(of("tutti_link_units_total", ",protocol=\"Simple\",direction=\"sent\""), 7);
  EXPECT_EQ(text.CountOf("tutti_link_units_total"), 3u);
  EXPECT_EQ(text.CountOf("tutti_wait_seconds"), 0u);  // nobody waits
  EXPECT_EQ(text.CountOf("tutti_verdicts"), 2u * diag::kKinds);
}

TEST(Prometheus, SaysWhoWaitsAndWhoIsNamed) {
  diag::Job job(4);
  job.WaitOnRing(20, {2});
  const Exposition text = Format(job);
  EXPECT_NEAR(text.At(std::string("tutti_wait_seconds{") + kDp + ",rank=\"3\",for=\"data\"}"), 20, 1e-6);
  EXPECT_EQ(text.CountOf("tutti_wait_seconds"), 3u);
  EXPECT_EQ(text.At("tutti_verdicts{kind=\"late host\",severity=\"WARN\"}"), 1);
  EXPECT_EQ(text.At("tutti_verdicts{kind=\"dead\",severity=\"WARN\"}"), 0);
  EXPECT_EQ(text.At(std::string("tutti_verdict_info{kind=\"late host\",severity=\"WARN\",") + kDp +
                    ",rank=\"2\",host=\"a\",pid=\"102\",job_pid=\"100\"}"),
            1);
  EXPECT_EQ(text.CountOf("tutti_verdict_info"), 1u);
  EXPECT_EQ(text.At("tutti_job_status{job_pid=\"100\"}"), 1);
  EXPECT_NEAR(text.At("tutti_stuck_seconds{job_pid=\"100\"}"), 20, 1e-6);
}

// What is not known is not counted.
TEST(Prometheus, InventsNothing) {
  diag::Job job(2);
  job.rank(0).knows_collectives = false;
  job.rank(0).called = 5000;
  job.rank(1).records_calls = false;
  const Exposition text = Format(job);
  EXPECT_EQ(text.At(std::string("tutti_operations_total{") + kDp + ",rank=\"0\",op=\"any\"}"), 5000);
  EXPECT_EQ(text.CountOf("tutti_operations_total"), 1u);
  EXPECT_EQ(text.CountOf("tutti_operations_ended_total"), 1u);
}

// However many peers and channels there are.
TEST(Prometheus, HasFewSeries) {
  diag::Job job(64);
  for (int r = 0; r < 64; ++r) {
    for (int peer = 0; peer < 64; ++peer) {
      for (int channel = 0; channel < 4; ++channel)
        job.rank(r).links.push_back({.peer = peer, .channel = channel, .sent = {1, 1, 1}, .received = {1, 1, 1}});
    }
  }
  EXPECT_LT(Format(job).size(), 64u * 13);
}

TEST(Prometheus, EscapesLabels) {
  EXPECT_EQ(EscapeLabel("a\\b\"c\nd\x01\xc3\xa9"), "a\\\\b\\\"c\\nd???");
  diag::Job job(2);
  job.communicator().name = "a \"strange\\name\"";
  const Exposition text = Format(job);
  EXPECT_TRUE(
      text.Has("tutti_communicator_info{comm=\"00000000000000c0\",comm_name=\"a \\\"strange\\\\name\\\"\","
               "job_pid=\"100\",ranks=\"2\"}"));
}

TEST(Prometheus, SaysThatThereIsNoJob) {
  const Exposition text(FormatPrometheus({}, {}));
  EXPECT_EQ(text.At("tutti_jobs"), 0);
  EXPECT_EQ(text.CountOf("tutti_ranks"), 0u);
}

}  // namespace
}  // namespace tutti::tools
