// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The declarations of sys/cuda/nvml.h against NVIDIA's own, where those are installed; and what is made of the answers
// of a library that stands in for NVML.
#include "sys/cuda/nvml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rendered_host.h"

#if __has_include(<nvml.h>)
#include <nvml.h>

namespace tutti::sys::cuda::nvml_abi {

static_assert(sizeof(PciInfo) == sizeof(nvmlPciInfo_t) && offsetof(PciInfo, domain) == offsetof(nvmlPciInfo_t, domain));
static_assert(offsetof(PciInfo, bus) == offsetof(nvmlPciInfo_t, bus));
static_assert(offsetof(PciInfo, device) == offsetof(nvmlPciInfo_t, device));
static_assert(offsetof(PciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId));
static_assert(sizeof(FieldValue) == sizeof(nvmlFieldValue_t));
static_assert(offsetof(FieldValue, field) == offsetof(nvmlFieldValue_t, fieldId));
static_assert(offsetof(FieldValue, scope) == offsetof(nvmlFieldValue_t, scopeId));
static_assert(offsetof(FieldValue, type) == offsetof(nvmlFieldValue_t, valueType));
static_assert(offsetof(FieldValue, result) == offsetof(nvmlFieldValue_t, nvmlReturn));
static_assert(offsetof(FieldValue, as_double) == offsetof(nvmlFieldValue_t, value));
static_assert(sizeof(FabricInfo) == sizeof(nvmlGpuFabricInfo_v2_t) && kFabricInfoVersion == nvmlGpuFabricInfo_v2);
static_assert(offsetof(FabricInfo, cluster) == offsetof(nvmlGpuFabricInfo_v2_t, clusterUuid));
static_assert(offsetof(FabricInfo, status) == offsetof(nvmlGpuFabricInfo_v2_t, status));
static_assert(offsetof(FabricInfo, clique) == offsetof(nvmlGpuFabricInfo_v2_t, cliqueId));
static_assert(offsetof(FabricInfo, state) == offsetof(nvmlGpuFabricInfo_v2_t, state));
static_assert(kSuccess == NVML_SUCCESS && kInvalidArgument == NVML_ERROR_INVALID_ARGUMENT);
static_assert(kNotSupported == NVML_ERROR_NOT_SUPPORTED && kDriverNotLoaded == NVML_ERROR_DRIVER_NOT_LOADED);
static_assert(kFunctionNotFound == NVML_ERROR_FUNCTION_NOT_FOUND);
static_assert(kNvLinkCount == NVML_FI_DEV_NVLINK_LINK_COUNT && kNvLinkState == NVML_FI_DEV_NVLINK_GET_STATE);
static_assert(kC2cCount == NVML_FI_DEV_C2C_LINK_COUNT && kC2cState == NVML_FI_DEV_C2C_LINK_GET_STATUS);
static_assert(kC2cMbPerS == NVML_FI_DEV_C2C_LINK_GET_MAX_BW);
static_assert(kDouble == NVML_VALUE_TYPE_DOUBLE && kUnsigned == NVML_VALUE_TYPE_UNSIGNED_INT);
static_assert(kUnsignedLong == NVML_VALUE_TYPE_UNSIGNED_LONG && kInt == NVML_VALUE_TYPE_SIGNED_INT);
static_assert(kUnsignedLongLong == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG && kLongLong == NVML_VALUE_TYPE_SIGNED_LONG_LONG);
static_assert(kUnsignedShort == NVML_VALUE_TYPE_UNSIGNED_SHORT);
static_assert(kStateDown == NVML_NVLINK_STATE_INACTIVE && kStateUp == NVML_NVLINK_STATE_ACTIVE);
static_assert(kStateAsleep == NVML_NVLINK_STATE_SLEEP);
#ifdef NVML_NVLINK_STATE_ACTIVE_TRAFFIC_DISABLED  // in headers from CUDA 13.1 on
static_assert(kStateNoTraffic == NVML_NVLINK_STATE_ACTIVE_TRAFFIC_DISABLED);
#endif
static_assert(kRemoteGpu == NVML_NVLINK_DEVICE_TYPE_GPU && kRemoteIbmNpu == NVML_NVLINK_DEVICE_TYPE_IBMNPU);
static_assert(kRemoteSwitch == NVML_NVLINK_DEVICE_TYPE_SWITCH && kP2pCapability == NVML_NVLINK_CAP_P2P_SUPPORTED);
static_assert(kP2pRead == NVML_P2P_CAPS_INDEX_READ && kP2pWrite == NVML_P2P_CAPS_INDEX_WRITE);
static_assert(kFabricComplete == NVML_GPU_FABRIC_STATE_COMPLETED && kMostNvLinks >= NVML_NVLINK_MAX_LINKS);
static_assert(static_cast<int>(P2pStatus::kOk) == NVML_P2P_STATUS_OK);
static_assert(static_cast<int>(P2pStatus::kChipsetNotSupported) == NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
static_assert(static_cast<int>(P2pStatus::kGpuNotSupported) == NVML_P2P_STATUS_GPU_NOT_SUPPORTED);
static_assert(static_cast<int>(P2pStatus::kTopologyNotSupported) == NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
static_assert(static_cast<int>(P2pStatus::kDisabled) == NVML_P2P_STATUS_DISABLED_BY_REGKEY);
static_assert(static_cast<int>(P2pStatus::kNotSupported) == NVML_P2P_STATUS_NOT_SUPPORTED);
static_assert(static_cast<int>(P2pStatus::kUnknown) == NVML_P2P_STATUS_UNKNOWN);

}  // namespace tutti::sys::cuda::nvml_abi
#endif

namespace tutti::sys::cuda {
namespace {

using tests::RenderedGpu;
using tests::RenderedHost;

NvmlFacts Read() {
  Result<NvmlFacts> facts = ReadNvml(TUTTI_FAKE_NVML);
  EXPECT_TRUE(facts.ok()) << facts.status().message();
  return facts.ok() ? *facts : NvmlFacts();
}

std::string All(const std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  return all;
}

// Two GPUs of a GB200 host, one NVLink of which leads to the other one.
void AddTwo(RenderedHost& host) {
  RenderedGpu gpu{.bus_id = "0008:01:00.0", .name = "NVIDIA GB200", .major = 10, .pcie = "1 16 5 16"};
  gpu.nvlinks = {"1 2 ffffffff:ff:ff.0 1", "2 2 0007:03:00.0 1", "0 0 0000:00:00.0 0", "3 0 0009:01:00.0 1",
                 "1 1 0001:00:01.0 0"};
  gpu.more = "c2c 5 4 44712\nfabric ABCDEFGHIJKLMNOP 7 3 0\np2p 1 4\n";
  host.AddGpu(gpu);
  host.AddGpu({.bus_id = "0009:01:00.0",
               .name = "NVIDIA GB200",
               .major = 10,
               .minor = 3,
               .more = "fabric ABCDEFGHIJKLMNOP 7 2 0\n"});
}

TEST(Nvml, AllThatItSays) {
  RenderedHost host;
  AddTwo(host);
  const NvmlFacts facts = Read();
  EXPECT_EQ(All(facts.notes), "");
  EXPECT_EQ(facts.driver, "580.159.04");
  ASSERT_EQ(facts.gpus.size(), 2u);
  const NvmlGpu& gpu = facts.gpus[0];
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.bus_id, "0008:01:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA GB200");
  EXPECT_EQ(gpu.uuid, "GPU-0008:01:00.0");
  EXPECT_EQ(gpu.sm, 100);
  EXPECT_EQ(facts.gpus[1].sm, 103);
  EXPECT_EQ(gpu.pcie.generation, 1);
  EXPECT_EQ(gpu.pcie.width, 16);
  EXPECT_EQ(gpu.best.generation, 5);
  EXPECT_EQ(gpu.best.width, 16);
  ASSERT_EQ(gpu.nvlinks.size(), 5u);
  EXPECT_EQ(gpu.nvlinks[0].state, NvLinkState::kUp);
  EXPECT_EQ(gpu.nvlinks[0].end, NvLinkEnd::kSwitch);
  EXPECT_EQ(gpu.nvlinks[0].bus_id, "");  // hidden
  EXPECT_TRUE(gpu.nvlinks[0].p2p);
  EXPECT_EQ(gpu.nvlinks[1].state, NvLinkState::kAsleep);
  EXPECT_EQ(gpu.nvlinks[1].bus_id, "0007:03:00.0");
  EXPECT_EQ(gpu.nvlinks[2].state, NvLinkState::kDown);
  EXPECT_EQ(gpu.nvlinks[2].end, NvLinkEnd::kUnknown);
  EXPECT_EQ(gpu.nvlinks[3].number, 3);
  EXPECT_EQ(gpu.nvlinks[3].state, NvLinkState::kNoTraffic);
  EXPECT_EQ(gpu.nvlinks[3].end, NvLinkEnd::kGpu);
  EXPECT_EQ(gpu.nvlinks[3].bus_id, "0009:01:00.0");
  EXPECT_EQ(gpu.nvlinks[4].end, NvLinkEnd::kCpu);
  EXPECT_FALSE(gpu.nvlinks[4].p2p);
  EXPECT_EQ(gpu.c2c.links, 5);
  EXPECT_EQ(gpu.c2c.links_up, 4);
  EXPECT_EQ(gpu.c2c.mb_per_s, 44712);
  ASSERT_TRUE(gpu.fabric && facts.gpus[1].fabric);
  EXPECT_EQ(gpu.fabric->clique, 7u);
  EXPECT_EQ(gpu.fabric->cluster[15], 'P');
  EXPECT_TRUE(gpu.fabric->complete);
  EXPECT_FALSE(facts.gpus[1].fabric->complete);
  EXPECT_TRUE(facts.gpus[1].nvlinks.empty());
  ASSERT_EQ(facts.p2p.size(), 1u);
  EXPECT_EQ(facts.p2p[0].from, 0);
  EXPECT_EQ(facts.p2p[0].to, 1);
  EXPECT_EQ(facts.p2p[0].read, P2pStatus::kDisabled);
  EXPECT_EQ(facts.p2p[0].write, P2pStatus::kDisabled);
}

// Whatever function fails, the GPU stays, and so does what the others say of it.
TEST(Nvml, OneFunctionFails) {
  struct Case {
    const char *function, *note;
    std::size_t links;
  };
  for (const Case& one :
       {Case{"nvmlDeviceGetName", "the name of GPU 0: GPU is lost (15)", 5},
        Case{"nvmlDeviceGetUUID", "the UUID of GPU 0", 5}, Case{"nvmlDeviceGetPciInfo_v3", "the bus id of GPU 0", 5},
        Case{"nvmlDeviceGetCudaComputeCapability", "the compute capability of GPU 0", 5},
        Case{"nvmlDeviceGetCurrPcieLinkGeneration", "the PCIe generation of GPU 0", 5},
        Case{"nvmlDeviceGetCurrPcieLinkWidth", "the PCIe width of GPU 0", 5},
        Case{"nvmlDeviceGetMaxPcieLinkGeneration", "the best PCIe generation of GPU 0", 5},
        Case{"nvmlDeviceGetMaxPcieLinkWidth", "the best PCIe width of GPU 0", 5},
        Case{"nvmlDeviceGetFieldValues", "the number of C2C links of GPU 0", 5},
        Case{"nvmlDeviceGetNvLinkCapability", "the P2P capability of NVLink 0 of GPU 0", 5},
        Case{"nvmlDeviceGetNvLinkRemoteDeviceType", "the kind of the other end of NVLink 0 of GPU 0", 5},
        Case{"nvmlDeviceGetNvLinkRemotePciInfo_v2", "the bus id of the other end of NVLink 3 of GPU 0", 5},
        Case{"nvmlDeviceGetGpuFabricInfoV", "the fabric of GPU 0", 5},
        Case{"nvmlDeviceGetP2PStatus", "the P2P status of GPUs 0 and 1", 5},
        Case{"nvmlDeviceGetHandleByIndex_v2", "anything of GPU 0", 0}}) {
    RenderedHost host;
    host.SetNvml(fmt::format("driver 580.159.04\nfail {} 15\n", one.function));
    AddTwo(host);
    const NvmlFacts facts = Read();
    ASSERT_EQ(facts.gpus.size(), 2u) << one.function;
    EXPECT_EQ(facts.gpus[0].nvlinks.size(), one.links) << one.function;
    EXPECT_NE(All(facts.notes).find(one.note), std::string::npos) << one.function << ":\n" << All(facts.notes);
    EXPECT_EQ(facts.notes.size(), 1u) << All(facts.notes);
    EXPECT_EQ(facts.gpus[0].name.empty(), one.function == std::string_view("nvmlDeviceGetName") || one.links == 0);
    EXPECT_EQ(facts.gpus[0].sm == 100,
              one.function != std::string_view("nvmlDeviceGetCudaComputeCapability") && one.links > 0);
  }
}

// Drivers that do not know fields answer the plain call, and count no links.
TEST(Nvml, WithoutFieldValues) {
  RenderedHost host;
  host.SetNvml("driver 418.40\nfail nvmlDeviceGetFieldValues 13\nfail nvmlDeviceGetGpuFabricInfoV 13\n");
  RenderedGpu gpu{.bus_id = "0000:06:00.0", .name = "Tesla V100", .major = 7, .pcie = "3 16 3 16"};
  gpu.nvlinks = {"1 0 0000:07:00.0 1", "0 0 0000:00:00.0 1", "1 0 0000:0a:00.0 1"};
  host.AddGpu(gpu);
  const NvmlFacts facts = Read();
  ASSERT_EQ(facts.gpus[0].nvlinks.size(), 3u);
  EXPECT_EQ(facts.gpus[0].nvlinks[0].state, NvLinkState::kUp);
  EXPECT_EQ(facts.gpus[0].nvlinks[1].state, NvLinkState::kDown);
  EXPECT_EQ(facts.gpus[0].nvlinks[2].bus_id, "0000:0a:00.0");
  EXPECT_EQ(All(facts.notes),
            "NVML does not say the number of C2C links of GPU 0: this driver has no function for it\n"
            "NVML does not say the fabric of GPU 0: this driver has no function for it\n");
}

// The state alone is not known: a link that is counted stays.
TEST(Nvml, NoStateAtAll) {
  RenderedHost host;
  RenderedGpu gpu{.bus_id = "0000:06:00.0"};
  gpu.nvlinks = tests::NvLinksToSwitch(18, "0000:05:00.0");
  gpu.more = "nofield 165\nfail nvmlDeviceGetNvLinkState 999\n";
  host.AddGpu(gpu);
  const NvmlFacts facts = Read();
  ASSERT_EQ(facts.gpus[0].nvlinks.size(), 18u);
  EXPECT_EQ(facts.gpus[0].nvlinks[17].state, NvLinkState::kUnknown);
  EXPECT_EQ(facts.gpus[0].nvlinks[17].end, NvLinkEnd::kSwitch);
  EXPECT_EQ(All(facts.notes),
            "NVML does not say the state of NVLink 0 of GPU 0: Unknown Error (999) (and 17 more like it)\n");
}

TEST(Nvml, NumbersBeyondReason) {
  RenderedHost host;
  RenderedGpu gpu{.bus_id = "ffffffff:ff:1f.0", .pcie = "4294967295 4294967295 5 16"};
  gpu.more = "links 4000000000\nc2c 4000000000 4000000000 4294967295\n";
  host.AddGpu(gpu);
  const NvmlFacts facts = Read();
  EXPECT_EQ(facts.gpus[0].pcie.generation, 0);
  EXPECT_EQ(facts.gpus[0].pcie.width, 0);
  EXPECT_EQ(facts.gpus[0].nvlinks.size(), 36u);
  EXPECT_EQ(facts.gpus[0].c2c.links, 36);
  EXPECT_EQ(facts.gpus[0].c2c.links_up, 0);
}

TEST(Nvml, NoGpus) {
  RenderedHost host;
  const NvmlFacts facts = Read();
  EXPECT_TRUE(facts.gpus.empty() && facts.p2p.empty() && facts.notes.empty());
}

TEST(Nvml, WhatCannotBeAsked) {
  const auto expect = [](const Result<NvmlFacts>& facts, Code code, std::string_view text) {
    EXPECT_EQ(facts.status().code(), code) << facts.status().message();
    EXPECT_NE(facts.status().message().find(text), std::string::npos) << facts.status().message();
  };
  expect(ReadNvml("/none/libnvidia-ml.so.1"), Code::kUnsupported, "comes with the driver");
  expect(ReadNvml("libm.so.6"), Code::kUnsupported, "no nvmlInit_v2");
  unsetenv("TUTTI_FAKE_NVML");
  expect(ReadNvml(TUTTI_FAKE_NVML), Code::kUnsupported, "Driver Not Loaded (9)");
  RenderedHost host;
  host.SetNvml("fail nvmlInit_v2 18\n");
  expect(ReadNvml(TUTTI_FAKE_NVML), Code::kSystem, "NVML does not start");
  host.SetNvml("fail nvmlDeviceGetCount_v2 999\n");
  expect(ReadNvml(TUTTI_FAKE_NVML), Code::kSystem, "how many GPUs");
}

// The real one, where there is one.
TEST(Nvml, ThisMachine) {
  const Result<NvmlFacts> facts = ReadNvml();
  if (facts.ok()) {
    for (const NvmlGpu& gpu : facts->gpus) EXPECT_FALSE(gpu.uuid.empty());
  } else {
    EXPECT_FALSE(facts.status().message().empty());
  }
}

}  // namespace
}  // namespace tutti::sys::cuda
