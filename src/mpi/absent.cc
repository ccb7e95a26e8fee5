// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Functions of MPI that are not here: XLA calls none of them. What returns an error code says its name on standard error and returns one,
// whose sentence says its name too. What returns something else ends the process, as MPI does with errors that cannot be returned.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "mpi/codes.h"

namespace tutti::mpi {
namespace {

std::string Sentence(const char* function) {
  return fmt::format(
      "{} is not in this library, which has only what JAX needs of MPI: use an MPI for programs that call it (leave "
      "MPITRAMPOLINE_LIB unset, or name another library there)",
      function);
}

int Absent(const char* function) {
  const std::string sentence = Sentence(function);
  Say(sentence);
  return CodeOf(sentence);
}

[[noreturn]] Handle AbsentForGood(const char* function) {
  Say(Sentence(function));
  std::abort();
}

}  // namespace

// Whatever a program passes, nobody reads it.
#define TUTTI_MPI_STUB(name) \
  extern "C" TUTTI_MPI_EXPORT int MPIABI_##name() { return Absent("MPI_" #name); }
#define TUTTI_MPI_STUB_WITHOUT_CODE(name) \
  extern "C" TUTTI_MPI_EXPORT Handle MPIABI_##name() { return AbsentForGood("MPI_" #name); }
// Is memory of a kind of GPU taken? No.
#define TUTTI_MPI_EXTENSION(name) \
  extern "C" TUTTI_MPI_EXPORT int MPIXABI_##name() { return 0; }

TUTTI_MPI_ABSENT(TUTTI_MPI_STUB)
TUTTI_MPI_ABSENT_WITHOUT_CODE(TUTTI_MPI_STUB_WITHOUT_CODE)
TUTTI_MPI_EXTENSIONS(TUTTI_MPI_EXTENSION)

}  // namespace tutti::mpi
