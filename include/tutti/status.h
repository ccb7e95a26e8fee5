// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_STATUS_H_
#define TUTTI_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "tutti/export.h"

namespace tutti {

// What kind of thing went wrong. The values follow ncclResult_t where it has a name for the case.
enum class Code : std::uint8_t {
  kOk = 0,
  kSystem = 2,           // the operating system said no
  kInternal = 3,         // a defect in Tutti
  kInvalidArgument = 4,  // an argument is wrong on its own
  kInvalidUsage = 5,     // arguments are fine, the call is not allowed here or does not match its peers
  kRemote = 6,           // a peer died, aborted or left
  kInProgress = 7,       // not an error: ask again
  kTimeout = 8,          // a wait passed its deadline
  kUnsupported = 9,      // asks for something this build or machine cannot do
};

TUTTI_EXPORT const char* CodeName(Code code);

// The outcome of an operation that can fail: nothing, or a code with one precise sentence, and, where known,
// the rank of the peer that caused it. A good status is a null pointer, so success costs nothing.
//
// The sentence says what failed, where, the system's own error, the likely cause and the remedy.
// Threads: a Status is a value; distinct objects may be used from distinct threads.
class [[nodiscard]] TUTTI_EXPORT Status {
 public:
  Status() = default;
  Status(Code code, std::string message, int peer = -1)
      : detail_(std::make_shared<const Detail>(Detail{code, std::move(message), peer})) {}

  static Status Ok() { return Status(); }

  bool ok() const { return detail_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const { return ok() ? Code::kOk : detail_->code; }
  const std::string& message() const;
  // Rank of the culprit, or -1 where none is known.
  int peer() const { return ok() ? -1 : detail_->peer; }
  // "TIMEOUT: rank 2 waited ...", or "OK".
  std::string ToString() const;

 private:
  struct Detail {
    Code code;
    std::string message;
    int peer;
  };
  std::shared_ptr<const Detail> detail_;
};

// A value, or the Status that says why there is none.
//
//   Result<Plan> plan = Parse(text);
//   if (!plan.ok()) return plan.status();
//   Use(*plan);
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: conversion is the point
  Result(Status status) : value_(std::move(status)) {}  // NOLINT  REQUIRES: !status.ok()

  bool ok() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }
  // REQUIRES: ok()
  T& operator*() { return std::get<T>(value_); }
  const T& operator*() const { return std::get<T>(value_); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }

 private:
  std::variant<T, Status> value_;
};

}  // namespace tutti

// Returns from the calling function when `expression` (a Status) is an error.
#define TUTTI_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                           \
    if (::tutti::Status tutti_status_ = (expression); !tutti_status_.ok()) return tutti_status_; \
  } while (false)

#endif  // TUTTI_STATUS_H_
