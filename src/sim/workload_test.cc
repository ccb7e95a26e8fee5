// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "sim/test_machines.h"
#include "sim/workload_job.h"

namespace tutti::sim {
namespace {

std::string ErrorOf(const std::string& text) {
  const Result<Workload> workload = ReadWorkload(text);
  return workload.ok() ? "" : workload.status().message();
}

TEST(Workload, IsReadAsWritten) {
  const Result<Workload> read = ReadWorkload(
      "# a comment\n"
      "ranks tensor=8 pipeline=4 data=16   # 512\n"
      "microbatches 32\n"
      "schedule all_forward\n"
      "\n"
      "forward\n"
      "\treceive 24MiB\r\n"
      "  repeat 20\n"
      "    compute 1.5ms\n"
      "    all_reduce tensor 48MB by ring LL128 channels 16 chunk 512KiB\n"
      "  end\n"
      "  send 24MiB\n"
      "finish\n"
      "  reduce_scatter data 1GiB beside\n"
      "  wait\n"
      "  barrier all\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->ranks(), 512);
  EXPECT_EQ(read->pipeline(), 1);
  EXPECT_EQ(read->microbatches, 32);
  EXPECT_EQ(read->schedule, Workload::Schedule::kAllForward);
  const auto& forward = read->sections[Workload::kForward];
  ASSERT_EQ(forward.size(), 6u);
  EXPECT_EQ(forward[0].kind, Statement::Kind::kReceive);
  EXPECT_EQ(forward[0].bytes, 24u << 20);
  EXPECT_EQ(forward[1].times, 20u);
  EXPECT_EQ(forward[2].compute_us, 1500);
  EXPECT_EQ(forward[3].bytes, 48000000u);
  EXPECT_EQ(forward[3].group, 0);
  ASSERT_TRUE(forward[3].by.has_value());
  EXPECT_EQ(forward[3].by->algorithm, algo::Algorithm::kRing);
  EXPECT_EQ(forward[3].by->protocol, proto::Protocol::kLl128);
  EXPECT_EQ(forward[3].by->channels, 16);
  EXPECT_EQ(forward[3].by->chunk_bytes, 512u << 10);
  EXPECT_EQ(forward[3].line, 10);
  const auto& finish = read->sections[Workload::kFinish];
  ASSERT_EQ(finish.size(), 3u);
  EXPECT_TRUE(finish[0].beside);
  EXPECT_EQ(finish[1].kind, Statement::Kind::kWait);
  EXPECT_EQ(finish[2].group, Statement::kAll);
}

struct WrongText {
  const char* text;
  const char* error;
};

void ExpectErrors(std::span<const WrongText> cases) {
  for (const WrongText& each : cases) {
    EXPECT_NE(ErrorOf(each.text).find(each.error), std::string::npos) << each.text << "\n  " << ErrorOf(each.text);
  }
}

TEST(Workload, ErrorsNameTheirLine) {
  const WrongText cases[] = {
      {"", "line 1 of the workload: the file has no line \"ranks\""},
      {"ranks\n", "line 1 of the workload: \"ranks\" needs a group"},
      {"ranks all=2\n", "not named all"},
      {"ranks a=2 a=2\n", "group \"a\" is there twice"},
      {"ranks a=0\n", "a whole number from 1 to"},
      {"ranks a=1048576 b=2\n", "these are 2097152 ranks"},
      {"ranks a=2\nranks b=2\n", "line 2 of the workload: there is a line \"ranks\" before"},
      {"ranks a=2\nmicrobatches x\n",
       "line 2 of the workload: microbatches needs a whole number from 1 to 65536, found \"x\""},
      {"ranks a=2\nmicrobatches 2 3\n", "\"3\" is more than belongs there"},
      {"ranks a=2\nschedule gpipe\n", "a schedule is 1f1b or all_forward, found \"gpipe\""},
      {"ranks a=2\ncompute 1us\n", "line 2 of the workload: \"compute\" comes before"},
      {"begin\ncompute 1us\n", "line 2 of the workload: \"compute\" comes before"},
      {"ranks a=2\nbegin\ncompute -1us\n", "compute needs a time"},
      {"ranks a=2\nbegin\ncompute nanus\n", "compute needs a time"},
      {"ranks a=2\nbegin\ncompute 1e300s\n", "compute needs a time"},
      {"ranks a=2\nbegin\nall_reduce b 1B\n", "\"b\" is no group"},
      {"ranks a=2\nbegin\nall_reduce a 1B fast\n", "\"fast\" is no option"},
      {"ranks a=2\nbegin\nall_reduce a 1B last\n", "last belongs into forward or backward"},
      {"ranks a=2\nbegin\nall_reduce a 1B by wheel\n", "\"wheel\" is no algorithm; there are one_shot, two_shot"},
      {"ranks a=2\nbegin\nall_reduce a 1B by ring SLOW\n", "\"SLOW\" is no protocol"},
      {"ranks a=2\nbegin\nall_reduce a 1B by ring LL 3\n", "\"channels\" and their number"},
      {"ranks a=2\nbegin\nall_reduce a 1B by ring LL channels 0\n", "channels needs a whole number"},
      {"ranks a=2\nbegin\nall_reduce a 1B by ring LL channels 1 chunk 0B\n", "a chunk of 0 bytes"},
      {"ranks a=2\nbegin\nsend_recv a 1B\n", "\"send_recv\" is no statement"},
      {"ranks a=2\nforward\nsend 1B\n", "send needs a group named pipeline"},
      {"ranks pipeline=2\nfinish\nsend 1B\n", "send belongs into forward or backward"},
      {"ranks a=2\nbegin\nend\n", "line 3 of the workload: there is no repeat that ends here"},
      {"ranks a=2\nbegin\nrepeat 2\nforward\n", "line 4 of the workload: the repeat of line 3 has no end before this"},
      {"ranks a=2\nbegin\nrepeat 2\n", "the repeat of line 3 has no end"},
      {"ranks a=2\nbegin\nwait\nbegin\n", "line 4 of the workload: there is a section begin before"},
      {"ranks a=2\nbegin\nrepeat 1048576\nrepeat 1048576\nwait\nend\nend\n", "more than 1048576 statements"},
  };
  ExpectErrors(cases);
}

TEST(Workload, ErrorsOfRatesNamesAndJoinedGroups) {
  const WrongText cases[] = {
      {"ranks data\n", "line 1 of the workload: a group is written as \"tensor=8\""},
      {"ranks a=2\nbegin\ncompute 1\n",
       "line 3 of the workload: compute needs a time or work, as 1.5ms, 300us or 2.1TFLOP, found \"1\""},
      {"ranks a=2\nbegin\ncompute 1TFLOP\n", "\"1TFLOP\" takes as long as a GPU's rate makes it; say that before"},
      {"ranks a=2\ngpu 2TFLOP/s\nbegin\ncompute 1TFLOP\n", "line 4 of the workload: \"1TFLOP\" takes as long"},
      {"ranks a=2\ngpu 2TFLOP/s sustains 1e-300TFLOP/s\nbegin\ncompute 1TFLOP\n", "compute needs a time"},
      {"ranks a=2\ngpu 2\n", "line 2 of the workload: \"gpu\" needs a rate, as in \"gpu 989TFLOP/s\", found \"2\""},
      {"ranks a=2\ngpu 0TFLOP/s\n", "\"gpu\" needs a rate"},
      {"ranks a=2\ngpu 2TFLOP/s does 1TFLOP/s\n",
       "only \"sustains\" and a rate may follow a GPU's rate, found \"does\""},
      {"ranks a=2\ngpu 2TFLOP/s sustains\n", "\"sustains\" needs a rate, as 500TFLOP/s, found \"\""},
      {"ranks a=2\ngpu 2TFLOP/s\ngpu 2TFLOP/s\n", "line 3 of the workload: there is a line \"gpu\" before"},
      {"ranks a=2\nmodel 70e9\n", "a model is written as \"model 70e9 parameters 131072 tokens\", found \"\""},
      {"ranks a=2\nmodel 7 parameters 1 words\n", "131072 tokens\", found \"words\""},
      {"ranks a=2\nmodel 0 parameters 1 tokens\n", "131072 tokens\", found \"0\""},
      {"ranks a=2\nmodel 7 parameters 1 tokens\nmodel 7 parameters 1 tokens\n", "there is a line \"model\" before"},
      {"ranks a+b=2\n", "its name has no plus; found \"a+b=2\""},
      {"ranks a=2\nbegin\nall_reduce a+b 1B\n", "\"b\" is no group"},
      {"ranks a=2 b=2\nbegin\nall_reduce a+b+a 1B\n", "\"a+b+a\" joins \"a\" twice"},
      {"ranks a=2\nbegin\nall_reduce a 1B as x\n", "\"as\" and a name come behind \"beside\""},
      {"ranks a=2\nbegin\nall_reduce a 1B beside as\n", "\"as\" and a name come behind \"beside\""},
      {"ranks a=2\nbegin\nwait\nwait x\nall_reduce a 1B beside as y\n",
       "line 4 of the workload: nothing goes on as \"x\"; write \"beside as\""},
      {"ranks a=2\nbegin\nwait x y\n", "\"y\" is more than belongs there"},
      {"ranks a=2\nbegin\nall_reduce a 1\n", "a size is written as"},
  };
  ExpectErrors(cases);
}

struct Prediction {
  WorkloadTimes times;
  Outcome outcome;
  const WorkloadTimes::Communication& Of(const std::string& name) const {
    const auto found = std::ranges::find(times.communication, name, &WorkloadTimes::Communication::name);
    EXPECT_NE(found, times.communication.end()) << name;
    return *found;
  }
};

Result<Way> ByRing(const Call&) { return Way{.algorithm = algo::Algorithm::kRing}; }

Result<Prediction> Predict(const std::string& text, const Machine& machine) {
  const Result<Workload> workload = ReadWorkload(text);
  if (!workload.ok()) return workload.status();
  const Result<WorkloadJob> job = MakeWorkloadJob(*workload, machine, ByRing);
  if (!job.ok()) return job.status();
  const Result<Outcome> outcome = Simulate(job->job, machine, {});
  if (!outcome.ok()) return outcome.status();
  EXPECT_TRUE(outcome->stuck.ok()) << outcome->stuck.message();
  return Prediction{.times = Summarize(*workload, *job, *outcome), .outcome = *outcome};
}

Prediction Predicted(const std::string& text, const Machine& machine) {
  const Result<Prediction> prediction = Predict(text, machine);
  EXPECT_TRUE(prediction.ok()) << prediction.status().message();
  return prediction.ok() ? *prediction : Prediction();
}

// 2 hops of 20 MB at 400 GB/s.
constexpr double kReduceUs = 100;
constexpr const char* kReduce = "all_reduce data 40MB";

TEST(WorkloadJob, WhatIsNotBesideIsExposed) {
  const TestMachine machine = MakeTestMachine({.gpus = 2});
  const std::string text = std::string("ranks data=2\nmicrobatches 3\nforward\ncompute 1ms\n") + kReduce + "\n";
  const Prediction predicted = Predicted(text, machine.machine());
  EXPECT_NEAR(predicted.times.step_us, 3 * (1000 + kReduceUs), 1e-3);
  EXPECT_NEAR(predicted.times.compute_us, 3000, 1e-9);
  EXPECT_NEAR(predicted.Of("data").exposed_us, 3 * kReduceUs, 1e-3);
  EXPECT_NEAR(predicted.Of("data").busy_us, 3 * kReduceUs, 1e-3);
  EXPECT_NEAR(predicted.Of("data").waiting_us, 0, 1e-3);
}

TEST(WorkloadJob, WhatIsBesideIsHiddenAsFarAsComputationGoesOn) {
  const TestMachine machine = MakeTestMachine({.gpus = 2});
  const auto text = [&](const std::string& last) {
    return std::string("ranks data=2\nmicrobatches 2\nbackward\nrepeat 3\ncompute 80us\n") + kReduce +
           " beside last\nend\nfinish\n" + last;
  };
  // Three reductions of 100 us in a row, the first of which begins with the second of three computations.
  const Prediction predicted = Predicted(text("wait\ncompute 10us\n"), machine.machine());
  EXPECT_NEAR(predicted.times.step_us, 240 + 80 + 3 * kReduceUs + 10, 1e-3);
  EXPECT_NEAR(predicted.times.compute_us, 490, 1e-9);
  EXPECT_NEAR(predicted.Of("data").busy_us, 3 * kReduceUs, 1e-3);
  EXPECT_NEAR(predicted.Of("data").exposed_us, 3 * kReduceUs - 160, 1e-3);
  // Without a wait the step ends with them all the same.
  EXPECT_NEAR(Predicted(text("compute 10us\n"), machine.machine()).times.step_us, 240 + 80 + 3 * kReduceUs, 1e-3);
}

// A layer's weights are gathered while the layer before computes; its gradients are reduced behind that and waited for at the end only.
TEST(WorkloadJob, WhatGoesOnUnderANameIsWaitedForAlone) {
  const TestMachine machine = MakeTestMachine({.gpus = 2});
  const auto text = [](const std::string& wait) {
    return "ranks data=2\nbackward\nall_gather data 80MB beside as weights\nrepeat 3\n" + wait +
           "\nall_gather data 80MB beside as weights\ncompute 150us\nreduce_scatter data 8MB beside\nend\n";
  };
  // A hop of 40 MB at 400 GB/s takes 100 us, one of 4 MB 10 us; both are on the one stream of the group.
  const Prediction named = Predicted(text("wait weights"), machine.machine());
  EXPECT_NEAR(named.times.step_us, 100 + 3 * 150 + 10, 1e-3);
  EXPECT_NEAR(named.Of("data").busy_us, 4 * 100 + 3 * 10, 1e-3);
  EXPECT_NEAR(named.times.exposed_us, 100 + 10, 1e-3);
  // Who waits for everything waits for the gradients of the layer before, too.
  const Prediction all = Predicted(text("wait"), machine.machine());
  EXPECT_NEAR(all.times.step_us, 100 + 150 + 2 * (10 + 150) + 10, 1e-3);
}

TEST(WorkloadJob, WorkTakesAsLongAsTheRateMakesIt) {
  const TestMachine machine = MakeTestMachine({.gpus = 2});
  const std::string text =
      "ranks data=2\ngpu 1PFLOP/s sustains 500TFLOP/s\nmodel 1e9 parameters 1e5 tokens\nforward\n"
      "compute 150TFLOP\nall_reduce data 40MB\n";
  const Prediction predicted = Predicted(text, machine.machine());
  EXPECT_NEAR(predicted.times.compute_us, 300e3, 1e-6);
  ASSERT_TRUE(predicted.times.utilisation.has_value());
  EXPECT_NEAR(*predicted.times.utilisation, 6e14 / (2 * 1e15 * 0.3001), 1e-9);
  EXPECT_FALSE(Predicted("ranks data=2\nforward\ncompute 1ms\n", machine.machine()).times.utilisation.has_value());
}

// A pipeline of equal stages takes (microbatches + stages - 1) times both directions.
TEST(WorkloadJob, PipelinesHaveTheirBubble) {
  const TestMachine machine = MakeTestMachine({.gpus = 4});
  for (const std::string schedule : {"1f1b", "all_forward"}) {
    const std::string text =
        "ranks pipeline=4\nmicrobatches 8\nschedule " + schedule +
        "\nforward\nreceive 8B\ncompute 1ms\nsend 8B\nbackward\nreceive 8B\ncompute 2ms\nsend 8B\n";
    const Prediction predicted = Predicted(text, machine.machine());
    EXPECT_NEAR(predicted.times.step_us, (8 + 4 - 1) * 3000, 0.1);
    EXPECT_NEAR(predicted.times.compute_us, 8 * 3000, 1e-6);
    EXPECT_NEAR(predicted.Of("pipeline transfers").exposed_us, predicted.Of("pipeline transfers").waiting_us, 0.1);
  }
  // The first stage waits for its first way back while the others go forward and back.
  const Prediction one = Predicted(
      "ranks pipeline=2\nforward\nreceive 8B\ncompute 1ms\nsend 8B\nbackward\nreceive 8B\ncompute 2ms\nsend 8B\n",
      MakeTestMachine({.gpus = 2}).machine());
  EXPECT_NEAR(one.Of("pipeline transfers").waiting_us, (1000 + 3000) / 2.0, 0.1);
}

TEST(WorkloadJob, TransfersTakeTheirTime) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 1, .nic_latency_us = 0});
  const Prediction predicted =
      Predicted("ranks pipeline=2\nforward\nreceive 50MB\ncompute 1ms\nsend 50MB\n", machine.machine());
  EXPECT_NEAR(predicted.times.step_us, 1000 + 1000 + 1000, 0.1);  // 50 MB at 50 GB/s
  EXPECT_NEAR(predicted.Of("pipeline transfers").exposed_us - predicted.Of("pipeline transfers").waiting_us, 500, 0.1);
}

TEST(WorkloadJob, GroupsAreNeighboursInTheOrderOfTheirLine) {
  const TestMachine machine = MakeTestMachine({.gpus = 8});
  const Result<Workload> workload = ReadWorkload(
      "ranks tensor=2 pipeline=2 data=2\nbegin\nall_reduce tensor 1KB\n"
      "all_gather data 2KB\nreduce_scatter pipeline 4KB\nall_to_all all 8KB by pairwise LL channels 1\n");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const Result<WorkloadJob> job = MakeWorkloadJob(*workload, machine.machine(), ByRing);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const auto ranks_of = [&](int operation) {
    return job->job
        .communicators[static_cast<std::size_t>(job->job.operations[static_cast<std::size_t>(operation)].communicator)]
        .ranks;
  };
  EXPECT_EQ(ranks_of(0), (std::vector{0, 1}));
  EXPECT_EQ(ranks_of(1), (std::vector{0, 4}));
  EXPECT_EQ(ranks_of(2), (std::vector{0, 2}));
  EXPECT_EQ(ranks_of(3).size(), 8u);
  EXPECT_EQ(job->job.operations[0].bytes, 1000u);
  EXPECT_EQ(job->job.operations[1].bytes, 1000u);  // of a piece
  EXPECT_EQ(job->job.operations[2].bytes, 2000u);
  EXPECT_EQ(job->job.operations[3].bytes, 1000u);
  EXPECT_EQ(job->job.operations.size(), 4u * 3 + 1);
  EXPECT_EQ(job->job.tasks.size(), 8u * 4);
}

TEST(WorkloadJob, GroupsThatAreNamedTogetherMeetAsOne) {
  const TestMachine machine = MakeTestMachine({.gpus = 8});
  const Result<Workload> workload = ReadWorkload(
      "ranks tensor=2 context=2 data=2\nbegin\nall_reduce data+tensor 1KB\nall_reduce context+data 1KB beside\n"
      "all_reduce tensor+data 1KB\nall_reduce data+context+tensor 1KB\nall_reduce all 1KB\n");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->joined.size(), 3u);
  const Result<WorkloadJob> job = MakeWorkloadJob(*workload, machine.machine(), ByRing);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const auto ranks_of = [&](int operation) {
    return job->job
        .communicators[static_cast<std::size_t>(job->job.operations[static_cast<std::size_t>(operation)].communicator)]
        .ranks;
  };
  EXPECT_EQ(ranks_of(0), (std::vector{0, 1, 4, 5}));
  EXPECT_EQ(ranks_of(1), (std::vector{0, 2, 4, 6}));
  EXPECT_EQ(ranks_of(2), (std::vector{0, 1, 4, 5}));
  EXPECT_EQ(ranks_of(3), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ranks_of(4), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  const Result<Outcome> outcome = Simulate(job->job, machine.machine(), {});
  ASSERT_TRUE(outcome.ok() && outcome->stuck.ok());
  const WorkloadTimes times = Summarize(*workload, *job, *outcome);
  std::vector<std::string> names;
  for (const auto& each : times.communication) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"tensor+data", "context+data", "tensor+context+data", "all"}));
}

// All cards of a host carry a ring that the file asks for, where its channels are many.
TEST(WorkloadJob, ARingOfSeveralHostsUsesAllCards) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 2, .nic_latency_us = 0});
  const Prediction predicted =
      Predicted("ranks data=4\nforward\nall_reduce data 400MB by ring Simple channels 4\n", machine.machine());
  // 3/4 of the data twice out of each host, over two cards of 50 GB/s.
  EXPECT_NEAR(predicted.times.step_us, 2 * 0.75 * 400e6 / 100e3, 600);
}

TEST(WorkloadJob, SaysWhatDoesNotFit) {
  const TestMachine machine = MakeTestMachine({.gpus = 2});
  const auto error = [&](const std::string& text) {
    const Result<Prediction> prediction = Predict(text, machine.machine());
    return prediction.ok() ? "" : prediction.status().message();
  };
  EXPECT_NE(error("ranks data=4\n").find("4 ranks, the machine 2"), std::string::npos);
  EXPECT_NE(error("ranks data=2\nbegin\nall_to_all data 8B by ring LL channels 1\n")
                .find("line 3 of the workload: ring does no all_to_all"),
            std::string::npos);
  EXPECT_NE(error("ranks pipeline=2\nforward\nreceive 8B\nsend 16B\n")
                .find("line 3 of the workload: 8 bytes meet the 16 of line 4"),
            std::string::npos);
  EXPECT_NE(
      error("ranks pipeline=2\nmicrobatches 2\nforward\nall_reduce pipeline 8B\nbackward\nall_reduce pipeline 16B\n")
          .find("in the same order"),
      std::string::npos);
  EXPECT_NE(error("ranks data=2\nmicrobatches 65536\nforward\nrepeat 300000\ncompute 1us\nend\n")
                .find("39321600000 tasks, more than 50000000"),
            std::string::npos);
}

TEST(ChooseBySimulation, TakesWhatIsFastest) {
  const TestMachine test = MakeTestMachine({.gpus = 8, .nvlink_latency_us = 1});
  const Machine machine = test.machine();
  Options options;
  for (WayCosts& way : options.costs.ways) way = {.hop_us = 3};
  options.costs.ways[0].hop_us = 1;  // LL
  const Chooser choose = ChooseBySimulation(machine, options, {1, 4}, 1 << 20);
  const std::vector<int> ranks = {0, 1, 2, 3, 4, 5, 6, 7};
  Call call{.collective = Collective::kAllReduce, .bytes = 64, .ranks = ranks, .hosts = 8};
  const Result<Way> small = choose(call);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->algorithm, algo::Algorithm::kOneShot);
  EXPECT_EQ(small->protocol, proto::Protocol::kLl);
  call.bytes = 64 << 20;
  const Result<Way> large = choose(call);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->algorithm, algo::Algorithm::kTwoShot);
  EXPECT_EQ(large->protocol, proto::Protocol::kSimple);
  call.collective = Collective::kSendRecv;
  EXPECT_EQ(choose(call).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace tutti::sim
