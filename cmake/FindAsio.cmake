# Finds standalone Asio, which comes without a CMake package.
#
# Result: target Asio::asio, Asio_FOUND, Asio_VERSION. Hint: Asio_ROOT or CMAKE_PREFIX_PATH.

find_path(Asio_INCLUDE_DIR asio/version.hpp)
mark_as_advanced(Asio_INCLUDE_DIR)

if(Asio_INCLUDE_DIR)
  # "#define ASIO_VERSION 102201 // 1.22.1"
  file(STRINGS "${Asio_INCLUDE_DIR}/asio/version.hpp" _asio_line
       REGEX "^#define ASIO_VERSION [0-9]+" LIMIT_COUNT 1)
  if(_asio_line MATCHES "ASIO_VERSION ([0-9]+)")
    math(EXPR _asio_major "${CMAKE_MATCH_1} / 100000")
    math(EXPR _asio_minor "${CMAKE_MATCH_1} / 100 % 1000")
    math(EXPR _asio_patch "${CMAKE_MATCH_1} % 100")
    set(Asio_VERSION "${_asio_major}.${_asio_minor}.${_asio_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR VERSION_VAR Asio_VERSION
  REASON_FAILURE_MESSAGE
  "install libasio-dev (Debian, Ubuntu) or asio-devel (Fedora), or set Asio_ROOT")

if(Asio_FOUND AND NOT TARGET Asio::asio)
  add_library(Asio::asio INTERFACE IMPORTED)
  set_target_properties(Asio::asio PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Asio_INCLUDE_DIR}")
endif()
