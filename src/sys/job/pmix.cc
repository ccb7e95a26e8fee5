// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// PMIx, the little of it that is needed, by the names and layouts of its standard (version 2 and later). Its headers are not needed
// to build, nor its library to run where nobody asks for it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sys/job/job_store.h"
#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

constexpr const char* kLibraryName = "libpmix.so.2";
constexpr char kKey[] = "tutti.id";

using PmixStatus = int;
constexpr PmixStatus kSuccess = 0, kTimeout = -24, kNotFound = -46;
constexpr std::int64_t kRetryNs = 10 * kNsPerMs;
constexpr std::uint8_t kGlobal = 3;  // of a value: for processes of all hosts
constexpr std::uint16_t kString = 3, kInt = 6;

struct Process {
  char name_space[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    char* text;
    int number;
    std::byte room[24];
  } data;
};
static_assert(sizeof(Value) == 32 && offsetof(Value, data) == 8);
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};
static_assert(offsetof(Info, value) == 520 && sizeof(Info) == 552);

struct Functions {
  PmixStatus (*init)(Process* self, Info* infos, std::size_t count) = nullptr;
  int (*initialized)() = nullptr;
  PmixStatus (*finalize)(const Info* infos, std::size_t count) = nullptr;
  PmixStatus (*put)(std::uint8_t scope, const char* key, Value* value) = nullptr;
  PmixStatus (*commit)() = nullptr;
  PmixStatus (*get)(const Process* of, const char* key, const Info* infos, std::size_t count, Value** value) = nullptr;
  const char* (*describe)(PmixStatus status) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// It stays open: PMIx may have threads.
Status Open(Functions& f) {
  void* library = dlopen(kLibraryName, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Status(
        Code::kUnsupported,
        fmt::format("the launcher's store is PMIx, and its library cannot be opened ({}): install the package "
                    "that has {} (Debian: libpmix2) or name its folder in LD_LIBRARY_PATH; or give all ranks "
                    "one id in TUTTI_ID, or set NCCL_COMM_ID=host:port",
                    why == nullptr ? "no reason was given" : why, kLibraryName));
  }
  if (Find(library, "PMIx_Init", f.init) && Find(library, "PMIx_Initialized", f.initialized) &&
      Find(library, "PMIx_Finalize", f.finalize) && Find(library, "PMIx_Put", f.put) &&
      Find(library, "PMIx_Commit", f.commit) && Find(library, "PMIx_Get", f.get) &&
      Find(library, "PMIx_Error_string", f.describe)) {
    return Status::Ok();
  }
  return Status(Code::kUnsupported, fmt::format("{} lacks functions that PMIx 2 has: install a later one, or give all "
                                                "ranks one id in TUTTI_ID",
                                                kLibraryName));
}

Status Failed(const Functions& f, const char* what, PmixStatus status) {
  const char* why = f.describe(status);
  return Status(status == kTimeout ? Code::kTimeout : Code::kSystem,
                fmt::format("{} of the launcher's store failed: {}. Likely the process was not started by the launcher "
                            "itself, or rank 0 has not come; give all ranks one id in TUTTI_ID where this stays so",
                            what, why == nullptr ? "no reason was given" : why));
}

// Between PMIx_Init and PMIx_Finalize.
Result<std::string> Share(const Functions& f, const Process& self, int rank, const std::string& text,
                          std::int64_t deadline_ns) {
  if (rank == 0) {
    Value value{.type = kString, .data = {}};
    value.data.text = const_cast<char*>(text.c_str());
    if (const PmixStatus s = f.put(kGlobal, kKey, &value); s != kSuccess) return Failed(f, "PMIx_Put", s);
    if (const PmixStatus s = f.commit(); s != kSuccess) return Failed(f, "PMIx_Commit", s);
    return text;
  }
  Process root = self;
  root.rank = 0;
  Info patience{};
  std::strcpy(patience.key, "pmix.timeout");
  patience.value.type = kInt;
  patience.value.data.number =
      static_cast<int>(std::clamp<std::int64_t>((deadline_ns - NowNs()) / kNsPerSecond, 1, 1'000'000));
  Value* value = nullptr;
  PmixStatus got = f.get(&root, kKey, &patience, 1, &value);
  // Some servers answer at once where rank 0 has not come yet.
  while (got == kNotFound && NowNs() < deadline_ns) {
    SleepNs(kRetryNs);
    got = f.get(&root, kKey, &patience, 1, &value);
  }
  if (got != kSuccess || value == nullptr) return Failed(f, "PMIx_Get", got);
  std::string shared;
  if (value->type == kString && value->data.text != nullptr) shared = value->data.text;
  std::free(value->data.text);
  std::free(value);
  return shared;
}

}  // namespace

Result<std::string> internal::ShareByPmix(int rank, const std::string& text, std::int64_t deadline_ns) {
  static Functions& f = *new Functions;
  TUTTI_RETURN_IF_ERROR(Open(f));
  const bool in_use = f.initialized() != 0;
  Process self{};
  if (const PmixStatus s = f.init(&self, nullptr, 0); s != kSuccess) return Failed(f, "PMIx_Init", s);
  Result<std::string> shared = Share(f, self, rank, text, deadline_ns);
  // Once its last user has ended it, it cannot begin again in this process. A launcher takes a process that never ends it for
  // one that has failed. So it is ended at once, unless there is an MPI that may not have begun to use it.
  if (in_use || FindMpi().empty()) {
    (void)f.finalize(nullptr, 0);
  } else {
    (void)std::atexit([] { (void)f.finalize(nullptr, 0); });
  }
  return shared;
}

}  // namespace tutti::sys
