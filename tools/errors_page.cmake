# Writes docs/errors.md as a source of its own, so that `tutti explain` knows it without a file:
#   cmake -DPAGE=docs/errors.md -DSOURCE=errors_page.cpp -P errors_page.cmake
file(READ ${PAGE} text)
file(CONFIGURE OUTPUT ${SOURCE} @ONLY CONTENT
"#include \"tools/errors_page.h\"

namespace tutti::tools {

std::string_view ErrorsPage() { return R\"page(@text@)page\"; }

}  // namespace tutti::tools
")
