// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/job/job_store.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "sys/os/mappings.h"
#include "sys/os/process.h"

namespace tutti::sys {

std::string internal::FindMpi() {
  for (const char* name : {"MPI_Init", "PMPI_Init"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr) return name;
  }
  // Libraries that were opened for their opener alone have no names here.
  const Result<std::vector<Mapping>> mappings = ReadMappings(getpid());
  if (!mappings.ok()) return "";
  for (const Mapping& mapping : *mappings) {
    const std::string_view path = mapping.path;
    if (path.substr(path.rfind('/') + 1).starts_with("libmpi")) return mapping.path;
  }
  return "";
}

Result<std::string> ShareText(JobStore store, int rank, const std::string& text, std::int64_t deadline_ns) {
  if (store == JobStore::kPmix) return internal::ShareByPmix(rank, text, deadline_ns);
  const std::optional<int> fd = ParseNumber<int>(GetEnv("PMI_FD").value_or(""));
  if (!fd || *fd < 0) {
    return Status(Code::kUnsupported,
                  "PMI_FD does not name the connection to the launcher: do not clear the environment between the "
                  "launcher and the ranks, or give all ranks one id in TUTTI_ID");
  }
  if (const std::string mpi = internal::FindMpi(); !mpi.empty()) {
    return Status(Code::kUnsupported,
                  fmt::format("the launcher's store serves this process's MPI ({}) alone, which can pass an id on by "
                              "MPI_Bcast",
                              mpi));
  }
  return internal::ShareByPmi(*fd, rank, text, deadline_ns);
}

}  // namespace tutti::sys
