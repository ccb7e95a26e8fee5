/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `tutti preload` puts into LD_AUDIT (man 7 rtld-audit). The dynamic linker loads it into every process below, in a
 * namespace of its own, and asks it about every library that the process looks for.
 *
 *   TUTTI_PRELOAD_LIBRARY   the file that every look-up of a libnccl leads to, by name or by path; unset: look-ups go
 *                           where they would go anyway
 *   TUTTI_PRELOAD_REPORT    a file that gets a line for each libnccl which a process maps, at that moment:
 *                           PID <tab> RANK or - <tab> PROGRAM <tab> FILE
 *
 * Runs while the dynamic linker holds its lock, before the program's own code: libc alone, no allocation, and no failure
 * that would stop a program.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char g_library[PATH_MAX];
static char g_report[PATH_MAX];

static void Keep(char* kept, const char* variable) {
  const char* value = getenv(variable);
  if (value != NULL && strlen(value) < PATH_MAX) strcpy(kept, value);
}

/* libnccl.so, libnccl.so.2, libnccl.so.2.28.9, in any folder; not libnccl-net.so. */
static int IsNccl(const char* name) {
  static const char kName[] = "libnccl.so";
  const char* slash = strrchr(name, '/');
  const char* file = slash != NULL ? slash + 1 : name;
  const size_t length = sizeof(kName) - 1;
  return strncmp(file, kName, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

static const char* Rank(void) {
  static const char* const kVariables[] = {"TUTTI_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  size_t i;
  for (i = 0; i < sizeof(kVariables) / sizeof(kVariables[0]); ++i) {
    const char* value = getenv(kVariables[i]);
    if (value != NULL && *value != '\0' && strlen(value) < 16 && strpbrk(value, "\t\n") == NULL) return value;
  }
  return "-";
}

static void Report(const char* name) {
  char program[PATH_MAX] = "?";
  char file[PATH_MAX];
  char line[2 * PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  int size, fd;
  if (length > 0) program[length] = '\0';
  if (realpath(name, file) == NULL) snprintf(file, sizeof(file), "%s", name);
  size = snprintf(line, sizeof(line), "%d\t%s\t%s\t%s\n", (int)getpid(), Rank(), program, file);
  fd = open(g_report, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  length = write(fd, line, (size_t)size); /* one write: lines of several processes do not mix */
  (void)length;
  close(fd);
}

/* Older dynamic linkers (glibc before 2.35) speak an older version of the interface; these functions are in all. */
EXPORT unsigned int la_version(unsigned int version) {
  Keep(g_library, "TUTTI_PRELOAD_LIBRARY");
  Keep(g_report, "TUTTI_PRELOAD_REPORT");
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT char* la_objsearch(const char* name, uintptr_t* cookie, unsigned int flag) {
  (void)cookie;
  (void)flag;
  return g_library[0] != '\0' && IsNccl(name) ? g_library : (char*)name;
}

EXPORT unsigned int la_objopen(struct link_map* map, Lmid_t id, uintptr_t* cookie) {
  (void)id;
  (void)cookie;
  if (g_report[0] != '\0' && (IsNccl(map->l_name) || (g_library[0] != '\0' && strcmp(map->l_name, g_library) == 0))) {
    Report(map->l_name);
  }
  return 0; /* no auditing of symbols, so calls between libraries cost what they always cost */
}
