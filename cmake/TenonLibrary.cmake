# tenon_library(NAME SOURCES ... LINKS ...): one folder of src/ as a static
# library `tenon_NAME` that sees only the folders it links.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE)
  # Paths below the checkout count as relative, so that another clone hits.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TENON_CCACHE})
endif()

add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-align -Wimplicit-fallthrough -Wno-missing-field-initializers)

function(tenon_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(tenon_${name} STATIC ${ARG_SOURCES})
  target_include_directories(tenon_${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(tenon_${name} PUBLIC ${ARG_LINKS}
    PRIVATE ${ARG_PRIVATE_LINKS} tenon_warnings)
endfunction()

# GCC 12 reports overlapping copies inside std::string's operator+ that don't
# exist (GCC bug 105651), and optional values as uninitialised (bug 80635).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tenon_warnings INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized)
endif()
