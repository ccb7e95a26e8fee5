# Measured times as a source of their own, so that predictions can say how good such predictions were without a file.
set(POINT_FILES tests/planning/points/tutti_one_host.csv tests/planning/points/tutti_hosts.csv
    tests/tune/measured/epyc_2_cores.txt tests/tune/measured/xeon_16_cores.txt)
set(POINT_TEXTS "")
foreach(name ${POINT_FILES})
  set(file ${PROJECT_SOURCE_DIR}/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(name ${name} NAME)
  string(APPEND POINT_TEXTS "    {\"${name}\", R\"points(${text})points\"},\n")
endforeach()
set(POINT_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/point_texts.cpp)
file(CONFIGURE OUTPUT ${POINT_SOURCE} @ONLY CONTENT
"#include \"tools/point_texts.h\"

#include <cstdlib>
#include <utility>

namespace tutti::tools {
namespace {
constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
@POINT_TEXTS@};
}  // namespace

std::string_view PointText(std::string_view file) {
  for (const auto& [name, text] : kTexts) {
    if (name == file) return text;
  }
  std::abort();
}

}  // namespace tutti::tools
")
