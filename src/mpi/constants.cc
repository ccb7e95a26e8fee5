// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The constants of mpi/names.h, whose values are this library's own, and the versions that MPItrampoline compares.
#include <cstdint>

#include "mpi/abi.h"

// A constant of C++ is only seen outside where it has been declared before.
#define TUTTI_MPI_CONSTANT(type, name, value)  \
  extern "C" TUTTI_MPI_EXPORT type const name; \
  type const name = value;

namespace tutti::mpi {
namespace {

#define TUTTI_MPI_NUMBER(name) kNumber##name,
#define TUTTI_MPI_MODE(name) kMode##name,
enum Number : int { kNumberNone, TUTTI_MPI_NUMBERS(TUTTI_MPI_NUMBER) };
enum Mode : int { TUTTI_MPI_MODES(TUTTI_MPI_MODE) };

#define TUTTI_MPI_EXPORT_NUMBER(name) TUTTI_MPI_CONSTANT(int, MPIABI_##name, kNumber##name)
#define TUTTI_MPI_EXPORT_MODE(name) TUTTI_MPI_CONSTANT(int, MPIABI_MODE_##name, 1 << kMode##name)
#define TUTTI_MPI_EXPORT_ERROR(name) TUTTI_MPI_CONSTANT(int, MPIABI_ERR_##name, static_cast<int>(ErrorClass::k##name))
#define TUTTI_MPI_EXPORT_TYPE(name) TUTTI_MPI_CONSTANT(Handle, MPIABI_##name, static_cast<Handle>(Type::k##name))
#define TUTTI_MPI_EXPORT_OP(name) TUTTI_MPI_CONSTANT(Handle, MPIABI_##name, static_cast<Handle>(Op::k##name))
#define TUTTI_MPI_EXPORT_HANDLE(name) TUTTI_MPI_CONSTANT(Handle, MPIABI_##name, k##name)
#define TUTTI_MPI_EXPORT_POINTER(name) TUTTI_MPI_CONSTANT(Handle, MPIABI_##name, 0)

}  // namespace

TUTTI_MPI_NUMBERS(TUTTI_MPI_EXPORT_NUMBER)
TUTTI_MPI_MODES(TUTTI_MPI_EXPORT_MODE)
TUTTI_MPI_ERRORS(TUTTI_MPI_EXPORT_ERROR)
TUTTI_MPI_DATATYPES(TUTTI_MPI_EXPORT_TYPE)
TUTTI_MPI_OPS(TUTTI_MPI_EXPORT_OP)
TUTTI_MPI_HANDLES(TUTTI_MPI_EXPORT_HANDLE)
TUTTI_MPI_POINTERS(TUTTI_MPI_EXPORT_POINTER)

TUTTI_MPI_CONSTANT(int, MPIABI_SUCCESS, 0)
TUTTI_MPI_CONSTANT(int, MPIABI_ERR_LASTCODE, kFirstCode + kCodes - 1)
TUTTI_MPI_CONSTANT(int, MPIABI_ANY_SOURCE, kAnySource)
TUTTI_MPI_CONSTANT(int, MPIABI_PROC_NULL, kProcNull)
TUTTI_MPI_CONSTANT(int, MPIABI_ROOT, kRoot)
TUTTI_MPI_CONSTANT(int, MPIABI_ANY_TAG, kAnyTag)
TUTTI_MPI_CONSTANT(int, MPIABI_UNDEFINED, kUndefined)
TUTTI_MPI_CONSTANT(int, MPIABI_KEYVAL_INVALID, -1)
TUTTI_MPI_CONSTANT(int, MPIABI_BSEND_OVERHEAD, 0)
TUTTI_MPI_CONSTANT(int, MPIABI_IDENT, 0)
TUTTI_MPI_CONSTANT(int, MPIABI_CONGRUENT, 1)
TUTTI_MPI_CONSTANT(int, MPIABI_SIMILAR, 2)
TUTTI_MPI_CONSTANT(int, MPIABI_UNEQUAL, 3)
TUTTI_MPI_CONSTANT(int, MPIABI_THREAD_SINGLE, kThreadSingle)
TUTTI_MPI_CONSTANT(int, MPIABI_THREAD_FUNNELED, kThreadFunneled)
TUTTI_MPI_CONSTANT(int, MPIABI_THREAD_SERIALIZED, kThreadSerialized)
TUTTI_MPI_CONSTANT(int, MPIABI_THREAD_MULTIPLE, kThreadMultiple)
TUTTI_MPI_CONSTANT(std::int64_t, MPIABI_DISPLACEMENT_CURRENT, -1)
TUTTI_MPI_CONSTANT(const void*, MPIABI_IN_PLACE, InPlace())
TUTTI_MPI_CONSTANT(const void*, MPIABI_BOTTOM, nullptr)
TUTTI_MPI_CONSTANT(AbiStatus*, MPIABI_STATUS_IGNORE, nullptr)
TUTTI_MPI_CONSTANT(AbiStatus*, MPIABI_STATUSES_IGNORE, nullptr)

TUTTI_MPI_CONSTANT(int, mpiabi_version_major, kAbiMajor)
TUTTI_MPI_CONSTANT(int, mpiabi_version_minor, kAbiMinor)
TUTTI_MPI_CONSTANT(int, mpiabi_version_patch, kAbiPatch)
TUTTI_MPI_CONSTANT(int, mpiwrapper_version_major, TUTTI_VERSION_MAJOR)
TUTTI_MPI_CONSTANT(int, mpiwrapper_version_minor, TUTTI_VERSION_MINOR)
TUTTI_MPI_CONSTANT(int, mpiwrapper_version_patch, TUTTI_VERSION_PATCH)

// Called once by the program, for constants of Fortran; there are none.
extern "C" TUTTI_MPI_EXPORT void mpiwrapper_export_fortran_constants_() {}

}  // namespace tutti::mpi
