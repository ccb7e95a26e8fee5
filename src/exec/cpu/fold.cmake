# The folds of the CPU executor. The kernels are compiled once per instruction set; which one runs is decided at run
# time.
#
#   include(cpu/fold.cmake)
#   tutti_folder(exec SOURCES ... ${FOLD_SOURCES} TESTS ... ${FOLD_TESTS} BENCHES ${FOLD_BENCHES} DEPS ...)
set(FOLD_SOURCES cpu/fold.cc cpu/fold_baseline.cc)
set(FOLD_TESTS cpu/fold_numerics_test.cc cpu/fold_test.cc)
set(FOLD_BENCHES cpu/fold_bench.cc)
# Contraction to fused multiply-add would make variants disagree. -O3 whatever the build type: without optimisation
# the kernels are two orders of magnitude slower. With sanitizers -O3 would take a minute for each.
set(fold_options $<IF:$<CONFIG:RelWithDebInfo>,-O1,-O3> -ffp-contract=off -fno-math-errno)
if(TUTTI_SANITIZE MATCHES undefined)
  list(APPEND fold_options -fno-sanitize=undefined)  # which takes clang more than a minute for each; addresses are still checked
endif()
set_source_files_properties(cpu/fold_baseline.cc PROPERTIES COMPILE_OPTIONS "${fold_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  # GCC 12's own AVX-512 header looks uninitialised to it (GCC bug 105593).
  set(fold_quiet -Wno-maybe-uninitialized -Wno-uninitialized)
  list(APPEND FOLD_SOURCES cpu/fold_avx2.cc cpu/fold_avx512.cc)
  set_source_files_properties(cpu/fold_avx2.cc PROPERTIES COMPILE_OPTIONS "${fold_options};-mavx2;-mf16c")
  set_source_files_properties(
    cpu/fold_avx512.cc PROPERTIES
    COMPILE_OPTIONS
    "${fold_options};-mavx2;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512;${fold_quiet}")
endif()
# Of other instructions than the headers that are compiled once.
set_source_files_properties(cpu/fold_baseline.cc cpu/fold_avx2.cc cpu/fold_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
