# Finds the headers of toml++. Its package of CMake may bring a library, which is not needed.
#
# Result: target Tomlpp::tomlpp, Tomlpp_FOUND. Hint: Tomlpp_ROOT or CMAKE_PREFIX_PATH.

find_path(Tomlpp_INCLUDE_DIR toml++/toml.h)
mark_as_advanced(Tomlpp_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Tomlpp REQUIRED_VARS Tomlpp_INCLUDE_DIR
  REASON_FAILURE_MESSAGE
  "install libtomlplusplus-dev (Debian, Ubuntu) or tomlplusplus-devel (Fedora), or set Tomlpp_ROOT")

if(Tomlpp_FOUND AND NOT TARGET Tomlpp::tomlpp)
  add_library(Tomlpp::tomlpp INTERFACE IMPORTED)
  set_target_properties(Tomlpp::tomlpp PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Tomlpp_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS TOML_HEADER_ONLY=1)
endif()
