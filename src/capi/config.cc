// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/error.h"

namespace tutti::capi {
namespace {

constexpr unsigned kSimMagic = 0x74685283;
constexpr std::size_t kHeaderBytes = offsetof(ncclConfig_t, blocking);
// No version's struct comes near this; a larger size is a struct that was never initialised.
constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostNameBytes = 1024;

// Where the structs of older clients end. The layout is NCCL's: a change here breaks programs that exist.
static_assert(offsetof(ncclConfig_t, blocking) == 16 && offsetof(ncclConfig_t, cgaClusterSize) == 20);
static_assert(offsetof(ncclConfig_t, netName) == 32 && offsetof(ncclConfig_t, splitShare) == 40);
static_assert(offsetof(ncclConfig_t, trafficClass) == 44 && offsetof(ncclConfig_t, commName) == 48);
static_assert(offsetof(ncclConfig_t, nvlsCTAs) == 68 && offsetof(ncclConfig_t, nvlinkCentricSched) == 76);
static_assert(offsetof(ncclConfig_t, graphStreamOrdering) == 92 && sizeof(ncclConfig_t) == 96);
static_assert(sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, estimatedTime) == 16);

struct IntField {
  const char* name;
  std::size_t offset;
  unsigned since;  // version that brought it
  int least, most;
};

constexpr int kAny = INT_MAX;
constexpr IntField kIntFields[] = {
    {"blocking", offsetof(ncclConfig_t, blocking), NCCL_VERSION(2, 14, 0), 0, 1},
    {"cgaClusterSize", offsetof(ncclConfig_t, cgaClusterSize), NCCL_VERSION(2, 17, 0), 0, 8},
    {"minCTAs", offsetof(ncclConfig_t, minCTAs), NCCL_VERSION(2, 17, 0), 1, kAny},
    {"maxCTAs", offsetof(ncclConfig_t, maxCTAs), NCCL_VERSION(2, 17, 0), 1, kAny},
    {"splitShare", offsetof(ncclConfig_t, splitShare), NCCL_VERSION(2, 18, 0), 0, 1},
    {"trafficClass", offsetof(ncclConfig_t, trafficClass), NCCL_VERSION(2, 25, 0), 0, kAny},
    {"collnetEnable", offsetof(ncclConfig_t, collnetEnable), NCCL_VERSION(2, 27, 0), 0, 1},
    {"CTAPolicy", offsetof(ncclConfig_t, CTAPolicy), NCCL_VERSION(2, 27, 0), 0,
     NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO},
    {"shrinkShare", offsetof(ncclConfig_t, shrinkShare), NCCL_VERSION(2, 27, 0), 0, 1},
    {"nvlsCTAs", offsetof(ncclConfig_t, nvlsCTAs), NCCL_VERSION(2, 27, 0), 1, kAny},
    {"nChannelsPerNetPeer", offsetof(ncclConfig_t, nChannelsPerNetPeer), NCCL_VERSION(2, 28, 0), 1, kAny},
    {"nvlinkCentricSched", offsetof(ncclConfig_t, nvlinkCentricSched), NCCL_VERSION(2, 28, 0), 0, 1},
    {"graphUsageMode", offsetof(ncclConfig_t, graphUsageMode), NCCL_VERSION(2, 29, 0), 0, 2},
    {"numRmaCtx", offsetof(ncclConfig_t, numRmaCtx), NCCL_VERSION(2, 29, 0), 1, kAny},
    {"maxP2pPeers", offsetof(ncclConfig_t, maxP2pPeers), NCCL_VERSION(2, 30, 0), 1, kAny},
    {"graphStreamOrdering", offsetof(ncclConfig_t, graphStreamOrdering), NCCL_VERSION(2, 30, 5), 0, 1},
};

int& IntAt(ncclConfig_t& config, const IntField& field) {
  return *reinterpret_cast<int*>(reinterpret_cast<std::byte*>(&config) + field.offset);
}

// A whole struct of this library's version, from what the client gave.
ncclConfig_t Widen(const ncclConfig_t* config) {
  ncclConfig_t all = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&all, config, std::min(config->size, sizeof(all)));
  for (const IntField& field : kIntFields) {
    if (all.version < field.since || field.offset + sizeof(int) > config->size) {
      IntAt(all, field) = NCCL_CONFIG_UNDEF_INT;
    }
  }
  const auto has_pointer = [&](std::size_t offset, unsigned since) {
    return all.version >= since && offset + sizeof(void*) <= config->size;
  };
  if (!has_pointer(offsetof(ncclConfig_t, netName), NCCL_VERSION(2, 17, 0))) all.netName = nullptr;
  if (!has_pointer(offsetof(ncclConfig_t, commName), NCCL_VERSION(2, 27, 0))) all.commName = nullptr;
  return all;
}

Status CheckHeader(std::size_t size, unsigned magic, unsigned expected, std::size_t least, const char* type,
                   const char* initializer) {
  if (magic != expected) {
    return InvalidArgument(fmt::format("the {}'s magic number is {:#x}, not {:#x}: initialise it with {}", type, magic,
                                       expected, initializer));
  }
  if (size < least || size > kMostBytes) {
    return InvalidArgument(fmt::format("the {} says that it has {} bytes, which cannot be: initialise it with {}", type,
                                       size, initializer));
  }
  return Status::Ok();
}

}  // namespace

Result<Config> ReadConfig(const ncclConfig_t* config, const Config& defaults) {
  if (config == nullptr) return defaults;
  TUTTI_RETURN_IF_ERROR(CheckHeader(config->size, config->magic, NCCL_API_MAGIC, kHeaderBytes, "ncclConfig_t",
                                    "NCCL_CONFIG_INITIALIZER"));
  ncclConfig_t all = Widen(config);
  for (const IntField& field : kIntFields) {
    const int value = IntAt(all, field);
    if (value == NCCL_CONFIG_UNDEF_INT || (value >= field.least && value <= field.most)) continue;
    return InvalidArgument(
        field.most == kAny
            ? fmt::format("the config's {} is {}; it must be {} or more, or undefined", field.name, value, field.least)
            : fmt::format("the config's {} is {}; it must be from {} to {}, or undefined", field.name, value,
                          field.least, field.most));
  }
  if (all.minCTAs != NCCL_CONFIG_UNDEF_INT && all.maxCTAs != NCCL_CONFIG_UNDEF_INT && all.minCTAs > all.maxCTAs) {
    return InvalidArgument(fmt::format("the config's minCTAs is {} and its maxCTAs {}: the first must not be larger",
                                       all.minCTAs, all.maxCTAs));
  }
  Config read = defaults;
  if (all.blocking != NCCL_CONFIG_UNDEF_INT) read.blocking = all.blocking != 0;
  if (all.splitShare != NCCL_CONFIG_UNDEF_INT) read.split_share = all.splitShare != 0;
  if (all.shrinkShare != NCCL_CONFIG_UNDEF_INT) read.shrink_share = all.shrinkShare != 0;
  if (all.maxCTAs != NCCL_CONFIG_UNDEF_INT) read.max_ctas = all.maxCTAs;
  if (all.CTAPolicy != NCCL_CONFIG_UNDEF_INT) read.zero_ctas = (all.CTAPolicy & NCCL_CTA_POLICY_ZERO) != 0;
  if (all.commName != nullptr) read.name.assign(all.commName, strnlen(all.commName, kMostNameBytes));
  return read;
}

Status WriteSimInfo(ncclSimInfo_t* info, double estimated_us) {
  if (info == nullptr) return Status::Ok();
  TUTTI_RETURN_IF_ERROR(CheckHeader(info->size, info->magic, kSimMagic, offsetof(ncclSimInfo_t, estimatedTime),
                                    "ncclSimInfo_t", "NCCL_SIM_INFO_INITIALIZER"));
  if (info->size >= offsetof(ncclSimInfo_t, estimatedTime) + sizeof(float)) {
    info->estimatedTime = static_cast<float>(estimated_us);
  }
  return Status::Ok();
}

}  // namespace tutti::capi
