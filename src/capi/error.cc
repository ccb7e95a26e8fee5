// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/error.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace tutti::capi {
namespace {

constexpr std::size_t kLastErrorBytes = 1024;
thread_local char t_last_error[kLastErrorBytes];

}  // namespace

ncclResult_t ToResult(Code code) {
  switch (code) {
    case Code::kOk:
      return ncclSuccess;
    case Code::kSystem:
      return ncclSystemError;
    case Code::kInternal:
      return ncclInternalError;
    case Code::kInvalidArgument:
      return ncclInvalidArgument;
    case Code::kInvalidUsage:
    case Code::kUnsupported:
      return ncclInvalidUsage;
    case Code::kRemote:
      return ncclRemoteError;
    case Code::kInProgress:
      return ncclInProgress;
    case Code::kTimeout:
      return ncclTimeout;
  }
  return ncclInternalError;
}

void RememberError(const std::string& sentence) {
  const std::size_t bytes = std::min(sentence.size(), kLastErrorBytes - 1);
  std::memcpy(t_last_error, sentence.data(), bytes);
  t_last_error[bytes] = '\0';
}

const char* LastError() { return t_last_error; }

ncclResult_t Report(const char* function, const Status& status, Told told) {
  const ncclResult_t result = ToResult(status.code());
  if (result == ncclSuccess || result == ncclInProgress) return result;
  const std::string sentence = std::string(function) + ": " + status.message();
  RememberError(sentence);
  const bool of_communicator = status.peer() >= 0 || status.code() == Code::kRemote || status.code() == Code::kTimeout;
  if (told == Told::kNot && !of_communicator) TUTTI_WARN("{}", sentence);
  return result;
}

}  // namespace tutti::capi

TUTTI_NCCL_API(const char*, ncclGetErrorString, (ncclResult_t result)) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "timeout";
    default:
      return "unknown result code";
  }
}
