// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Where GPUs are, measured by their ranks: on machines of files, by a driver that copies in host memory (tests/support/fake_cuda.cc).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "comm/agree/host_graph.h"
#include "comm/gpu/measure_place.h"
#include "sys/cuda/cuda.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/rendered_machines.h"
#include "tutti/communicator.h"

namespace tutti::tests {
namespace {

using comm::BusId;
using comm::NumaReadings;
using comm::PlaceOf;

const bool loaded = [] {
  setenv(kFakeGpus, "2", 1);
  return LoadFakeCuda(TUTTI_FAKE_CUDA, {.copy = [](sys::cuda::Address to, sys::cuda::Address from, std::size_t bytes) {
                        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
                      }});
}();

BusId IdOf(const std::string& text) {
  BusId id{};
  std::strncpy(id.data(), text.c_str(), id.size() - 1);
  return id;
}

// What `body` does with a GPU of its rank.
template <typename Body>
Status WithGpu(int rank, Body body) {
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  if (!driver.ok()) return driver.status();
  return body(comm::GpuToMeasure{.driver = **driver, .device = rank, .stream = nullptr});
}

comm::HostPlaces PlacesOf(const RenderedHost& host) {
  return {.root = host.root(), .nvml_library = TUTTI_FAKE_NVML, .file = "none"};
}

TEST(Places, ARankOfEachGpuMeasuresAndAllRemember) {
  ASSERT_TRUE(loaded);
  RenderedHost host;
  AddVirtualHgx(host);
  const std::vector<BusId> bus_ids = {IdOf("0000:00:05.0"), IdOf("0000:00:0c.0")};
  const std::string failure = RunRanks(2, Settings(), [&](Communicator& c) {
    return WithGpu(c.rank(), [&](const comm::GpuToMeasure& gpu) {
      return comm::MeasurePlaces(gpu, c, {}, bus_ids, PlacesOf(host));
    });
  });
  EXPECT_EQ(failure, "");
  const auto found = comm::FindHostGraph({}, comm::GraphOf::kHostWithGpus, PlacesOf(host));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->unsaid_gpus.size(), 6u) << "two of eight are known now, or known to be alike from all nodes";
}

TEST(Places, NothingIsMeasuredWhereTheSystemSaysAll) {
  RenderedHost host;
  AddHgx(host);
  const std::vector<BusId> bus_ids = {IdOf("0000:13:00.0"), IdOf("0000:14:00.0")};
  const auto before = comm::FindHostGraph({}, comm::GraphOf::kHostWithGpus, PlacesOf(host));
  ASSERT_TRUE(before.ok());
  const std::string failure = RunRanks(2, Settings(), [&](Communicator& c) {
    return WithGpu(c.rank(), [&](const comm::GpuToMeasure& gpu) {
      return comm::MeasurePlaces(gpu, c, {}, bus_ids, PlacesOf(host));
    });
  });
  EXPECT_EQ(failure, "");
  EXPECT_EQ(comm::FindHostGraph({}, comm::GraphOf::kHostWithGpus, PlacesOf(host))->get(), before->get());
}

TEST(Places, ANodeThatIsNotThereHasNoReading) {
  const Status status = WithGpu(0, [](const comm::GpuToMeasure& gpu) {
    const int numas[] = {-1, 1000, 5000};
    const NumaReadings readings = comm::MeasureFromNumas(gpu, numas);
    EXPECT_GT(readings[0], 0);
    EXPECT_EQ(readings[1], 0);
    EXPECT_EQ(readings[2], 0);
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Places, AGpuIsNearToWhereItTakesClearlyMostFrom) {
  const int numas[] = {0, 1, 2};
  EXPECT_EQ(PlaceOf("a", numas, {30, 52, 31}).numa, 1);
  EXPECT_EQ(PlaceOf("a", numas, {52, 30, 31}).numa, 0);
  EXPECT_EQ(PlaceOf("a", numas, {30, 31, 52}).numa, 2);
  EXPECT_EQ(PlaceOf("a", numas, {50, 52, 31}).numa, -1) << "two are alike";
  EXPECT_EQ(PlaceOf("a", numas, {50, 52, 31}).gb_per_s, 52);
  EXPECT_EQ(PlaceOf("a", numas, {0, 52, 0}).numa, -1) << "one alone says nothing";
  EXPECT_EQ(PlaceOf("a", numas, {}).gb_per_s, 0);
  EXPECT_EQ(PlaceOf("a", numas, {}).numa, -1);
  EXPECT_EQ(PlaceOf("0000:05:00.0", {}, {}).bus_id, "0000:05:00.0");
}

}  // namespace
}  // namespace tutti::tests
