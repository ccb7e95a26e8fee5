// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What communicators say that operations on device memory take is what `tutti plan --explain` says of such GPUs. By a driver that does
// nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "comm/agree/gpu_machine.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/impl.h"
#include "comm/host/impl.h"
#include "comm/host/planner.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tools/gpu_choices.h"
#include "tools/make_predictor.h"
#include "tools/perf_shape.h"
#include "topo/machine_text.h"
#include "tune/chooser.h"

namespace tutti::tests {
namespace {

using Kind = Collective;

constexpr std::size_t kCounts[] = {1, 7, 1000, 33'333, std::size_t{1} << 20, (std::size_t{1} << 26) + 12'345};
constexpr Kind kKinds[] = {Kind::kAllReduce,     Kind::kBroadcast, Kind::kReduce,  Kind::kAllGather,
                           Kind::kReduceScatter, Kind::kGather,    Kind::kScatter, Kind::kAllToAll};

const bool loaded = [] {
  setenv(kFakeGpus, "8", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA, {.copy = [](sys::cuda::Address, sys::cuda::Address, std::size_t) {},
                                        .words = [](auto operations) { return operations.size(); }});
}();

TEST(PredictedGpuTimes, OfOneHostAreThoseThatAreExplained) {
  ASSERT_TRUE(loaded);
  for (const int ranks : {2, 4, 7}) {
    const std::string failure = RunRanks(ranks, Settings(), [&](Communicator& c) -> Status {
      Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
      if (!gpu.ok()) return gpu.status();
      if (c.rank() == 0) {
        GpuCommunicator::Impl& impl = *gpu->impl();
        std::vector<comm::GpuProfile> profiles;
        for (int device = 0; device < ranks; ++device) profiles.push_back(comm::ProfileOf(*impl.driver, device));
        Result<tools::GpuChoices> choices = tools::GpuChoices::Create(
            {.situation = comm::SituationOf(profiles, false), .whole_lines = impl.limits.whole_lines}, Settings());
        if (!choices.ok()) return choices.status();
        for (const Kind kind : kKinds) {
          for (const std::size_t count : kCounts) {
            const Operation o{.kind = kind, .count = count};
            const Result<double> us = impl.groups.PredictUs({&o, 1});
            if (!us.ok()) return us.status();
            const Result<tools::GpuChoices::Ways> ways = choices->Find(kind, count, tune::Outputs::kAnywhere);
            if (!ways.ok()) return ways.status();
            EXPECT_NEAR(*us, ways->ways.front().us(), 1e-6 * *us) << Name(kind) << ' ' << count;
            EXPECT_NEAR(*us, *choices->PredictGroupUs({&o, 1}), 1e-6 * *us);
          }
        }
        const std::vector<Operation> both = {{.kind = Kind::kSend, .count = 5000, .root = 1},
                                             {.kind = Kind::kRecv, .count = 5000, .root = 1}};
        EXPECT_NEAR(*impl.groups.PredictUs(both), *choices->PredictGroupUs(both), 1e-6);
        EXPECT_NEAR(*impl.groups.PredictUs(both),
                    choices->Find(Kind::kSendRecv, 5000, tune::Outputs::kAnywhere)->ways.front().us(), 1e-6);
        const std::vector<Operation> alike(3, {.kind = Kind::kAllReduce, .count = 1000});
        EXPECT_NEAR(*impl.groups.PredictUs(alike), *choices->PredictGroupUs(alike), 1e-6);
      }
      return Status::Ok();
    });
    EXPECT_EQ(failure, "");
  }
}

TEST(PredictedGpuTimes, OfSeveralHostsAreThoseThatAreExplained) {
  ASSERT_TRUE(loaded);
  const Result<topo::Machine> machine = topo::ReadMachineText(
      "name fake\ngpu H100\nnvlink switch\npci gen5 x16\nnic 100 Gbit/s\nhost\n  1 socket\n    2 switches\n      1 "
      "gpu\n      1 nic\n",
      "fake");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  // Constants of host memory that do not change from one communicator to the next.
  tune::Machine constants;
  constants.simple.write_us_per_kib = constants.simple.read_us_per_kib = 0.03;
  constants.fold_us_per_kib = 0.01;
  Settings settings;
  settings.tuning_file = testing::TempDir() + "predicted_gpu_times.txt";
  settings.single_copy = SingleCopy::kOff;  // a system may forbid it
  std::ofstream(settings.tuning_file) << constants.ToText();
  for (const int places : {1, 2}) {
    std::vector<int> host_of;
    for (int rank = 0; rank < 2 * places; ++rank) host_of.push_back(rank / places);
    const tools::SourcedTopology topology{.graph = *topo::BuildGraph(*machine, 2), .machine = *machine};
    const std::string failure = RunOnHosts(host_of, settings, [&](Communicator& c) -> Status {
      Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, {.device = c.rank()});
      if (!gpu.ok()) return gpu.status();
      const tune::ChooserOptions& choosing = c.impl()->planner.chooser().options();
      Result<std::unique_ptr<tools::Predictor>> predictor = tools::MakePredictor(
          topology, {.ranks = places,
                     .settings = settings,
                     .facts = tools::HostFacts{
                         .machine = choosing.machine, .can_refer = choosing.can_refer, .cpus = choosing.cpus}});
      if (!predictor.ok()) return predictor.status();
      for (const Kind kind : kKinds) {
        for (const std::size_t count : kCounts) {
          const Operation o{.kind = kind, .count = count};
          const Result<double> us = gpu->impl()->hosts->PredictUs({&o, 1});
          if (!us.ok()) return us.status();
          const std::size_t size =
              tools::Work{.collective = kind, .type = DataType::kUint8, .ranks = 2 * places, .count = count}.bytes();
          const Result<tools::Prediction> explained = (*predictor)->Predict(kind, size);
          if (!explained.ok()) return explained.status();
          // It is explained as that rank has it. Where a rank's own piece lies makes a small difference.
          const double apart = c.rank() == places - 1 ? 1e-6 : 0.1;
          EXPECT_NEAR(*us, explained->model_us(), apart * *us) << Name(kind) << ' ' << count << ' ' << places;
        }
      }
      return Status::Ok();
    });
    EXPECT_EQ(failure, "");
  }
}

}  // namespace
}  // namespace tutti::tests
