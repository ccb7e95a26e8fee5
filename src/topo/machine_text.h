// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_MACHINE_TEXT_H_
#define TUTTI_TOPO_MACHINE_TEXT_H_

// A machine as a short text: what a host is made of, how NVLinks join its GPUs, what is broken, and the network between hosts.
//
//   name   HGX H100
//   gpu    H100
//   nvlink switch
//   cpu    Intel 6/143
//   pci    gen5 x16
//   nic    400 Gbit/s
//   host
//     2 sockets
//       4 switches
//         1 gpu
//         1 nic
//   but gpu 3: 17 nvlinks
//   but host 31 nic 2: 100 Gbit/s
//   fabric rail-optimised of 64 ports, adaptive
//
// Lines stand in any order. What follows `#` is a comment. Commas, colons and the words of, with, at, and, has, per, each are for the
// eye only. Words are read in any letters.
//
//   name TEXT
//   gpu MODEL                   gpu_models.h has the names. Or by its properties: sm90, 18 nvlinks, 80 GB. Hosts without GPUs need none
//   cpu VENDOR FAMILY/MODEL     of CPUID: Intel, AMD, Zhaoxin; or cpu arm64, cpu ppc64
//   pci genG xL                 of all PCI links for which nothing else is said; without it as the GPUs have it at best
//   nic PROPERTIES              of all network cards for which nothing else is said
//   c2c N lines of R MB/s       NVLinks from each GPU to its CPU
//   nvlink switch               all GPUs to all. `across N hosts`: and those of N hosts together; `groups of N`: N GPUs each
//   nvlink groups of N          every two of N GPUs, by links of their own, in equal parts
//   nvlink N per pair: A-B A-B  so many between GPUs A and B; any number of such lines
//   host                        below it the tree of a host, by indentation: COUNT NOUN PROPERTIES, or NOUN NUMBER... PROPERTIES
//                                 sockets, numa nodes, switches (of PCI, and bridges), gpus, nics (each a card). Things below a
//                                 repeated one are repeated with it. Numbers are given in order unless they stand there.
//                                 A socket without NUMA nodes is one.
//   but [host H] NOUN NUMBER... PROPERTIES     of a thing of the tree, in all hosts or in one
//   fabric KIND PROPERTIES      one switch; rails (a switch for each rail, which nothing joins); fat tree; rail-optimised; none. The
//                               trees have 2 levels, or 3 where the hosts take them. Without this line all ports are at one switch
//
//   properties of              | are
//   ---------------------------|------------------------------------------------------------------------------------------------
//   switches, gpus, nics       | genG xL: the link towards the CPU; behind `now`: what it runs at, and before it what it could
//   gpus                       | N nvlinks; gpudirect on, off
//   nics                       | R Gbit/s, N ports, latency N us, reports N us, gpudirect on, off, virtual (machine.h: NicKind)
//   numa nodes                 | unknown: the system does not say which node it is
//   fabric                     | N levels, N ports (of a switch), N spines, N planes, N hosts per leaf, N leaves per rail,
//                              | oversubscription R, uplinks R Gbit/s, hop N us, hash, adaptive, reduces (fabric.h)

#include <string_view>

#include "topo/machine.h"
#include "tutti/status.h"

namespace tutti::topo {

// `where`: what the text is called in errors: "line 3 of box.txt: ...". Fails with line, reason and remedy in one sentence.
Result<Machine> ReadMachineText(std::string_view text, std::string_view where);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_MACHINE_TEXT_H_
