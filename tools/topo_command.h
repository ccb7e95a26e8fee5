// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOPO_COMMAND_H_
#define TUTTI_TOOLS_TOPO_COMMAND_H_

namespace tutti::tools {

// `tutti topo`: this machine, one of a file or one with a name as a matrix, a tree, a drawing, XML or JSON, and what is bad about it.
// Returns an exit code of cli.h.
int TopoCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOPO_COMMAND_H_
