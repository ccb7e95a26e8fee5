// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_FIND_TUNER_H_
#define TUTTI_TUNE_PLUGIN_FIND_TUNER_H_

// Which tuner plugin there is, found as NCCL does it:
//
//   * NCCL_TUNER_PLUGIN is tried as a file and then as libnccl-tuner-NAME.so; unset: libnccl-tuner.so. "none": none. A beginning of
//     STATIC_PLUGIN: what is linked into the program.
//   * Where no such file can be loaded, the library of the network plugin that carries data between hosts may be one too.
//   * The newest ncclTunerPlugin_v<N> of the library counts, from version 6 down to 2.

#include <functional>
#include <memory>
#include <string>

#include "tutti/status.h"

namespace tutti::tune::plugin {

class Interface;

// A library that was loaded, or the program with what is linked into it. It stays loaded.
struct Library {
  std::string path;  // empty of the program
  std::function<const void*(const char* symbol)> find;
};

struct Wishes {
  std::string plugin;           // NCCL_TUNER_PLUGIN; empty: not set
  std::string network_library;  // of the network plugin in use: its path, or STATIC_PLUGIN; empty: there is none
  // Loads a library by path or name, an empty one means the program. kUnsupported: there is no such file.
  std::function<Result<Library>(const std::string& name)> open;
};

// Null: there is none, and nobody has asked for one. Errors: why the one that was asked for cannot be used.
Result<std::shared_ptr<const Interface>> FindTuner(const Wishes& wishes);

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_FIND_TUNER_H_
