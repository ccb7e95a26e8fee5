// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_NAMED_MACHINES_H_
#define TUTTI_TOPO_NAMED_MACHINES_H_

// Machines that are known by a name. Each is a text in machines/, and is part of the library.

#include <span>
#include <string_view>

#include "topo/machine.h"
#include "tutti/status.h"

namespace tutti::topo {

struct NamedMachine {
  std::string_view name;  // "hgx-h100"
  std::string_view text;  // machine_text.h
};

// In the order of machines.cmake, which writes this function's source from the texts.
std::span<const NamedMachine> NamedMachines();

// The machine of that name, in any letters. An error lists the names, and the one that was probably meant.
Result<Machine> FindMachine(std::string_view name);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_NAMED_MACHINES_H_
