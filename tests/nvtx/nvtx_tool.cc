// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A tool that reads NVTX and writes down what it is told (marks.h). NVTX_INJECTION64_PATH names it.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/nvtx/marks.h"

namespace {

constexpr int kMostMarks = 10'000, kMostDomains = 8;
Mark g_marks[kMostMarks];
std::string g_domains[kMostDomains];
int g_domain_count = 0;
int g_count = 0;
std::mutex g_mutex;

void Copy(char* to, std::size_t room, const char* from) {
  const std::size_t length = std::min(strlen(from), room - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

Mark& Add(Mark::What what, nvtxDomainHandle_t domain) {
  if (g_count == kMostMarks) abort();
  Mark& mark = g_marks[g_count++];
  mark.what = what;
  mark.thread = syscall(SYS_gettid);
  if (domain != nullptr) Copy(mark.domain, sizeof(mark.domain), reinterpret_cast<std::string*>(domain)->c_str());
  return mark;
}

void Take(const nvtxPayloadData_t& data, Mark& mark) {
  mark.schema = data.schemaId;
  mark.size = data.size;
  memcpy(mark.payload, data.payload, std::min(data.size, sizeof(mark.payload)));
}

nvtxDomainHandle_t CreateDomain(const char* name) {
  std::lock_guard lock(g_mutex);
  if (g_domain_count == kMostDomains) abort();
  g_domains[g_domain_count] = name;
  auto* const domain = reinterpret_cast<nvtxDomainHandle_t>(&g_domains[g_domain_count++]);
  Copy(Add(Mark::kDomain, domain).name, sizeof(Mark::name), name);
  return domain;
}

// Handles of registered strings are the strings.
nvtxStringHandle_t RegisterString(nvtxDomainHandle_t /*domain*/, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(text));
}

int Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  std::lock_guard lock(g_mutex);
  Mark& mark = Add(Mark::kPush, domain);
  const bool registered = attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  Copy(mark.name, sizeof(mark.name),
       registered ? reinterpret_cast<const char*>(attributes->message.registered) : attributes->message.ascii);
  if (attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT && attributes->reserved0 == 1) {
    Take(*reinterpret_cast<const nvtxPayloadData_t*>(attributes->payload.ullValue), mark);
  }
  return 0;
}

int Pop(nvtxDomainHandle_t domain) {
  std::lock_guard lock(g_mutex);
  Add(Mark::kPop, domain);
  return 0;
}

int PopWith(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data, std::size_t count) {
  std::lock_guard lock(g_mutex);
  Mark& mark = Add(Mark::kPop, domain);
  if (count == 1) Take(*data, mark);
  return 0;
}

std::uint64_t RegisterSchema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) {
  std::lock_guard lock(g_mutex);
  Mark& mark = Add(Mark::kSchema, domain);
  mark.schema = schema->schemaId;
  mark.size = schema->payloadStaticSize;
  mark.entries = schema->numEntries;
  std::string names;
  for (std::size_t i = 0; i < schema->numEntries; ++i) names += schema->entries[i].name;
  Copy(mark.name, sizeof(mark.name), names.c_str());
  return schema->schemaId;
}

std::uint64_t RegisterEnum(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* values) {
  std::lock_guard lock(g_mutex);
  Mark& mark = Add(Mark::kEnum, domain);
  mark.schema = values->schemaId;
  mark.size = values->sizeOfEnum;
  mark.entries = values->numEntries;
  return values->schemaId;
}

template <typename Function>
void Set(NvtxFunctionTable table, int id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  Set(table, NVTX_CBID_CORE2_DomainCreateA, &CreateDomain);
  Set(table, NVTX_CBID_CORE2_DomainRegisterStringA, &RegisterString);
  Set(table, NVTX_CBID_CORE2_DomainRangePushEx, &Push);
  Set(table, NVTX_CBID_CORE2_DomainRangePop, &Pop);
  return 1;
}

[[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* info) {
  if (info->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  intptr_t* const slots = info->segments[0].functionSlots;
  slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = reinterpret_cast<intptr_t>(&RegisterSchema);
  slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = reinterpret_cast<intptr_t>(&RegisterEnum);
  slots[NVTX3EXT_CBID_nvtxRangePopPayload] = reinterpret_cast<intptr_t>(&PopWith);
  return 1;
}

[[gnu::visibility("default")]] const Mark* tutti_test_marks(int* count) {
  std::lock_guard lock(g_mutex);
  *count = g_count;
  return g_marks;
}
}
