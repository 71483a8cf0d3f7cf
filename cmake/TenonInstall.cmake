# What users install: one library, shared and static, over all folders that
# src/api links; its headers, the tool, and the package for find_package(tenon).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The libraries of src that `target` links, itself first.
function(tenon_reach target out)
  set(seen "")
  set(todo ${target})
  while(todo)
    list(POP_FRONT todo at)
    if(at IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${at})
    get_target_property(links ${at} LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^tenon_" AND NOT link STREQUAL "tenon_warnings")
        list(APPEND todo ${link})
      endif()
    endforeach()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

function(tenon_public_library name type)
  add_library(${name} ${type} ${ARGN})
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME tenon
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib"
    ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib"
    LINKER_LANGUAGE CXX)
  target_include_directories(${name} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(${name} INTERFACE cxx_std_17)
endfunction()

# Shared: only what include/tenon declares can be seen from outside. While the
# major version is 0, minor versions break.
tenon_public_library(libtenon SHARED $<TARGET_OBJECTS:tenon_api>)
set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
target_link_libraries(libtenon PRIVATE tenon_api)
target_link_options(libtenon PRIVATE "LINKER:--version-script=${exports}")
set_target_properties(libtenon PROPERTIES
  EXPORT_NAME tenon
  LINK_DEPENDS "${exports}"
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Static: what the folders link from outside, its users link, too; the package
# finds it.
tenon_reach(tenon_api folders)
set(objects "")
foreach(folder ${folders})
  list(APPEND objects $<TARGET_OBJECTS:${folder}>)
  # Objects that a folder has from object libraries aren't among its own.
  get_target_property(sources ${folder} SOURCES)
  list(FILTER sources INCLUDE REGEX "TARGET_OBJECTS")
  list(APPEND objects ${sources})
endforeach()
tenon_public_library(libtenon_static STATIC ${objects})
target_link_libraries(libtenon_static INTERFACE
  fmt::fmt simdjson::simdjson ZLIB::ZLIB OpenMP::OpenMP_CXX Threads::Threads
  dnnl)
set_target_properties(libtenon_static PROPERTIES EXPORT_NAME tenon_static)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")
install(TARGETS tenon RUNTIME)
install(TARGETS libtenon EXPORT tenon-targets LIBRARY)
install(TARGETS libtenon_static EXPORT tenon-static-targets ARCHIVE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tenon"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(set tenon-targets tenon-static-targets)
  install(EXPORT ${set} NAMESPACE tenon:: DESTINATION "${package_folder}")
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tenon-config.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file(
  "${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake"
  DESTINATION "${package_folder}")
