# Read by cpack for each kind of package: the documents of the tar are not in Debian's packages, which have their own, and these have a
# summary each.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL ${CPACK_TUTTI_DEBIAN_COMPONENTS})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
endif()
