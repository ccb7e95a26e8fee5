# What programs link: libtutti and libnccl.so.2, made of the objects of src/. Included by the CMakeLists.txt above, which sets `folders`.
#
#   tutti::tutti     libtutti.so: the C++ interface of include/tutti, and no other symbol
#   tutti::static    the same in the program itself; a static library of the objects where it is not installed
#   tutti::nccl      libnccl.so.2 and nccl.h (with TUTTI_NCCL)
#
# and libtutti_mpitrampoline.so, which nobody links (with TUTTI_MPITRAMPOLINE).

# Raised when a program that was built with the last release could not run with this library; abidiff knows
# (tests/packages/run.py).
set(TUTTI_SOVERSION 0)

set(objects "")
foreach(folder ${folders})
  list(APPEND objects $<TARGET_OBJECTS:tutti_${folder}>)
endforeach()

# --wrap=fmod is for src/topo/xpath_remainder.cc. A library stays loaded (nodelete), since its threads may run when a program that has
# opened it closes it.
set(options_of_both -Wl,--wrap=fmod -Wl,--gc-sections -Wl,--as-needed -Wl,-z,nodelete -Wl,--exclude-libs,ALL)
if(NOT TUTTI_SANITIZE)
  list(APPEND options_of_both -Wl,-z,defs)
endif()

# Headers of libtutti alone: nccl.h beside them could take the place of NVIDIA's.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tutti ${PROJECT_BINARY_DIR}/include/tutti SYMBOLIC)

set(map ${PROJECT_BINARY_DIR}/libtutti.map)
configure_file(packaging/libtutti.map.in ${map} @ONLY)
add_library(tutti_shared SHARED ${objects})
set_target_properties(tutti_shared PROPERTIES OUTPUT_NAME tutti EXPORT_NAME tutti LINKER_LANGUAGE CXX LINK_DEPENDS ${map}
                      SOVERSION ${TUTTI_SOVERSION}
                      VERSION ${TUTTI_SOVERSION}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH})
target_compile_features(tutti_shared INTERFACE cxx_std_20)
target_include_directories(tutti_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_link_libraries(tutti_shared PRIVATE ${TUTTI_SODIUM} ${TUTTI_PUGIXML} Threads::Threads)
target_link_options(tutti_shared PRIVATE ${options_of_both} -Wl,-Bsymbolic-functions -Wl,--version-script=${map})
add_library(tutti::tutti ALIAS tutti_shared)

add_library(tutti_static INTERFACE)
target_compile_features(tutti_static INTERFACE cxx_std_20)
target_include_directories(tutti_static INTERFACE ${PROJECT_BINARY_DIR}/include)
target_link_libraries(tutti_static INTERFACE $<LINK_ONLY:tutti>)
add_library(tutti::static ALIAS tutti_static)

# NCCL's drop-in: the same objects behind NCCL's names alone. It is preloaded into programs of all kinds, so it needs libc
# and nothing else, shows no other symbol, calls its own functions whatever a program defines, and stays loaded.
if(TUTTI_NCCL)
  set(map ${PROJECT_SOURCE_DIR}/src/capi/nccl.map)
  add_library(nccl SHARED ${objects})
  set_target_properties(nccl PROPERTIES LINKER_LANGUAGE CXX SOVERSION 2 VERSION 2.28.9 LINK_DEPENDS ${map})
  target_include_directories(nccl INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(nccl PRIVATE ${TUTTI_SODIUM} ${TUTTI_PUGIXML} Threads::Threads)
  target_link_options(nccl PRIVATE ${options_of_both} -static-libgcc -Wl,-Bsymbolic -Wl,--version-script=${map})
  if(NOT TUTTI_SANITIZE)
    target_link_options(nccl PRIVATE -static-libstdc++)
  endif()
  add_library(tutti::nccl ALIAS nccl)
endif()

# What jaxlib loads for an MPI: off GPUs, so the linker takes out of the archive only what operations in host memory need. It is loaded
# into programs of all kinds, as NCCL's drop-in.
if(TUTTI_MPITRAMPOLINE)
  set(map ${PROJECT_SOURCE_DIR}/src/mpi/mpitrampoline.map)
  add_library(tutti_mpitrampoline SHARED $<TARGET_OBJECTS:tutti_mpi>)
  set_target_properties(tutti_mpitrampoline PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${map})
  target_link_libraries(tutti_mpitrampoline PRIVATE tutti ${TUTTI_SODIUM} ${TUTTI_PUGIXML} Threads::Threads)
  # Out of the archive, what --wrap names would come too late for pugixml.
  target_link_options(tutti_mpitrampoline PRIVATE ${options_of_both} -Wl,--undefined=__wrap_fmod -static-libgcc -Wl,-Bsymbolic -Wl,--version-script=${map})
  if(NOT TUTTI_SANITIZE)
    target_link_options(tutti_mpitrampoline PRIVATE -static-libstdc++)
  endif()
endif()
