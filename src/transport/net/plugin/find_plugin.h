// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_PLUGIN_FIND_PLUGIN_H_
#define TUTTI_TRANSPORT_NET_PLUGIN_FIND_PLUGIN_H_

#include <memory>
#include <string>

#include "tutti/status.h"

namespace tutti::transport::net::plugin {

class NetPlugin;

// Loads an entry of NCCL_NET_PLUGIN and finds the newest version of the interface in it, without starting it. kUnsupported: there
// is no such file. kInvalidUsage: it is no plugin that can be used. kSystem: it cannot be loaded.
Result<std::shared_ptr<NetPlugin>> FindPlugin(const std::string& name);

}  // namespace tutti::transport::net::plugin

#endif  // TUTTI_TRANSPORT_NET_PLUGIN_FIND_PLUGIN_H_
