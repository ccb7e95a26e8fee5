// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The declarations of sys/cuda/cuda.h against NVIDIA's own, where those are installed; and what a machine without a driver
// answers.
#include <gtest/gtest.h>

#include <cstddef>

#include "sys/cuda/cuda.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace tutti::sys::cuda {

static_assert(sizeof(Location) == sizeof(CUmemLocation) && offsetof(Location, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handle_types) == offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, compression) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle) && sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(Device) == sizeof(CUdevice));
static_assert(sizeof(Allocation) == sizeof(CUmemGenericAllocationHandle));
static_assert(kPosixDescriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(kPciBus == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID && kPciDevice == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID &&
              kPciDomain == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
static_assert(kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kPosixDescriptorSupported == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
static_assert(kOnHostNode == CU_MEM_LOCATION_TYPE_HOST_NUMA && kNearestHostNode == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
static_assert(kHostNodesCanBeMapped == CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(kNativePeerAtomics == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
static_assert(kProgrammaticStreamSerialization == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(sizeof(LaunchAttribute::cluster) == sizeof(CUlaunchAttributeValue::clusterDim));
static_assert(kNotReady == CUDA_ERROR_NOT_READY && kAlreadyRegistered == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(kNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kHostMapped == (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(kNoTiming == CU_EVENT_DISABLE_TIMING && kMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(kHostMemory == CU_MEMORYTYPE_HOST);
static_assert(kDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kIpcCapable == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
static_assert(sizeof(MemoryOperation) == sizeof(CUstreamBatchMemOpParams));
static_assert(offsetof(MemoryOperation, address) == offsetof(CUstreamBatchMemOpParams, waitValue.address));
static_assert(offsetof(MemoryOperation, value) == offsetof(CUstreamBatchMemOpParams, waitValue.value64));
static_assert(offsetof(MemoryOperation, flags) == offsetof(CUstreamBatchMemOpParams, waitValue.flags));
static_assert(offsetof(MemoryOperation, address) == offsetof(CUstreamBatchMemOpParams, writeValue.address));
static_assert(offsetof(MemoryOperation, value) == offsetof(CUstreamBatchMemOpParams, writeValue.value64));
static_assert(offsetof(MemoryOperation, flags) == offsetof(CUstreamBatchMemOpParams, writeValue.flags));
static_assert(kWaitWord == CU_STREAM_MEM_OP_WAIT_VALUE_32 && kWriteWord == CU_STREAM_MEM_OP_WRITE_VALUE_32);
static_assert(kWriteLong == CU_STREAM_MEM_OP_WRITE_VALUE_64);
static_assert(kUntilEqual == CU_STREAM_WAIT_VALUE_EQ && kUntilGreaterOrEqual == CU_STREAM_WAIT_VALUE_GEQ);
static_assert(kLegacyStream == 0x1);  // CU_STREAM_LEGACY, a cast that is no constant
static_assert(kMemoryOperationsSupported == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
static_assert(kRelaxedCapture == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(kThreadLocalCapture == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(Location{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(AccessDescription{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

}  // namespace tutti::sys::cuda
#endif

namespace tutti::sys::cuda {
namespace {

TEST(Cuda, OpensOrSaysWhyNot) {
  const Result<const Driver*> first = OpenDriver(), second = OpenDriver();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
    int devices = 0;
    EXPECT_EQ((*first)->DeviceGetCount(&devices), 0);
    EXPECT_GT(devices, 0);
  } else {
    EXPECT_EQ(first.status().code(), Code::kUnsupported);
    EXPECT_NE(first.status().message().find("NVIDIA driver"), std::string::npos) << first.status().message();
    EXPECT_EQ(first.status().message(), second.status().message());
  }
}

}  // namespace
}  // namespace tutti::sys::cuda
