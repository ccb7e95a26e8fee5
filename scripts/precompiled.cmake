# Headers of the system, of fmt and of gtest are half of a compilation. They are compiled once: by a target for the sources of
# the library and the tools, by one for those of folders that are to be small, and by one for test programs, since their flags
# differ. A debug build compiles every source by itself, and so finds one that lacks an #include. So does a build with a compiler
# cache, which works best without.
set(TUTTI_PRECOMPILE OFF)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(TUTTI_PRECOMPILE ON)
endif()
set(TUTTI_PRECOMPILED_HEADERS
    <algorithm> <array> <atomic> <cstddef> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <ranges> <span>
    <string> <string_view> <utility> <vector> <fmt/format.h>)
if(TUTTI_PRECOMPILE)
  file(WRITE ${PROJECT_BINARY_DIR}/headers.cpp "")
  add_library(tutti_precompiled OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
  target_link_libraries(tutti_precompiled PRIVATE tutti_public Threads::Threads)
  target_precompile_headers(tutti_precompiled PRIVATE ${TUTTI_PRECOMPILED_HEADERS})
  file(WRITE ${PROJECT_BINARY_DIR}/headers_of_small.cpp "")
  add_library(tutti_precompiled_small OBJECT ${PROJECT_BINARY_DIR}/headers_of_small.cpp)
  target_compile_options(tutti_precompiled_small PRIVATE ${TUTTI_SMALL})
  target_link_libraries(tutti_precompiled_small PRIVATE tutti_public Threads::Threads)
  target_precompile_headers(tutti_precompiled_small PRIVATE ${TUTTI_PRECOMPILED_HEADERS})
  if(TUTTI_TESTS)
    file(WRITE ${PROJECT_BINARY_DIR}/headers_of_tests.cpp "int main() {}\n")
    add_executable(tutti_precompiled_tests ${PROJECT_BINARY_DIR}/headers_of_tests.cpp)
    target_compile_options(tutti_precompiled_tests PRIVATE ${TUTTI_NOT_OPTIMIZED})
    target_link_libraries(tutti_precompiled_tests PRIVATE tutti_public Threads::Threads GTest::gtest)
    target_precompile_headers(tutti_precompiled_tests PRIVATE ${TUTTI_PRECOMPILED_HEADERS} <gtest/gtest.h>)
  endif()
endif()

# Lets a target use the headers of tutti_precompiled (the library's flags), tutti_precompiled_small or tutti_precompiled_tests (a test
# program's).
function(tutti_use_precompiled target headers)
  if(TUTTI_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
