/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * For preload_command_test.cc: opens each libnccl that it is told, as Python packages do, and prints the versions.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    int (*get)(int*) = library != NULL ? (int (*)(int*))dlsym(library, "ncclGetVersion") : NULL;
    int version = 0;
    if (get == NULL || get(&version) != 0) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    printf("%d\n", version);
  }
  return 0;
}
