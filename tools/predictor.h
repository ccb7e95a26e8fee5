// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PREDICTOR_H_
#define TUTTI_TOOLS_PREDICTOR_H_

// What Tutti would choose on a machine that need not be there, and how long that takes. The choice is that of a communicator with the
// same settings, made by the same code; the time is, by who the ranks are:
//
//   GPUs of one host        that of the model of GPUs (tune/gpu_model.h), or what the links of the graph take at least, if that is more
//   host memory, one host   that of the model of host memory (tune/model.h)
//   host memory, several    that of the simulator (sim/simulator.h) for the chosen way, by the same constants
//   GPUs of several hosts   stage by stage (comm/gpu/predict_hosts.h): the first for what GPUs of a host exchange, the third for what
//                           goes through host memory

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/host_choices.h"
#include "tools/prediction.h"
#include "tools/topo_source.h"
#include "tune/gpu_model.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::tools {

struct PredictorOptions {
  int ranks = 0;  // of each host; 0: one for each GPU, in host memory one for each NUMA node, but at least 2 together
  bool host_memory = false;  // although there are GPUs
  tune::Outputs outputs = tune::Outputs::kAnywhere;
  Settings settings;
  // What choices in host memory go by; nothing: the built-in constants.
  std::optional<HostFacts> facts;
};

class Predictor {
 public:
  // Whom it is about.
  struct About {
    std::string machine;
    std::string memory;  // "memory of GPUs", "host memory"
    int hosts = 1, ranks = 1;
    std::vector<std::string>
        notes;  // what was assumed, where constants come from, and how good predictions were seen to be
  };

  virtual ~Predictor() = default;
  const About& about() const { return about_; }
  // An operation whose larger side has `size` bytes, rounded to whole bytes of each rank's piece, at least one. Fails where the
  // settings leave nothing that can do it. REQUIRES: not a barrier; size > 0.
  virtual Result<Prediction> Predict(Collective collective, std::size_t size) = 0;

 protected:
  About about_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PREDICTOR_H_
