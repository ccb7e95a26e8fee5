# The tables of machines/ as a source of their own, so that the library needs no file. The first one that covers a machine
# applies.
set(MACHINES h200_2_ranks h200_4_ranks h200_many_ranks generic generic_host_memory)
set(MACHINE_TEXTS "")
foreach(machine ${MACHINES})
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/machines/${machine}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND MACHINE_TEXTS "    R\"machine(${text})machine\",\n")
endforeach()
set(MACHINE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/shipped_machines.cpp)
file(CONFIGURE OUTPUT ${MACHINE_SOURCE} @ONLY CONTENT
"#include \"tune/shipped_machines.h\"

namespace tutti::tune {
namespace {
constexpr std::string_view kTexts[] = {
@MACHINE_TEXTS@};
}  // namespace

std::span<const std::string_view> ShippedMachines() { return kTexts; }

}  // namespace tutti::tune
")
