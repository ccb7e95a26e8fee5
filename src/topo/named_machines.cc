// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/named_machines.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/words.h"
#include "topo/machine_text.h"
#include "topo/machine_words.h"

namespace tutti::topo {

Result<Machine> FindMachine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedMachine& machine : NamedMachines()) {
    if (EqualIgnoringCase(machine.name, name)) return ReadMachineText(machine.text, machine.name);
    names.push_back(machine.name);
  }
  const std::optional<std::string_view> meant = Nearest(Lower(name), names);
  return Status(Code::kInvalidArgument,
                fmt::format("no machine is called \"{}\"{}; there are {}, or write a file of your own", Excerpt(name),
                            meant ? fmt::format(", did you mean {}?", *meant) : "", fmt::join(names, ", ")));
}

}  // namespace tutti::topo
