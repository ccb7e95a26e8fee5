// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The settings of this process, by the names of their variables.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings_registry.h"
#include "base/words.h"
#include "capi/error.h"

namespace tutti::capi {
namespace {

// A handle is the address of the setting's row.
ncclParamHandle_t* ToHandle(const Setting& setting) {
  return reinterpret_cast<ncclParamHandle_t*>(const_cast<Setting*>(&setting));
}

Result<const Setting*> FromHandle(const ncclParamHandle_t* handle) {
  for (const Setting& setting : AllSettings()) {
    if (handle == ToHandle(setting)) return &setting;
  }
  return InvalidArgument("the handle is not one that ncclParamBind gave");
}

Result<const Setting*> FromKey(const char* key) {
  if (key == nullptr) return InvalidArgument("the key is NULL");
  if (const Setting* setting = FindSetting(key); setting != nullptr) return setting;
  const std::string_view nearest = NearestSetting(key);
  return InvalidArgument(fmt::format("there is no setting \"{}\"{}", key,
                                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

// The value that a communicator made now would have; "" where it has none.
std::string ValueOf(const Setting& setting) {
  return setting.print == nullptr ? "" : setting.print(Settings::FromEnvironment());
}

template <typename T>
ncclResult_t GetNumber(const char* function, const ncclParamHandle_t* handle, T* out) {
  return Call(function, [&]() -> Status {
    if (out == nullptr) return InvalidArgument("the pointer for the value is NULL");
    const Result<const Setting*> setting = FromHandle(handle);
    if (!setting.ok()) return setting.status();
    const std::string text = ValueOf(**setting);
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text);
    if (!number) {
      return InvalidArgument(
          fmt::format("{} is \"{}\", which is no number: use ncclParamGetStr", (*setting)->name, text));
    }
    if (!std::in_range<T>(*number)) {
      return InvalidArgument(fmt::format("{} is {}, which does not fit {} bits: use ncclParamGetI64", (*setting)->name,
                                         *number, 8 * sizeof(T)));
    }
    *out = static_cast<T>(*number);
    return Status::Ok();
  });
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclParamBind, (ncclParamHandle_t * *out, const char* key)) {
  return Call("ncclParamBind", [&]() -> Status {
    if (out == nullptr) return InvalidArgument("the pointer for the handle is NULL");
    *out = nullptr;
    const tutti::Result<const tutti::Setting*> setting = FromKey(key);
    if (!setting.ok()) return setting.status();
    *out = ToHandle(**setting);
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclParamGetI8, (ncclParamHandle_t * h, int8_t* out)) {
  return GetNumber("ncclParamGetI8", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetI16, (ncclParamHandle_t * h, int16_t* out)) {
  return GetNumber("ncclParamGetI16", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetI32, (ncclParamHandle_t * h, int32_t* out)) {
  return GetNumber("ncclParamGetI32", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetI64, (ncclParamHandle_t * h, int64_t* out)) {
  return GetNumber("ncclParamGetI64", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetU8, (ncclParamHandle_t * h, uint8_t* out)) {
  return GetNumber("ncclParamGetU8", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetU16, (ncclParamHandle_t * h, uint16_t* out)) {
  return GetNumber("ncclParamGetU16", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetU32, (ncclParamHandle_t * h, uint32_t* out)) {
  return GetNumber("ncclParamGetU32", h, out);
}
TUTTI_NCCL_API(ncclResult_t, ncclParamGetU64, (ncclParamHandle_t * h, uint64_t* out)) {
  return GetNumber("ncclParamGetU64", h, out);
}

TUTTI_NCCL_API(ncclResult_t, ncclParamGetStr, (ncclParamHandle_t * h, const char** out)) {
  return Call("ncclParamGetStr", [&]() -> Status {
    if (out == nullptr) return InvalidArgument("the pointer for the value is NULL");
    const tutti::Result<const tutti::Setting*> setting = FromHandle(h);
    if (!setting.ok()) return setting.status();
    thread_local std::string text;
    text = ValueOf(**setting);
    *out = text.c_str();
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclParamGet, (ncclParamHandle_t * h, void* out, int maxLen, int* len)) {
  return Call("ncclParamGet", [&]() -> Status {
    if (out == nullptr) return InvalidArgument("the pointer for the value is NULL");
    if (maxLen < 0) return InvalidArgument(fmt::format("the length {} is negative", maxLen));
    const tutti::Result<const tutti::Setting*> setting = FromHandle(h);
    if (!setting.ok()) return setting.status();
    const std::string text = ValueOf(**setting);
    const std::optional<std::int64_t> number = tutti::ParseNumber<std::int64_t>(text);
    const void* value = number ? static_cast<const void*>(&*number) : text.c_str();
    const std::size_t bytes = number ? sizeof(*number) : text.size() + 1;
    std::memcpy(out, value, std::min(bytes, static_cast<std::size_t>(maxLen)));
    if (len != nullptr) *len = static_cast<int>(bytes);
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclParamGetParameter, (const char* key, const char** value, int* valueLen)) {
  return Call("ncclParamGetParameter", [&]() -> Status {
    if (value == nullptr) return InvalidArgument("the pointer for the value is NULL");
    const tutti::Result<const tutti::Setting*> setting = FromKey(key);
    if (!setting.ok()) return setting.status();
    thread_local std::string text;
    text = ValueOf(**setting);
    *value = text.c_str();
    if (valueLen != nullptr) *valueLen = static_cast<int>(text.size());
    return Status::Ok();
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclParamGetAllParameterKeys, (const char*** table, int* tableLen)) {
  return Call("ncclParamGetAllParameterKeys", [&]() -> Status {
    if (table == nullptr || tableLen == nullptr) return InvalidArgument("a pointer for the table is NULL");
    thread_local std::vector<std::string> names;
    thread_local std::vector<const char*> pointers;
    names.clear();
    pointers.clear();
    for (const tutti::Setting& setting : tutti::AllSettings()) names.emplace_back(setting.name);
    for (const std::string& name : names) pointers.push_back(name.c_str());
    *table = pointers.data();
    *tableLen = static_cast<int>(pointers.size());
    return Status::Ok();
  });
}

TUTTI_NCCL_API(void, ncclParamDumpAll, ()) {
  (void)Call("ncclParamDumpAll", []() -> Status {
    for (const tutti::Setting& setting : tutti::AllSettings()) {
      TUTTI_INFO(tutti::log::kEnv, "{}={}", setting.name, ValueOf(setting));
    }
    return Status::Ok();
  });
}
