# `cpack --config build/release/CPackConfig.cmake`: a tar of the prefix, and Debian packages where dpkg is there.
#
# SOURCE_DATE_EPOCH, where it is set, is the time in all of them, so that two builds of one source give the same bytes.
include(GNUInstallDirs)
set(TUTTI_PACKAGE_CONTACT "The Tutti Authors <tutti@example.org>" CACHE STRING "Who maintains the packages: name and mail address")

set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VENDOR "The Tutti Authors")
set(CPACK_PACKAGE_CONTACT "${TUTTI_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME tutti-${PROJECT_VERSION}-${system})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/permissions.cmake)
set(CPACK_GENERATOR TZST)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS AND TUTTI_TOOLS)
  list(APPEND CPACK_GENERATOR DEB)
endif()

# Debian packages: package, components of install.cmake, section, what it is for.
set(library libtutti${TUTTI_SOVERSION})
set(tutti_packages ${library} libnccl2-tutti libtutti-dev tutti-tools)
set(components_${library} libtutti)
set(components_libnccl2-tutti libnccl)
set(components_libtutti-dev libtutti-dev)
set(components_tutti-tools tutti-tools)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/cpack_debian.cmake)

set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
# The lines of `about` have at most 80 characters, as Debian wants it.
function(tutti_debian_package package section depends summary about)
  string(TOUPPER ${package} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${about}" PARENT_SCOPE)
endfunction()
tutti_debian_package(${library} libs "" "collective communication between the ranks of a job"
"Tutti's library of collectives for C++: all-reduce, all-gather, broadcast and
their kin. Ranks are processes or threads of one host or several, and exchange
host memory or memory of NVIDIA GPUs.")
tutti_debian_package(libnccl2-tutti libs "" "Tutti behind NCCL's interface, as libnccl.so.2"
"It lies in a folder of its own, /usr/${TUTTI_NCCL_DIR}/lib, beside
NVIDIA's library if that is installed. Programs get it by 'tutti preload
PROGRAM', or by that folder in LD_LIBRARY_PATH. It works on host memory, and on
GPUs where it was built with their kernels.")
tutti_debian_package(libtutti-dev libdevel "${library} (= ${version}), libnccl2-tutti (= ${version})"
  "headers and static library of Tutti"
"For programs that call Tutti's C++ interface, by CMake (tutti::tutti) or
pkg-config (tutti), or NCCL's C interface (tutti::nccl, tutti-nccl).")
tutti_debian_package(tutti-tools utils "libnccl2-tutti (= ${version})" "command line of Tutti"
"The program tutti starts the ranks of a job, measures and checks collectives,
shows what is chosen and why, predicts times on other machines, and says who
holds a job up.")

# What Debian wants of a package beside its files.
file(READ packaging/third-party-notices.txt TUTTI_NOTICES)
string(REGEX REPLACE "\n+$" "" TUTTI_NOTICES "${TUTTI_NOTICES}")
string(REGEX REPLACE "\n(\n+)" "\n.\n" TUTTI_NOTICES "${TUTTI_NOTICES}")  # a field has no empty lines, and its lines begin with a blank
string(REPLACE "\n" "\n " TUTTI_NOTICES "${TUTTI_NOTICES}")
string(TIMESTAMP TUTTI_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian ${PROJECT_BINARY_DIR}/packaging/debian)
configure_file(packaging/debian/copyright.in ${debian}/copyright @ONLY)
configure_file(packaging/debian/changelog.in ${debian}/changelog.Debian @ONLY)
find_program(GZIP gzip)
if(GZIP)
  execute_process(COMMAND ${GZIP} -9nkf ${debian}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endif()
set(debian_components "")
foreach(package ${tutti_packages})
  set(component debian-${package})
  install(FILES ${debian}/copyright ${debian}/changelog.Debian.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES packaging/debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  list(APPEND debian_components ${components_${package}} ${component})
endforeach()
if(TUTTI_TOOLS)
  install(FILES ${pages}/tutti.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _tutti
          COMPONENT debian-tutti-tools EXCLUDE_FROM_ALL)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
file(WRITE ${debian}/shlibs "libtutti ${TUTTI_SOVERSION} ${library} (>= ${PROJECT_VERSION})\n")
file(WRITE ${debian}/triggers "activate-noawait ldconfig\n")
string(TOUPPER ${library} name)
set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA ${debian}/shlibs ${debian}/triggers)
set(CPACK_TUTTI_DEBIAN_COMPONENTS ${debian_components})

include(CPack)
foreach(package ${tutti_packages})
  cpack_add_component_group(${package})
  foreach(component ${components_${package}} debian-${package})
    cpack_add_component(${component} GROUP ${package})
  endforeach()
endforeach()
