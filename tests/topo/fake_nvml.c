/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library that answers as NVIDIA's NVML does, from the text file that TUTTI_FAKE_NVML names. The file is read when
 * the library is initialised; without it there is no driver. A line is a word and its values:
 *
 *   driver 580.159.04
 *   fail nvmlDeviceGetName 15     that function answers this code: for the GPU above, else for all
 *   gpu 0000:1b:00.0              begins a GPU; the following lines are about it
 *   name NVIDIA H200
 *   uuid GPU-0123
 *   sm 9 0
 *   pcie 1 16 5 16                generation and lanes now, and at best
 *   links 18                      NVLinks, all of them down where no line says otherwise
 *   link 0 1 2 0000:07:00.0 1     number, state, kind of the other end, its bus id, P2P supported
 *   c2c 5 4 44712                 C2C links, how many of them are up, MB/s of one
 *   fabric ABABABABABABABAB 7 3 0 cluster (16 characters), clique, state, status
 *   p2p 3 4                       P2P status with GPU 3
 *   nofield 165                   that field value is not supported
 *   ecc 1 12 0                    whether memory is checked, errors that were corrected, that were not
 *   rows 1 2 0 0                  rows replaced for either kind of error, whether some wait for a reset, whether that failed
 *   pages 1                       whether pages wait for a reset
 *   clocks 4 1200 1980 71         why clocks are held down (hexadecimal), MHz now and at most, degrees Celsius
 *   power 310000 700000           milliwatts now, and at most
 *   errors 4 90000 2 12           of NVLink 4: replays, recoveries, wrong check sums
 *
 * Before all of them, `stall 5000` makes the library take so many milliseconds to start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostGpus = 64, kMostLinks = 36, kMostRules = 16 };
enum { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9 };
enum { kUnsigned = 1 };
enum { kFieldReplays = 161, kFieldRecoveries = 162, kFieldCheckErrors = 163 };
enum { kFieldLinkCount = 91, kFieldLinkState = 165, kFieldC2cCount = 170, kFieldC2cState = 171, kFieldC2cMbPerS = 172 };

typedef struct {
  char legacy_bus_id[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char bus_id[32];
} PciInfo;

typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    unsigned number;
    unsigned long long longest;
  } value;
} FieldValue;

typedef struct {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
} FabricInfo;

typedef struct {
  char function[64];
  int code;
} Rule;

typedef struct {
  int state, end, p2p;
  PciInfo remote;
} Link;

typedef struct {
  unsigned replays, recoveries, check_errors;
} Errors;

typedef struct {
  PciInfo pci;
  char name[96], uuid[96];
  int major, minor;
  unsigned generation, width, best_generation, best_width;
  unsigned links;
  Link link[kMostLinks];
  Errors errors[kMostLinks];
  unsigned c2c, c2c_up, c2c_mb_per_s;
  FabricInfo fabric;
  int p2p[kMostGpus];
  Rule rules[kMostRules];
  int rule_count;
  unsigned missing_fields[kMostRules];
  int missing_field_count;
  int has_ecc, ecc;
  unsigned long long corrected, uncorrected;
  int has_rows, has_pages, pages;
  unsigned row_corrected, row_uncorrected, rows_pending, rows_failed;
  int has_clocks;
  unsigned long long clock_reasons;
  unsigned clock_mhz, most_clock_mhz, temperature;
  int has_power;
  unsigned power, power_limit;
} Gpu;

static Gpu gpus[kMostGpus];
static unsigned gpu_count;
static char driver[80];
static Rule rules[kMostRules];
static int rule_count;

static int CodeOf(const Rule* list, int count, const char* function) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(list[i].function, function) == 0) return list[i].code;
  }
  return kSuccess;
}

static int CodeFor(const Gpu* gpu, const char* function) {
  const int code = CodeOf(rules, rule_count, function);
  return code != kSuccess || gpu == NULL ? code : CodeOf(gpu->rules, gpu->rule_count, function);
}

static void ParsePci(const char* text, PciInfo* pci) {
  memset(pci, 0, sizeof(*pci));
  sscanf(text, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
  snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", pci->domain & 0xffffffffu, pci->bus & 0xff,
           pci->device & 0xff);
}

static void ParseGpuLine(Gpu* gpu, const char* word, const char* rest) {
  unsigned number = 0;
  int status = 0;
  if (strcmp(word, "name") == 0) {
    snprintf(gpu->name, sizeof(gpu->name), "%s", rest);
  } else if (strcmp(word, "uuid") == 0) {
    snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", rest);
  } else if (strcmp(word, "sm") == 0) {
    sscanf(rest, "%d %d", &gpu->major, &gpu->minor);
  } else if (strcmp(word, "pcie") == 0) {
    sscanf(rest, "%u %u %u %u", &gpu->generation, &gpu->width, &gpu->best_generation, &gpu->best_width);
  } else if (strcmp(word, "links") == 0) {
    sscanf(rest, "%u", &gpu->links);
  } else if (strcmp(word, "link") == 0) {
    Link link = {0, 0, 0, {{0}, 0, 0, 0, 0, 0, {0}}};
    char remote[64] = "";
    if (sscanf(rest, "%u %d %d %63s %d", &number, &link.state, &link.end, remote, &link.p2p) == 5 &&
        number < kMostLinks) {
      ParsePci(remote, &link.remote);
      gpu->link[number] = link;
    }
  } else if (strcmp(word, "c2c") == 0) {
    sscanf(rest, "%u %u %u", &gpu->c2c, &gpu->c2c_up, &gpu->c2c_mb_per_s);
  } else if (strcmp(word, "fabric") == 0) {
    char cluster[17] = "";
    unsigned state = 0;
    sscanf(rest, "%16s %u %u %d", cluster, &gpu->fabric.clique, &state, &gpu->fabric.status);
    memcpy(gpu->fabric.cluster, cluster, 16);
    gpu->fabric.state = (unsigned char)state;
  } else if (strcmp(word, "p2p") == 0) {
    if (sscanf(rest, "%u %d", &number, &status) == 2 && number < kMostGpus) gpu->p2p[number] = status;
  } else if (strcmp(word, "nofield") == 0 && gpu->missing_field_count < kMostRules) {
    sscanf(rest, "%u", &gpu->missing_fields[gpu->missing_field_count++]);
  } else if (strcmp(word, "ecc") == 0) {
    gpu->has_ecc = sscanf(rest, "%d %llu %llu", &gpu->ecc, &gpu->corrected, &gpu->uncorrected) == 3;
  } else if (strcmp(word, "rows") == 0) {
    gpu->has_rows = sscanf(rest, "%u %u %u %u", &gpu->row_corrected, &gpu->row_uncorrected, &gpu->rows_pending,
                           &gpu->rows_failed) == 4;
  } else if (strcmp(word, "pages") == 0) {
    gpu->has_pages = sscanf(rest, "%d", &gpu->pages) == 1;
  } else if (strcmp(word, "clocks") == 0) {
    gpu->has_clocks = sscanf(rest, "%llx %u %u %u", &gpu->clock_reasons, &gpu->clock_mhz, &gpu->most_clock_mhz,
                             &gpu->temperature) == 4;
  } else if (strcmp(word, "power") == 0) {
    gpu->has_power = sscanf(rest, "%u %u", &gpu->power, &gpu->power_limit) == 2;
  } else if (strcmp(word, "errors") == 0) {
    Errors errors = {0, 0, 0};
    if (sscanf(rest, "%u %u %u %u", &number, &errors.replays, &errors.recoveries, &errors.check_errors) == 4 &&
        number < kMostLinks)
      gpu->errors[number] = errors;
  }
}

static void ParseLine(char* line) {
  line[strcspn(line, "\n")] = '\0';
  line += strspn(line, " ");
  char* rest = line + strcspn(line, " ");
  if (*rest != '\0') *rest++ = '\0';
  Gpu* gpu = gpu_count == 0 ? NULL : &gpus[gpu_count - 1];
  if (strcmp(line, "gpu") == 0 && gpu_count < kMostGpus) {
    ParsePci(rest, &gpus[gpu_count++].pci);
  } else if (strcmp(line, "driver") == 0) {
    snprintf(driver, sizeof(driver), "%s", rest);
  } else if (strcmp(line, "stall") == 0) {
    const int ms = atoi(rest);
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
  } else if (strcmp(line, "fail") == 0) {
    Rule* list = gpu == NULL ? rules : gpu->rules;
    int* count = gpu == NULL ? &rule_count : &gpu->rule_count;
    if (*count < kMostRules && sscanf(rest, "%63s %d", list[*count].function, &list[*count].code) == 2) ++*count;
  } else if (gpu != NULL) {
    ParseGpuLine(gpu, line, rest);
  }
}

int nvmlInit_v2(void) {
  const char* path = getenv("TUTTI_FAKE_NVML");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  char line[512];
  if (file == NULL) return kDriverNotLoaded;
  memset(gpus, 0, sizeof(gpus));
  gpu_count = 0;
  rule_count = 0;
  driver[0] = '\0';
  while (fgets(line, sizeof(line), file) != NULL) ParseLine(line);
  fclose(file);
  return CodeFor(NULL, "nvmlInit_v2");
}

int nvmlShutdown(void) { return kSuccess; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case kNotSupported:
      return "Not Supported";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

static int CopyText(const char* function, const Gpu* gpu, const char* from, char* to, unsigned size) {
  const int code = CodeFor(gpu, function);
  if (code == kSuccess) snprintf(to, size, "%s", from);
  return code;
}

static int CopyNumber(const char* function, const Gpu* gpu, unsigned from, unsigned* to) {
  const int code = CodeFor(gpu, function);
  if (code == kSuccess) *to = from;
  return code;
}

/* What a call on an NVLink answers before it looks at the link. */
static int CodeForLink(const char* function, const Gpu* gpu, unsigned link) {
  const int code = CodeFor(gpu, function);
  if (code != kSuccess) return code;
  if (gpu->links == 0) return kNotSupported;
  return link < gpu->links && link < kMostLinks ? kSuccess : kInvalidArgument;
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return CopyText("nvmlSystemGetDriverVersion", NULL, driver, text, size);
}

int nvmlDeviceGetCount_v2(unsigned* count) { return CopyNumber("nvmlDeviceGetCount_v2", NULL, gpu_count, count); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** gpu) {
  if (index >= gpu_count) return kInvalidArgument;
  *gpu = &gpus[index];
  return CodeFor(&gpus[index], "nvmlDeviceGetHandleByIndex_v2");
}

int nvmlDeviceGetName(Gpu* gpu, char* text, unsigned size) {
  return CopyText("nvmlDeviceGetName", gpu, gpu->name, text, size);
}

int nvmlDeviceGetUUID(Gpu* gpu, char* text, unsigned size) {
  return CopyText("nvmlDeviceGetUUID", gpu, gpu->uuid, text, size);
}

int nvmlDeviceGetPciInfo_v3(Gpu* gpu, PciInfo* pci) {
  const int code = CodeFor(gpu, "nvmlDeviceGetPciInfo_v3");
  if (code == kSuccess) *pci = gpu->pci;
  return code;
}

int nvmlDeviceGetCudaComputeCapability(Gpu* gpu, int* major, int* minor) {
  const int code = CodeFor(gpu, "nvmlDeviceGetCudaComputeCapability");
  if (code != kSuccess) return code;
  *major = gpu->major;
  *minor = gpu->minor;
  return kSuccess;
}

int nvmlDeviceGetCurrPcieLinkGeneration(Gpu* gpu, unsigned* value) {
  return CopyNumber("nvmlDeviceGetCurrPcieLinkGeneration", gpu, gpu->generation, value);
}

int nvmlDeviceGetCurrPcieLinkWidth(Gpu* gpu, unsigned* value) {
  return CopyNumber("nvmlDeviceGetCurrPcieLinkWidth", gpu, gpu->width, value);
}

int nvmlDeviceGetMaxPcieLinkGeneration(Gpu* gpu, unsigned* value) {
  return CopyNumber("nvmlDeviceGetMaxPcieLinkGeneration", gpu, gpu->best_generation, value);
}

int nvmlDeviceGetMaxPcieLinkWidth(Gpu* gpu, unsigned* value) {
  return CopyNumber("nvmlDeviceGetMaxPcieLinkWidth", gpu, gpu->best_width, value);
}

int nvmlDeviceGetNvLinkState(Gpu* gpu, unsigned link, int* active) {
  const int code = CodeForLink("nvmlDeviceGetNvLinkState", gpu, link);
  if (code == kSuccess) *active = gpu->link[link].state != 0;
  return code;
}

int nvmlDeviceGetNvLinkCapability(Gpu* gpu, unsigned link, int capability, unsigned* value) {
  const int code = CodeForLink("nvmlDeviceGetNvLinkCapability", gpu, link);
  if (code != kSuccess) return code;
  if (capability != 0) return kInvalidArgument;
  *value = (unsigned)gpu->link[link].p2p;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu* gpu, unsigned link, PciInfo* pci) {
  const int code = CodeForLink("nvmlDeviceGetNvLinkRemotePciInfo_v2", gpu, link);
  if (code == kSuccess) *pci = gpu->link[link].remote;
  return code;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(Gpu* gpu, unsigned link, int* type) {
  const int code = CodeForLink("nvmlDeviceGetNvLinkRemoteDeviceType", gpu, link);
  if (code == kSuccess) *type = gpu->link[link].end;
  return code;
}

static int FieldOf(const Gpu* gpu, unsigned field, unsigned scope, unsigned* value) {
  for (int i = 0; i < gpu->missing_field_count; ++i) {
    if (gpu->missing_fields[i] == field) return kNotSupported;
  }
  if (field == kFieldLinkCount)
    *value = gpu->links;
  else if (field == kFieldLinkState && scope < gpu->links && scope < kMostLinks)
    *value = (unsigned)gpu->link[scope].state;
  else if (field == kFieldReplays && scope < gpu->links && scope < kMostLinks)
    *value = gpu->errors[scope].replays;
  else if (field == kFieldRecoveries && scope < gpu->links && scope < kMostLinks)
    *value = gpu->errors[scope].recoveries;
  else if (field == kFieldCheckErrors && scope < gpu->links && scope < kMostLinks)
    *value = gpu->errors[scope].check_errors;
  else if (field == kFieldC2cCount && gpu->c2c > 0)
    *value = gpu->c2c;
  else if (field == kFieldC2cState && scope < gpu->c2c)
    *value = scope < gpu->c2c_up;
  else if (field == kFieldC2cMbPerS && scope < gpu->c2c)
    *value = gpu->c2c_mb_per_s;
  else
    return kNotSupported;
  return kSuccess;
}

int nvmlDeviceGetFieldValues(Gpu* gpu, int count, FieldValue* values) {
  const int code = CodeFor(gpu, "nvmlDeviceGetFieldValues");
  if (code != kSuccess) return code;
  for (int i = 0; i < count; ++i) {
    values[i].type = kUnsigned;
    values[i].result = FieldOf(gpu, values[i].field, values[i].scope, &values[i].value.number);
  }
  return kSuccess;
}

int nvmlDeviceGetP2PStatus(Gpu* from, Gpu* to, int right, int* status) {
  const int code = CodeFor(from, "nvmlDeviceGetP2PStatus");
  (void)right;
  if (code == kSuccess) *status = from->p2p[to - gpus];
  return code;
}

int nvmlDeviceGetGpuFabricInfoV(Gpu* gpu, FabricInfo* fabric) {
  const int code = CodeFor(gpu, "nvmlDeviceGetGpuFabricInfoV");
  if (code != kSuccess) return code;
  if (fabric->version != (sizeof(FabricInfo) | (2u << 24))) return kInvalidArgument;
  if (gpu->fabric.state == 0) return kNotSupported;
  const unsigned version = fabric->version;
  *fabric = gpu->fabric;
  fabric->version = version;
  return kSuccess;
}

/* What a call on the health of a GPU answers where its line is missing. */
static int CodeForHealth(const char* function, const Gpu* gpu, int has) {
  const int code = CodeFor(gpu, function);
  return code == kSuccess && !has ? kNotSupported : code;
}

int nvmlDeviceGetEccMode(Gpu* gpu, int* now, int* after_reset) {
  *now = *after_reset = gpu->ecc;
  return CodeForHealth("nvmlDeviceGetEccMode", gpu, gpu->has_ecc);
}

int nvmlDeviceGetTotalEccErrors(Gpu* gpu, int kind, int counter, unsigned long long* count) {
  (void)counter;
  *count = kind == 0 ? gpu->corrected : gpu->uncorrected;
  return CodeForHealth("nvmlDeviceGetTotalEccErrors", gpu, gpu->has_ecc);
}

int nvmlDeviceGetRemappedRows(Gpu* gpu, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *corrected = gpu->row_corrected;
  *uncorrected = gpu->row_uncorrected;
  *pending = gpu->rows_pending;
  *failed = gpu->rows_failed;
  return CodeForHealth("nvmlDeviceGetRemappedRows", gpu, gpu->has_rows);
}

int nvmlDeviceGetRetiredPagesPendingStatus(Gpu* gpu, int* pending) {
  *pending = gpu->pages;
  return CodeForHealth("nvmlDeviceGetRetiredPagesPendingStatus", gpu, gpu->has_pages);
}

int nvmlDeviceGetCurrentClocksEventReasons(Gpu* gpu, unsigned long long* reasons) {
  *reasons = gpu->clock_reasons;
  return CodeForHealth("nvmlDeviceGetCurrentClocksEventReasons", gpu, gpu->has_clocks);
}

int nvmlDeviceGetClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  *mhz = gpu->clock_mhz;
  return clock != 1 ? kInvalidArgument : CodeForHealth("nvmlDeviceGetClockInfo", gpu, gpu->has_clocks);
}

int nvmlDeviceGetMaxClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  *mhz = gpu->most_clock_mhz;
  return clock != 1 ? kInvalidArgument : CodeForHealth("nvmlDeviceGetMaxClockInfo", gpu, gpu->has_clocks);
}

int nvmlDeviceGetTemperature(Gpu* gpu, int sensor, unsigned* degrees) {
  *degrees = gpu->temperature;
  return sensor != 0 ? kInvalidArgument : CodeForHealth("nvmlDeviceGetTemperature", gpu, gpu->has_clocks);
}

int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) {
  *milliwatts = gpu->power;
  return CodeForHealth("nvmlDeviceGetPowerUsage", gpu, gpu->has_power);
}

int nvmlDeviceGetEnforcedPowerLimit(Gpu* gpu, unsigned* milliwatts) {
  *milliwatts = gpu->power_limit;
  return CodeForHealth("nvmlDeviceGetEnforcedPowerLimit", gpu, gpu->has_power);
}

int nvmlDeviceGetNvLinkErrorCounter(Gpu* gpu, unsigned link, int counter, unsigned long long* count) {
  const int code = CodeForLink("nvmlDeviceGetNvLinkErrorCounter", gpu, link);
  if (code != kSuccess) return code;
  *count = counter == 0   ? gpu->errors[link].replays
           : counter == 1 ? gpu->errors[link].recoveries
                          : gpu->errors[link].check_errors;
  return kSuccess;
}
