# The texts of machines/ as a source of their own, so that the library needs no file. They are listed in this order.
set(NAMED_MACHINES
    hgx-h100 hgx-h200 hgx-b200 dgx-a100 dgx-1 dgx-2 gb200-nvl72 gb300-nvl72 gh200-quad dgx-spark
    p3dn p4d p5 p5en p6-b200 p6-b300 g5 ndv2 ndv4 ndv5 ncv4
    a100-quad a100-pex88096 nv12-pairs hgx-h100-4-nics one-gpu-four-nics l40s-x8 rtx-4090-x8 rtx-pro-6000-x8
    hgx-h200-vm ibm-h100-vm hgx-h100-no-gdr hgx-h100-bad-links gb300-dead-nvlink)
set(NAMED_MACHINE_TEXTS "")
foreach(machine ${NAMED_MACHINES})
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/machines/${machine}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND NAMED_MACHINE_TEXTS "    {\"${machine}\", R\"machine(${text})machine\"},\n")
endforeach()
set(NAMED_MACHINE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/named_machine_texts.cpp)
file(CONFIGURE OUTPUT ${NAMED_MACHINE_SOURCE} @ONLY CONTENT
"#include \"topo/named_machines.h\"

namespace tutti::topo {
namespace {
constexpr NamedMachine kMachines[] = {
@NAMED_MACHINE_TEXTS@};
}  // namespace

std::span<const NamedMachine> NamedMachines() { return kMachines; }

}  // namespace tutti::topo
")
