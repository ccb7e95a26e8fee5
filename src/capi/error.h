// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_ERROR_H_
#define TUTTI_CAPI_ERROR_H_

// From Status to NCCL's result codes, and the last error of a thread.

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "nccl.h"
#include "tutti/status.h"

namespace tutti::capi {

// The code that callers act on; kUnsupported is ncclInvalidUsage.
ncclResult_t ToResult(Code code);

// Remembers "function: sentence" as this thread's last error, writes it to the log, and returns the code.
// ncclInProgress is no error and is not remembered. A communicator that could not be made, or that broke, has told the
// log itself: errors that are about a rank, kRemote and kTimeout are not written again, nor is anything with kAlready,
// for those who ask often.
enum class Told : std::uint8_t { kNot, kAlready };
ncclResult_t Report(const char* function, const Status& status, Told told = Told::kNot);
void RememberError(const std::string& sentence);
const char* LastError();

inline Status InvalidArgument(std::string sentence) { return Status(Code::kInvalidArgument, std::move(sentence)); }
inline Status InvalidUsage(std::string sentence) { return Status(Code::kInvalidUsage, std::move(sentence)); }
inline Status InProgress() { return Status(Code::kInProgress, "goes on in the background"); }

// Runs `body`, which returns a Status; an exception becomes one.
template <typename Body>
Status Guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(Code::kSystem, "out of memory: nothing was done; free some and try again");
  } catch (const std::system_error& e) {
    return Status(Code::kSystem, std::string("the system refused: ") + e.what() +
                                     "; likely a limit of threads or memory (ulimit -u, -v)");
  } catch (const std::exception& e) {
    return Status(Code::kInternal, std::string("unexpected: ") + e.what());
  }
}

// Runs the body of an interface function: no exception gets out of it, and every failure is remembered.
template <typename Body>
ncclResult_t Call(const char* function, Body&& body) noexcept {
  const Status s = Guarded(body);
  if (s.ok()) [[likely]]
    return ncclSuccess;
  return Report(function, s);
}

}  // namespace tutti::capi

// Defines an interface function under both its names: the strong p##name and the weak name, which a profiler may
// replace.
#define TUTTI_NCCL_API(type, name, parameters)                                                    \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) type name parameters; \
  extern "C" __attribute__((visibility("default"))) type p##name parameters;                      \
  type p##name parameters

#endif  // TUTTI_CAPI_ERROR_H_
