// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is made of NVML's answers, as a library that stands in for it gives them; and those answers themselves.
#include "doctor/gpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/cuda/nvml_health.h"
#include "tests/support/findings.h"
#include "tests/support/rendered_host.h"

#if __has_include(<nvml.h>)
#include <nvml.h>

namespace tutti::sys::cuda::nvml_abi {

static_assert(kIdle == nvmlClocksThrottleReasonGpuIdle && kPowerCap == nvmlClocksThrottleReasonSwPowerCap);
static_assert(kApplicationClocks == nvmlClocksThrottleReasonApplicationsClocksSetting);
static_assert(kHardwareSlowdown == nvmlClocksThrottleReasonHwSlowdown &&
              kSyncBoost == nvmlClocksThrottleReasonSyncBoost);
static_assert(kSoftwareThermal == nvmlClocksThrottleReasonSwThermalSlowdown);
static_assert(kHardwareThermal == nvmlClocksThrottleReasonHwThermalSlowdown);
static_assert(kHardwarePowerBrake == nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
static_assert(kCorrected == NVML_MEMORY_ERROR_TYPE_CORRECTED && kUncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
static_assert(kVolatile == NVML_VOLATILE_ECC && kClockOfMultiprocessors == NVML_CLOCK_SM);
static_assert(kSensorOfGpu == NVML_TEMPERATURE_GPU);
static_assert(kNvLinkReplays == NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY);
static_assert(kNvLinkRecoveries == NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY);
static_assert(kNvLinkCheckErrors == NVML_FI_DEV_NVLINK_ERROR_DL_CRC);
static_assert(kReplayCounter == NVML_NVLINK_ERROR_DL_REPLAY && kRecoveryCounter == NVML_NVLINK_ERROR_DL_RECOVERY);
static_assert(kCheckErrorCounter == NVML_NVLINK_ERROR_DL_CRC_DATA);

}  // namespace tutti::sys::cuda::nvml_abi
#endif

namespace tutti::doctor {
namespace {

using tests::RenderedGpu;
using tests::RenderedHost;

constexpr const char* kHealthy = "ecc 1 12 0\nrows 0 0 0 0\nclocks 1 345 1980 31\n";

// Four GPUs with 18 NVLinks each, the last one with these lines.
void AddFour(RenderedHost& host, const std::string& lines,
             std::vector<std::string> nvlinks = tests::NvLinksToSwitch(18)) {
  for (int i = 0; i < 4; ++i) {
    host.AddGpu({.bus_id = fmt::format("0000:{}1:00.0", i + 1),
                 .nvlinks = i == 3 ? nvlinks : tests::NvLinksToSwitch(18),
                 .more = i == 3 ? lines : kHealthy});
  }
}

Findings Examine() {
  Findings findings;
  const Result<sys::cuda::NvmlFacts> facts = sys::cuda::ReadNvml(TUTTI_FAKE_NVML);
  const Result<std::vector<sys::cuda::NvmlHealth>> health = sys::cuda::ReadNvmlHealth(TUTTI_FAKE_NVML);
  EXPECT_TRUE(facts.ok() && health.ok());
  ExamineGpus(*facts, findings);
  ExamineGpuHealth(*health, findings);
  return findings;
}

TEST(DoctorGpus, Healthy) {
  RenderedHost host;
  AddFour(host, kHealthy);
  const Findings findings = Examine();
  EXPECT_EQ(findings.size(), 4u);
  for (const Finding& finding : findings) EXPECT_EQ(Name(finding.severity), "OK") << LineOf(finding);
  ExpectFinding(findings, "nvlink", Severity::kOk, "72 of 4 GPUs");
  const RenderedHost without;
  ExpectFinding(Examine(), "gpu", Severity::kOk, "no GPU");
}

TEST(DoctorGpus, NvLinksDown) {
  std::vector<std::string> links = tests::NvLinksToSwitch(18);
  links[4] = "0 0 0000:00:00.0 1";
  {
    RenderedHost host;
    AddFour(host, kHealthy, links);
    ExpectFinding(Examine(), "nvlink", Severity::kWarn,
                  "GPU 3 (0000:41:00.0): NVLinks are down (17 of 18 up; down: 4)");
  }
  for (std::size_t i = 0; i < 10; ++i) links[i] = "0 0 0000:00:00.0 1";
  {
    RenderedHost host;
    AddFour(host, kHealthy, links);
    ExpectFinding(Examine(), "nvlink", Severity::kCritical, "8 of 18 up");
  }
  RenderedHost host;
  host.AddGpu({.bus_id = "0000:11:00.0", .nvlinks = std::vector<std::string>(4, "0 0 0000:00:00.0 1")});
  ExpectFinding(Examine(), "nvlink", Severity::kWarn, "0 of 4");
}

TEST(DoctorGpus, FabricAndPeers) {
  RenderedHost host;
  AddFour(host, std::string(kHealthy) + "fabric ABCDEFGHIJKLMNOP 7 2 0\n");
  ExpectFinding(Examine(), "nvlink", Severity::kWarn, "has not let it into its NVLink domain");
  RenderedHost refused;
  refused.AddGpu({.bus_id = "0000:11:00.0", .more = "p2p 1 4\n"});
  refused.AddGpu({.bus_id = "0000:12:00.0"});
  ExpectFinding(Examine(), "p2p", Severity::kInfo, "1 of 1 pairs, GPUs 0 and 1 first");
}

TEST(DoctorGpus, Memory) {
  const auto expect = [](const char* lines, const char* check, Severity severity, const char* text) {
    RenderedHost host;
    AddFour(host, lines);
    ExpectFinding(Examine(), check, severity, text);
  };
  expect("ecc 1 40 0\nrows 3 1 1 0\n", "remap", Severity::kWarn,
         "rows of memory wait for a reset to be replaced (4 rows replaced, 1 of them for uncorrectable errors)");
  expect("ecc 1 40 0\nrows 3 1 1 1\n", "remap", Severity::kCritical, "replace the GPU");
  expect("ecc 1 40 0\npages 1\n", "remap", Severity::kWarn, "pages of memory wait");
  expect("ecc 1 40 2\nrows 0 0 0 0\n", "ecc", Severity::kWarn, "2 since the driver was loaded, 40 corrected");
  expect("ecc 0 0 0\n", "ecc", Severity::kInfo, "not checked");
}

TEST(DoctorGpus, Clocks) {
  const auto expect = [](const char* lines, Severity severity, const char* text) {
    RenderedHost host;
    AddFour(host, lines);
    ExpectFinding(Examine(), "throttle", severity, text);
  };
  expect("clocks 4 1200 1980 71\n", Severity::kInfo, "power limit; 1200 of 1980 MHz, 71 C");
  expect("clocks 24 1200 1980 86\n", Severity::kWarn, "too hot (software), power limit");
  expect("clocks 48 300 1980 92\n", Severity::kCritical,
         "slowdown by hardware, too hot (hardware); 300 of 1980 MHz, 92 C");
  expect("clocks 80 600 1980 40\n", Severity::kCritical, "power brake");
}

// By fields, and by the call that drivers had before; of others nothing is known.
TEST(DoctorGpus, PowerAndErrorsOfNvLinks) {
  for (const char* without : {"", "nofield 161\nnofield 162\nnofield 163\n"}) {
    RenderedHost host;
    host.AddGpu({.bus_id = "0000:11:00.0",
                 .nvlinks = tests::NvLinksToSwitch(6),
                 .more = fmt::format("power 310000 700000\nerrors 4 90000 2 12\n{}", without)});
    const Result<std::vector<sys::cuda::NvmlHealth>> gpus =
        sys::cuda::ReadNvmlHealth(TUTTI_FAKE_NVML, sys::cuda::HealthOf::kGpusAndNvLinks);
    ASSERT_TRUE(gpus.ok());
    EXPECT_EQ(gpus->at(0).power_mw, 310'000u);
    EXPECT_EQ(gpus->at(0).power_limit_mw, 700'000u);
    ASSERT_EQ(gpus->at(0).nvlinks.size(), 6u);
    EXPECT_EQ(gpus->at(0).nvlinks[4].replays, 90'000u);
    EXPECT_EQ(gpus->at(0).nvlinks[4].recoveries, 2u);
    EXPECT_EQ(gpus->at(0).nvlinks[4].check_errors, 12u);
    EXPECT_EQ(gpus->at(0).nvlinks[5].replays, 0u);
  }
  RenderedHost host;
  host.AddGpu({.bus_id = "0000:11:00.0",
               .nvlinks = tests::NvLinksToSwitch(6),
               .more = "fail nvmlDeviceGetFieldValues 3\nfail nvmlDeviceGetNvLinkErrorCounter 3\n"});
  const Result<std::vector<sys::cuda::NvmlHealth>> gpus =
      sys::cuda::ReadNvmlHealth(TUTTI_FAKE_NVML, sys::cuda::HealthOf::kGpusAndNvLinks);
  EXPECT_TRUE(gpus.ok() && gpus->at(0).nvlinks.empty());
}

// One that does not answer, and functions that this driver does not have.
TEST(DoctorGpus, WhatIsNotSaid) {
  RenderedHost host;
  AddFour(host, "fail nvmlDeviceGetHandleByIndex_v2 15\n");
  ExpectFinding(Examine(), "gpu", Severity::kCritical, "GPU 3 does not answer");
  RenderedHost old;
  old.AddGpu({.bus_id = "0000:11:00.0", .more = "fail nvmlDeviceGetRemappedRows 13\nfail nvmlDeviceGetEccMode 3\n"});
  ExpectFinding(Examine(), "ecc", Severity::kOk, "1 GPUs");
  const Result<std::vector<sys::cuda::NvmlHealth>> none = sys::cuda::ReadNvmlHealth("/none/libnvidia-ml.so.1");
  EXPECT_EQ(none.status().code(), Code::kUnsupported);
  EXPECT_EQ(sys::cuda::ReadNvmlHealth("libm.so.6").status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace tutti::doctor
