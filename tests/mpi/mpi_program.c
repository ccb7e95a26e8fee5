/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that has a library loaded as MPItrampoline does, and calls the functions that XLA calls: one rank of `tutti run`.
 *
 *     mpi_program LIBRARY symbols | all | many | absent | death | tags | keys | self | errors | again
 *
 * It ends with 0 where all is as it should be, else with a line that says what is not.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/names.h"

typedef uintptr_t Handle;
typedef struct {
  uint64_t own[3];
  int source, tag, error;
} Status;

static void* library;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static void* Symbol(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s is not there\n", name);
    exit(1);
  }
  return found;
}

static int Number(const char* name) { return *(const int*)Symbol(name); }
static Handle TheHandle(const char* name) { return *(const Handle*)Symbol(name); }
#define NUMBER(name) Number("MPIABI_" #name)
#define HANDLE(name) TheHandle("MPIABI_" #name)

static int (*Init_thread)(int*, char***, int, int*);
static int (*Is_thread_main)(int*);
static int (*Finalize)(void);
static int (*Error_string)(int, char*, int*);
static int (*Comm_split)(Handle, int, int, Handle*);
static int (*Comm_rank)(Handle, int*);
static int (*Comm_size)(Handle, int*);
static int (*Comm_free)(Handle*);
static int (*Allreduce)(const void*, void*, int, Handle, Handle, Handle);
static int (*Allgather)(const void*, int, Handle, void*, int, Handle, Handle);
static int (*Reduce_scatter)(const void*, void*, const int*, Handle, Handle, Handle);
static int (*Sendrecv)(const void*, int, Handle, int, int, void*, int, Handle, int, int, Handle, Status*);
static int (*Isend)(const void*, int, Handle, int, int, Handle, Handle*);
static int (*Irecv)(void*, int, Handle, int, int, Handle, Handle*);
static int (*Wait)(Handle*, Status*);

#define FIND(name) *(void**)&name = Symbol("MPIABI_" #name)

static void Load(const char* path) {
  library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  FIND(Init_thread), FIND(Is_thread_main), FIND(Finalize), FIND(Error_string), FIND(Comm_split);
  FIND(Comm_rank), FIND(Comm_size), FIND(Comm_free), FIND(Allreduce), FIND(Allgather), FIND(Reduce_scatter);
  FIND(Sendrecv), FIND(Isend), FIND(Irecv), FIND(Wait);
}

static const char* Sentence(int code) {
  static char text[1024];
  int length = -1;
  CHECK(Error_string(code, text, &length) == 0);
  CHECK((int)strlen(text) == length);
  return text;
}

static void Ok(int code, int line) {
  if (code == 0) return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, Sentence(code));
  exit(1);
}
#define OK(call) Ok(call, __LINE__)

static Handle world;
static int world_rank, world_ranks;

static void Start(void) {
  int provided = -1, is_main = 0;
  OK(Init_thread(NULL, NULL, NUMBER(THREAD_FUNNELED), &provided));
  CHECK(provided == NUMBER(THREAD_MULTIPLE));
  OK(Is_thread_main(&is_main));
  CHECK(is_main == 1);
  world = HANDLE(COMM_WORLD);
  OK(Comm_rank(world, &world_rank));
  OK(Comm_size(world, &world_ranks));
}

/* ---------------------------------------------------------------------------------------------------------- */

#define RESOLVE(name) Symbol("MPIABI_" #name), ++count;
#define RESOLVE_ERROR(name) Symbol("MPIABI_ERR_" #name), ++count;
#define RESOLVE_MODE(name) Symbol("MPIABI_MODE_" #name), ++count;
#define RESOLVE_EXTENSION(name) Symbol("MPIXABI_" #name), ++count;

static void Symbols(void) {
  int count = 0;
  TUTTI_MPI_ABSENT(RESOLVE)
  TUTTI_MPI_ABSENT_WITHOUT_CODE(RESOLVE)
  TUTTI_MPI_EXTENSIONS(RESOLVE_EXTENSION)
  TUTTI_MPI_ERRORS(RESOLVE_ERROR)
  TUTTI_MPI_MODES(RESOLVE_MODE)
  TUTTI_MPI_NUMBERS(RESOLVE)
  TUTTI_MPI_DATATYPES(RESOLVE)
  TUTTI_MPI_OPS(RESOLVE)
  TUTTI_MPI_POINTERS(RESOLVE)
  TUTTI_MPI_HANDLES(RESOLVE)
  static const char* const kOthers[] = {"MPIABI_Abort",
                                        "MPIABI_Finalized",
                                        "MPIABI_Get_library_version",
                                        "MPIABI_Get_version",
                                        "MPIABI_Init",
                                        "MPIABI_Initialized",
                                        "MPIABI_Query_thread",
                                        "MPIABI_Wtick",
                                        "MPIABI_Wtime",
                                        "MPIABI_SUCCESS",
                                        "MPIABI_ANY_SOURCE",
                                        "MPIABI_ANY_TAG",
                                        "MPIABI_PROC_NULL",
                                        "MPIABI_ROOT",
                                        "MPIABI_UNDEFINED",
                                        "MPIABI_KEYVAL_INVALID",
                                        "MPIABI_BSEND_OVERHEAD",
                                        "MPIABI_IDENT",
                                        "MPIABI_CONGRUENT",
                                        "MPIABI_SIMILAR",
                                        "MPIABI_UNEQUAL",
                                        "MPIABI_THREAD_SINGLE",
                                        "MPIABI_THREAD_FUNNELED",
                                        "MPIABI_THREAD_SERIALIZED",
                                        "MPIABI_THREAD_MULTIPLE",
                                        "MPIABI_ERR_LASTCODE",
                                        "MPIABI_DISPLACEMENT_CURRENT",
                                        "MPIABI_IN_PLACE",
                                        "MPIABI_BOTTOM",
                                        "MPIABI_STATUS_IGNORE",
                                        "MPIABI_STATUSES_IGNORE"};
  for (size_t i = 0; i < sizeof(kOthers) / sizeof(*kOthers); ++i) Symbol(kOthers[i]), ++count;
  CHECK(count + 15 == 375 + 260); /* functions and constants of MPItrampoline 5.5; the 15 were found by Load */
  CHECK(Number("mpiabi_version_major") == 2 && Number("mpiabi_version_minor") >= 9 &&
        Number("mpiabi_version_patch") >= 0);
  Symbol("mpiwrapper_version_major"), Symbol("mpiwrapper_version_minor"), Symbol("mpiwrapper_version_patch");
  ((void (*)(void))Symbol("mpiwrapper_export_fortran_constants_"))();
  CHECK(NUMBER(SUCCESS) == 0 && sizeof(Status) == 40);
}

/* ---------------------------------------------------------------------------------------------------------- */

enum { kCount = 37 };

/* Rank r of `ranks` contributes (r + 1) * (i % 3 + 1): small enough that every type holds sums and products exactly. */
#define DEFINE_TRY(name, C)                                                                                       \
  static void Try##name(Handle comm, int rank, int ranks, Handle type, int ordered) {                             \
    C in[4 * kCount], out[4 * kCount], sum, product, least, most;                                                 \
    for (int i = 0; i < ranks * kCount; ++i) in[i] = (C)((rank + 1) * (i % 3 + 1));                               \
    for (int op = 0; op < (ordered ? 4 : 2); ++op) {                                                              \
      const Handle handle = op == 0 ? HANDLE(SUM) : op == 1 ? HANDLE(PROD) : op == 2 ? HANDLE(MIN) : HANDLE(MAX); \
      const int counts[4] = {kCount, kCount, kCount, kCount};                                                     \
      for (int scatter = 0; scatter < 2; ++scatter) {                                                             \
        memset(out, 0x55, sizeof(out));                                                                           \
        if (scatter) {                                                                                            \
          OK(Reduce_scatter(in, out, counts, type, handle, comm));                                                \
        } else {                                                                                                  \
          OK(Allreduce(in, out, kCount, type, handle, comm));                                                     \
        }                                                                                                         \
        for (int i = 0; i < kCount; ++i) {                                                                        \
          const int m = (i + (scatter ? rank * kCount : 0)) % 3 + 1;                                              \
          sum = 0, product = 1, least = (C)m, most = (C)(ranks * m);                                              \
          for (int r = 0; r < ranks; ++r) sum += (C)((r + 1) * m), product *= (C)((r + 1) * m);                   \
          CHECK(out[i] == (op == 0 ? sum : op == 1 ? product : op == 2 ? least : most));                          \
        }                                                                                                         \
      }                                                                                                           \
    }                                                                                                             \
    OK(Allgather(in, kCount, type, out, kCount, type, comm));                                                     \
    for (int i = 0; i < ranks * kCount; ++i) CHECK(out[i] == (C)((i / kCount + 1) * (i % kCount % 3 + 1)));       \
    OK(Allreduce(*(void* const*)Symbol("MPIABI_IN_PLACE"), in, kCount, type, HANDLE(SUM), comm));                 \
    for (int i = 0; i < kCount; ++i) {                                                                            \
      sum = 0;                                                                                                    \
      for (int r = 0; r < ranks; ++r) sum += (C)((r + 1) * (i % 3 + 1));                                          \
      CHECK(in[i] == sum);                                                                                        \
    }                                                                                                             \
  }
DEFINE_TRY(S8, int8_t)
DEFINE_TRY(U8, uint8_t)
DEFINE_TRY(S16, int16_t)
DEFINE_TRY(U16, uint16_t)
DEFINE_TRY(S32, int32_t)
DEFINE_TRY(U32, uint32_t)
DEFINE_TRY(S64, int64_t)
DEFINE_TRY(U64, uint64_t)
DEFINE_TRY(F32, float)
DEFINE_TRY(F64, double)
DEFINE_TRY(C64, float complex)
DEFINE_TRY(C128, double complex)

static void TryInPlace(Handle comm, int rank, int ranks) {
  int data[4], counts[4] = {1, 1, 1, 1};
  void* const in_place = *(void* const*)Symbol("MPIABI_IN_PLACE");
  data[rank] = rank * 10;
  OK(Allgather(in_place, 0, 0, data, 1, HANDLE(INT), comm));
  for (int r = 0; r < ranks; ++r) CHECK(data[r] == r * 10);
  for (int r = 0; r < ranks; ++r) data[r] = r + rank;
  OK(Reduce_scatter(in_place, data, counts, HANDLE(INT), HANDLE(SUM), comm));
  CHECK(data[0] == ranks * rank + ranks * (ranks - 1) / 2);
}

/* As XLA's collective permute: all receives and sends are begun, then awaited one after the other. */
static void TryPermute(Handle comm, int rank, int ranks, int bytes) {
  char* const data = malloc(bytes);
  char* const got = malloc(bytes);
  memset(data, rank + 1, bytes);
  Handle requests[2];
  OK(Irecv(got, bytes, HANDLE(BYTE), (rank + ranks - 1) % ranks, 0, comm, &requests[0]));
  OK(Isend(data, bytes, HANDLE(BYTE), (rank + 1) % ranks, 0, comm, &requests[1]));
  Status status;
  OK(Wait(&requests[0], &status));
  OK(Wait(&requests[1], NULL));
  CHECK(requests[0] == HANDLE(REQUEST_NULL) && requests[1] == HANDLE(REQUEST_NULL));
  CHECK(status.source == (rank + ranks - 1) % ranks && status.tag == 0);
  for (int i = 0; i < bytes; ++i) CHECK(got[i] == (rank + ranks - 1) % ranks + 1);
  for (int step = 1; step < ranks; ++step) { /* and its all-to-all */
    const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
    OK(Sendrecv(data, bytes, HANDLE(BYTE), to, 0, got, bytes, HANDLE(BYTE), from, 0, comm, NULL));
    CHECK(got[0] == from + 1 && got[bytes - 1] == from + 1);
  }
  free(data), free(got);
}

static void TryAll(Handle comm) {
  int rank, ranks;
  OK(Comm_rank(comm, &rank));
  OK(Comm_size(comm, &ranks));
  TryS8(comm, rank, ranks, HANDLE(INT8_T), 1), TryU8(comm, rank, ranks, HANDLE(UINT8_T), 1);
  TryS16(comm, rank, ranks, HANDLE(INT16_T), 1), TryU16(comm, rank, ranks, HANDLE(UINT16_T), 1);
  TryS32(comm, rank, ranks, HANDLE(INT32_T), 1), TryU32(comm, rank, ranks, HANDLE(UINT32_T), 1);
  TryS64(comm, rank, ranks, HANDLE(INT64_T), 1), TryU64(comm, rank, ranks, HANDLE(UINT64_T), 1);
  TryF32(comm, rank, ranks, HANDLE(FLOAT), 1), TryF64(comm, rank, ranks, HANDLE(DOUBLE), 1);
  TryC64(comm, rank, ranks, HANDLE(C_COMPLEX), 0), TryC128(comm, rank, ranks, HANDLE(C_DOUBLE_COMPLEX), 0);
  TryInPlace(comm, rank, ranks);
  TryPermute(comm, rank, ranks, 1), TryPermute(comm, rank, ranks, 3 << 20);
}

static void All(void) {
  Handle reversed, half, none = 0;
  TryAll(world);
  OK(Comm_split(world, 7, world_ranks - 1 - world_rank, &reversed));
  int rank;
  OK(Comm_rank(reversed, &rank));
  CHECK(rank == world_ranks - 1 - world_rank);
  OK(Comm_split(world, world_rank % 2, world_rank / 2, &half));
  TryAll(reversed);
  TryAll(half);
  OK(Comm_split(world, world_rank == 0 ? NUMBER(UNDEFINED) : 0, world_rank - 1, &none));
  CHECK((none == HANDLE(COMM_NULL)) == (world_rank == 0));
  OK(Comm_free(&half));
  CHECK(half == HANDLE(COMM_NULL));
  const int code = Allreduce(&rank, &rank, 1, HANDLE(LONG_DOUBLE), HANDLE(SUM), reversed);
  CHECK(strstr(Sentence(code), "MPI_Allreduce: MPI_LONG_DOUBLE") != NULL);
  CHECK(strstr(Sentence(Allreduce(&rank, &rank, 1, HANDLE(C_COMPLEX), HANDLE(MAX), reversed)), "MPI_MAX") != NULL);
}

/* Many threads, each with a communicator of its own, and two that share one in turn. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static Handle comms[3];

static void* ManyTimes(void* place) {
  const Handle comm = comms[(intptr_t)place];
  for (int i = 0; i < 200; ++i) {
    double in = i + world_rank, out = -1;
    OK(Allreduce(&in, &out, 1, HANDLE(DOUBLE), HANDLE(SUM), comm));
    CHECK(out == world_ranks * i + world_ranks * (world_ranks - 1) / 2);
    TryPermute(comm, world_rank, world_ranks, 100 + i);
  }
  return NULL;
}

static void* InTurn(void* unused) {
  (void)unused;
  for (int i = 0; i < 200; ++i) { /* the same call by whichever thread: their order does not matter */
    int in = 1, out = 0;
    pthread_mutex_lock(&turn);
    OK(Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), comms[2]));
    pthread_mutex_unlock(&turn);
    CHECK(out == world_ranks);
  }
  return NULL;
}

static void Many(void) {
  pthread_t threads[4];
  for (int i = 0; i < 3; ++i) OK(Comm_split(world, 0, world_rank, &comms[i]));
  for (intptr_t i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, ManyTimes, (void*)i) == 0);
  for (int i = 2; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, InTurn, NULL) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---------------------------------------------------------------------------------------------------------- */

static void Absent(void) {
  int data = 0;
  int (*bcast)(void*, int, Handle, int, Handle);
  *(void**)&bcast = Symbol("MPIABI_Bcast");
  const int code = bcast(&data, 1, HANDLE(INT), 0, HANDLE(COMM_WORLD));
  CHECK(code != 0 && strstr(Sentence(code), "MPI_Bcast is not in this library") != NULL);
  CHECK(strcmp(Sentence(NUMBER(ERR_TAG)), "MPI_ERR_TAG") == 0);
  const int unstarted = Allreduce(&data, &data, 1, HANDLE(INT), HANDLE(SUM), HANDLE(COMM_WORLD));
  CHECK(strstr(Sentence(unstarted), "MPI_Init_thread has not been called") != NULL);
}

/* Rank 1 goes while the others wait for it. */
static void Death(void) {
  Handle comm;
  OK(Comm_split(world, 0, world_rank, &comm));
  if (world_rank == 1) _exit(0);
  int in = 1, out = 0;
  const int code = Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), comm);
  CHECK(code != 0);
  CHECK(strstr(Sentence(code), "MPI_Allreduce: ") == Sentence(code) && strstr(Sentence(code), "rank 1") != NULL);
  fprintf(stderr, "heard: %s\n", Sentence(code));
}

static void Tags(void) {
  if (world_rank > 1) return;
  int in = 5, out = 0;
  Handle request;
  Status status;
  if (world_rank == 0) {
    OK(Isend(&in, 1, HANDLE(INT), 1, 3, world, &request));
    OK(Wait(&request, NULL));
    OK(Isend(&in, 1, HANDLE(INT), 1, 4, world, &request));
    OK(Wait(&request, NULL));
  } else {
    OK(Irecv(&out, 1, HANDLE(INT), 0, 3, world, &request));
    OK(Wait(&request, &status));
    CHECK(out == 5 && status.tag == 3 && status.source == 0);
    OK(Irecv(&out, 1, HANDLE(INT), 0, 8, world, &request));
    const int code = Wait(&request, &status);
    CHECK(strstr(Sentence(code), "awaited a message with tag 8 from rank 0, whose next message has tag 4") != NULL);
    CHECK(Irecv(&out, 1, HANDLE(INT), NUMBER(ANY_SOURCE), 0, world, &request) != 0);
    CHECK(Irecv(&out, 1, HANDLE(INT), 0, NUMBER(ANY_TAG), world, &request) != 0);
    OK(Irecv(&out, 1, HANDLE(INT), NUMBER(PROC_NULL), 0, world, &request));
    OK(Wait(&request, &status));
    CHECK(status.source == NUMBER(PROC_NULL));
  }
}

/* Two devices in each process, as XLA numbers them. A caller that does not look at the code gets the error later. */
static void Keys(void) {
  Handle comm = 0;
  const int code = Comm_split(world, 0, 2 * world_rank, &comm);
  CHECK(code != 0 && strstr(Sentence(code), "give each process one") != NULL);
  int rank = 0, in = 1, out = 0;
  CHECK(Comm_rank(comm, &rank) != 0 && rank == -1);
  CHECK(strstr(Sentence(Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), comm)), "give each process one") != NULL);
  OK(Comm_free(&comm));
}

/* Without a launcher there is nobody to compute with. */
static void Self(void) {
  Handle comm;
  int in = 3, out = 0;
  CHECK(world_ranks == 1);
  OK(Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), world));
  CHECK(out == 3);
  const int code = Comm_split(world, 0, 0, &comm);
  CHECK(code != 0 && strstr(Sentence(code), "no launcher has told this process of the others") != NULL);
}

#define SAYS(call, text)                                                            \
  do {                                                                              \
    const int said = (call);                                                        \
    if (said == 0 || strstr(Sentence(said), text) == NULL) {                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, text, Sentence(said)); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

/* What the caller did wrong is said, and nothing is broken by it. */
static void Errors(void) {
  int data[4] = {0}, size;
  const int unequal[4] = {1, 2, 1, 1};
  const Handle type = HANDLE(INT), sum = HANDLE(SUM);
  Handle comm, request = 4711;
  SAYS(Comm_size(4711, &size), "0x1267 is no communicator");
  SAYS(Comm_free(&world), "MPI_COMM_WORLD cannot be freed");
  SAYS(Comm_split(world, -5, 0, &comm), "color -5");
  SAYS(Allreduce(data, data, -1, type, sum, world), "the count is -1");
  SAYS(Allreduce(data, data, 1, 4711, sum, world), "0x1267, which is no type of MPI, cannot be sent or reduced here");
  SAYS(Allreduce(data, data, 1, type, HANDLE(MAXLOC), world), "MPI_MAXLOC is no operator that is known here");
  SAYS(Allreduce(data, data, 1, HANDLE(FLOAT), HANDLE(BXOR), world), "MPI_BXOR is not defined for float elements");
  SAYS(Allgather(data, 1, type, data, 2, type, world), "a rank sends 4 bytes and receives 8 from each");
  SAYS(Reduce_scatter(data, data, unequal, type, sum, world), "rank 0 is to receive 1 elements and rank 1 2");
  SAYS(Isend(data, 1, type, world_ranks, 0, world, &request), "does not exist among");
  SAYS(Isend(data, 1, type, 0, -7, world, &request), "the tag is -7");
  CHECK(request == HANDLE(REQUEST_NULL));
  OK(Wait(&request, NULL));
  request = 4711;
  SAYS(Wait(&request, NULL), "0x1267 is no request");
  SAYS(4711, "4711 is no error code of MPI");
  fflush(stderr);
  const pid_t child = fork();
  if (child == 0) {
    SAYS(Allreduce(data, data, 1, type, sum, world),
         "this process was forked from one that has called MPI_Init_thread");
    OK(Finalize()); /* as Python does at its end */
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  data[0] = 1;
  OK(Allreduce(*(void* const*)Symbol("MPIABI_IN_PLACE"), data, 1, type, sum, world));
  CHECK(data[0] == world_ranks);
}

static void Again(void) {
  Handle comm;
  int provided;
  OK(Comm_split(world, 0, world_rank, &comm));
  OK(Init_thread(NULL, NULL, 0, &provided)); /* JAX does, where it makes its clients anew */
  OK(Finalize());
  OK(Comm_free(&comm)); /* destructors of a program run late */
  OK(Finalize());
  int in = 1, out = 0;
  CHECK(strstr(Sentence(Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), world)), "MPI_Finalize has been called") !=
        NULL);
  Start();
  OK(Allreduce(&in, &out, 1, HANDLE(INT), HANDLE(SUM), world));
  CHECK(out == world_ranks);
}

int main(int count, char** words) {
  CHECK(count == 3);
  Load(words[1]);
  if (strcmp(words[2], "symbols") == 0) return Symbols(), 0;
  if (strcmp(words[2], "absent") == 0) return Absent(), 0;
  Start();
  if (strcmp(words[2], "all") == 0)
    All();
  else if (strcmp(words[2], "many") == 0)
    Many();
  else if (strcmp(words[2], "death") == 0)
    Death();
  else if (strcmp(words[2], "tags") == 0)
    Tags();
  else if (strcmp(words[2], "keys") == 0)
    Keys();
  else if (strcmp(words[2], "self") == 0)
    Self();
  else if (strcmp(words[2], "errors") == 0)
    Errors();
  else if (strcmp(words[2], "again") == 0)
    Again();
  else
    CHECK(!"a known word");
  OK(Finalize());
  return 0;
}
