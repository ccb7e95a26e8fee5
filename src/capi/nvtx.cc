// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The only source that sees NVTX. Its header finds and loads the tool that NVTX_INJECTION64_PATH names.
#include "capi/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <array>
#include <cstring>
#include <iterator>
#include <span>

#include "nccl.h"
#include "tutti/settings.h"

namespace tutti::capi::nvtx {

constinit std::atomic<std::uint8_t> g_state{kUnknown};

namespace {

// Of NVTX's interface; its headers have called these by different names.
constexpr std::uint64_t kFirstStaticId = 1 << 24;
constexpr std::uint64_t kStaticLayout = 1;
constexpr std::uint64_t kUint64 = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, kInt = NVTX_PAYLOAD_ENTRY_TYPE_INT,
                        kSize = NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
constexpr std::uint64_t kOfSchema = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8;  // type, entries, how many, size, id
constexpr std::uint64_t kOfEnum = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5;             // entries, how many, size, id

constexpr std::uint64_t kReductionId = kFirstStaticId + kCallsWithPayload;  // as in NCCL 2.28.9

constexpr std::uint64_t IdOf(Call call) { return kFirstStaticId + static_cast<std::uint64_t>(call); }

// Names of values, which tools show: NCCL's own.
constexpr const char *kComm = "NCCL communicator ID", *kParent = "Parent NCCL communicator ID",
                     *kRanks = "No. of ranks", *kRank = "Rank", *kDevice = "CUDA device",
                     *kBytes = "Message size [bytes]";

using Entry = nvtxPayloadSchemaEntry_t;
constexpr Entry Value(std::uint64_t type, const char* name) { return {.type = type, .name = name}; }

constexpr Entry kOfComm[] = {Value(kUint64, kComm), Value(kInt, kRanks), Value(kInt, kRank), Value(kInt, kDevice)};
constexpr Entry kOfInitAll[] = {Value(kUint64, kComm), Value(kInt, "No. of devices")};
constexpr Entry kOfSplit[] = {Value(kUint64, kComm), Value(kUint64, kParent), Value(kInt, kRanks), Value(kInt, kRank),
                              Value(kInt, kDevice),  Value(kInt, "Color"),    Value(kInt, "Key")};
constexpr Entry kOfShrink[] = {Value(kUint64, kComm), Value(kInt, kRanks), Value(kInt, kRank), Value(kInt, kDevice),
                               Value(kInt, "num_exclude")};
constexpr Entry kOfFinalize[] = {Value(kUint64, kComm)};
constexpr Entry kOfMove[] = {Value(kUint64, kComm), Value(kSize, kBytes)};
constexpr Entry kReduction = Value(kReductionId, "Reduction operation");
constexpr Entry kOfReduction[] = {Value(kUint64, kComm), Value(kSize, kBytes), kReduction};
constexpr Entry kOfRoot[] = {Value(kUint64, kComm), Value(kSize, kBytes), Value(kInt, "Root")};
constexpr Entry kOfPeer[] = {Value(kUint64, kComm), Value(kSize, kBytes), Value(kInt, "Peer rank")};
constexpr Entry kOfReduce[] = {Value(kUint64, kComm), Value(kSize, kBytes), Value(kInt, "Root"), kReduction};

struct Schema {
  std::span<const Entry> entries;
  std::size_t bytes;
};
constexpr Schema kSchemas[kCallsWithPayload] = {
    {kOfComm, sizeof(OfComm)},           // CommInitRank
    {kOfInitAll, sizeof(OfInitAll)},     // CommInitAll
    {kOfComm, sizeof(OfComm)},           // CommDestroy
    {kOfComm, sizeof(OfComm)},           // CommAbort
    {kOfMove, sizeof(OfMove)},           // AllGather
    {kOfReduction, sizeof(OfMoveWith)},  // AllReduce
    {kOfRoot, sizeof(OfMoveWith)},       // Broadcast
    {kOfReduction, sizeof(OfMoveWith)},  // ReduceScatter
    {kOfReduce, sizeof(OfReduce)},       // Reduce
    {kOfPeer, sizeof(OfMoveWith)},       // Send
    {kOfPeer, sizeof(OfMoveWith)},       // Recv
    {kOfComm, sizeof(OfComm)},           // CommInitRankConfig
    {kOfComm, sizeof(OfComm)},           // CommInitRankScalable
    {kOfSplit, sizeof(OfSplit)},         // CommSplit
    {kOfFinalize, sizeof(OfFinalize)},   // CommFinalize
    {kOfShrink, sizeof(OfShrink)},       // CommShrink
    {kOfMove, sizeof(OfMove)},           // AlltoAll
    {kOfRoot, sizeof(OfMoveWith)},       // Gather
    {kOfRoot, sizeof(OfMoveWith)},       // Scatter
    {kOfComm, sizeof(OfComm)},           // CommRevoke
};

constexpr const char* kNames[kCalls] = {"ncclCommInitRank",
                                        "ncclCommInitAll",
                                        "ncclCommDestroy",
                                        "ncclCommAbort",
                                        "ncclAllGather",
                                        "ncclAllReduce",
                                        "ncclBroadcast",
                                        "ncclReduceScatter",
                                        "ncclReduce",
                                        "ncclSend",
                                        "ncclRecv",
                                        "ncclCommInitRankConfig",
                                        "ncclCommInitRankScalable",
                                        "ncclCommSplit",
                                        "ncclCommFinalize",
                                        "ncclCommShrink",
                                        "ncclAlltoAll",
                                        "ncclGather",
                                        "ncclScatter",
                                        "ncclCommRevoke",
                                        "ncclGroupStart",
                                        "ncclGroupEnd",
                                        "ncclGroupSimulateEnd",
                                        "ncclMemAlloc",
                                        "ncclMemFree",
                                        "ncclCommCount",
                                        "ncclCommCuDevice",
                                        "ncclCommUserRank"};

constexpr nvtxPayloadEnum_t kReductions[] = {
    {"Sum", ncclSum, 0}, {"Product", ncclProd, 0}, {"Max", ncclMax, 0}, {"Min", ncclMin, 0}, {"Avg", ncclAvg, 0}};

// What a tool was told at the beginning.
struct Domains {
  nvtxDomainHandle_t nccl = nullptr, tutti = nullptr;  // null: no tool listens
  std::array<nvtxStringHandle_t, kCalls> names{};
};

Domains Register() {
  Domains made;
  if (Settings::FromEnvironment().nvtx_disable) return made;
  made.nccl = nvtxDomainCreateA("NCCL");
  if (made.nccl == nullptr) return made;
  made.tutti = nvtxDomainCreateA("Tutti");
  for (int call = 0; call < kCalls; ++call) {
    made.names[call] = nvtxDomainRegisterStringA(made.nccl, kNames[call]);
  }
  const nvtxPayloadEnumAttr_t reductions{.fieldMask = kOfEnum,
                                         .entries = kReductions,
                                         .numEntries = std::size(kReductions),
                                         .sizeOfEnum = sizeof(ncclRedOp_t),
                                         .schemaId = kReductionId};
  nvtxPayloadEnumRegister(made.nccl, &reductions);
  for (int call = 0; call < kCallsWithPayload; ++call) {
    const nvtxPayloadSchemaAttr_t schema{.fieldMask = kOfSchema,
                                         .type = kStaticLayout,
                                         .entries = kSchemas[call].entries.data(),
                                         .numEntries = kSchemas[call].entries.size(),
                                         .payloadStaticSize = kSchemas[call].bytes,
                                         .schemaId = IdOf(static_cast<Call>(call))};
    nvtxPayloadSchemaRegister(made.nccl, &schema);
  }
  return made;
}

const Domains& TheDomains() {
  static const Domains domains = Register();
  return domains;
}

nvtxEventAttributes_t Empty() {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

}  // namespace

bool Built() { return true; }

bool Ask() {
  bool on = false;
  try {
    on = TheDomains().nccl != nullptr;
  } catch (...) {  // no memory: the next call may have some
    return false;
  }
  g_state.store(on ? kOn : kOff, std::memory_order_relaxed);
  return on;
}

void Range::Push(const void* payload, std::size_t bytes) {
  const Domains& domains = TheDomains();
  nvtxEventAttributes_t attributes = Empty();
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = domains.names[static_cast<std::size_t>(call_)];
  const nvtxPayloadData_t data{.schemaId = IdOf(call_), .size = bytes, .payload = payload};
  if (payload != nullptr) {
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;  // payloads
    attributes.payload.ullValue = reinterpret_cast<std::uint64_t>(&data);
  }
  nvtxDomainRangePushEx(domains.nccl, &attributes);
  pushed_ = true;
}

void Range::Keep(const void* payload, std::size_t bytes) {
  std::memcpy(kept_, payload, bytes);
  kept_bytes_ = static_cast<std::uint8_t>(bytes);
}

void Range::Pop() {
  if (kept_bytes_ == 0) {
    nvtxDomainRangePop(TheDomains().nccl);
    return;
  }
  const nvtxPayloadData_t data{.schemaId = IdOf(call_), .size = kept_bytes_, .payload = kept_};
  nvtxRangePopPayload(TheDomains().nccl, &data, 1);
}

void Waiting::Push(const char* what) {
  nvtxEventAttributes_t attributes = Empty();
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = what;
  nvtxDomainRangePushEx(TheDomains().tutti, &attributes);
  pushed_ = true;
}

void Waiting::Pop() { nvtxDomainRangePop(TheDomains().tutti); }

}  // namespace tutti::capi::nvtx
