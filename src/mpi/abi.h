// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_MPI_ABI_H_
#define TUTTI_MPI_ABI_H_

// MPItrampoline's binary interface of MPI: what crosses the border between a program with MPItrampoline inside and the library that it
// loads. Version 2.9, of 64-bit Linux.

#include <cstddef>
#include <cstdint>

#include "mpi/names.h"

// Of a function or constant that the program resolves by its name.
#define TUTTI_MPI_EXPORT [[gnu::visibility("default")]]

namespace tutti::mpi {

inline constexpr int kAbiMajor = 2, kAbiMinor = 9, kAbiPatch = 0;

// Of a communicator, type, operator, request and so on.
using Handle = std::uintptr_t;

// MPI_Status. What lies before the three fields is the library's own.
struct AbiStatus {
  std::size_t own[3];
  int source;
  int tag;
  int error;
};
static_assert(sizeof(AbiStatus) == 40 && offsetof(AbiStatus, source) == 24);

// Lengths of the buffers that programs pass for texts.
inline constexpr std::size_t kErrorStringBytes = 1024;
inline constexpr std::size_t kVersionStringBytes = 8192;

#define TUTTI_MPI_ENUMERATOR(name) k##name,

enum class Type : Handle { kNone = 0, TUTTI_MPI_DATATYPES(TUTTI_MPI_ENUMERATOR) };
enum class Op : Handle { kNone = 0, TUTTI_MPI_OPS(TUTTI_MPI_ENUMERATOR) };
enum class ErrorClass : int { kSuccess = 0, TUTTI_MPI_ERRORS(TUTTI_MPI_ENUMERATOR) kCount };
// Handles that mean something, and those that programs compare with; communicators and requests of programs come after them.
enum FixedHandle : Handle { kNoHandle = 0, TUTTI_MPI_HANDLES(TUTTI_MPI_ENUMERATOR) kFirstHandle = 64 };

#undef TUTTI_MPI_ENUMERATOR

// Codes that errors are returned by lie from here on (codes.h); classes are smaller.
inline constexpr int kFirstCode = 1000;
inline constexpr int kCodes = 256;
static_assert(static_cast<int>(ErrorClass::kCount) < kFirstCode);

inline constexpr int kAnySource = -2, kProcNull = -1, kRoot = -3, kAnyTag = -1, kUndefined = -32766;
inline constexpr int kThreadSingle = 0, kThreadFunneled = 1, kThreadSerialized = 2, kThreadMultiple = 3;

// MPI_IN_PLACE: an address that no buffer has.
inline const void* InPlace() { return reinterpret_cast<const void*>(-1); }

}  // namespace tutti::mpi

#endif  // TUTTI_MPI_ABI_H_
