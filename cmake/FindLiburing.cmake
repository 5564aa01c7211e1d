# Finds liburing, which comes without a CMake package.
#
# Result: target Liburing::liburing, Liburing_FOUND, Liburing_VERSION where it is known.
# Hint: Liburing_ROOT or CMAKE_PREFIX_PATH. With Liburing_USE_STATIC_LIBS it has to be an archive.

find_path(Liburing_INCLUDE_DIR liburing.h)
set(_liburing_name uring)
set(_liburing_hint "set ELASTIC_NO_RING=ON")
if(Liburing_USE_STATIC_LIBS)
  set(_liburing_name liburing.a)
  set(_liburing_hint "set ELASTIC_NO_RING=ON, or ELASTIC_STATIC=OFF if it has no liburing.a")
endif()
find_library(Liburing_LIBRARY NAMES ${_liburing_name})
mark_as_advanced(Liburing_INCLUDE_DIR Liburing_LIBRARY)

# From 2.4 on the header says its version; before that only the pkg-config file does.
if(Liburing_INCLUDE_DIR AND EXISTS "${Liburing_INCLUDE_DIR}/liburing/io_uring_version.h")
  file(STRINGS "${Liburing_INCLUDE_DIR}/liburing/io_uring_version.h" _liburing_lines
       REGEX "^#define IO_URING_VERSION_(MAJOR|MINOR) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]+" "" _liburing_lines "${_liburing_lines}")
  list(JOIN _liburing_lines "." Liburing_VERSION)
elseif(Liburing_LIBRARY)
  get_filename_component(_liburing_dir "${Liburing_LIBRARY}" DIRECTORY)
  if(EXISTS "${_liburing_dir}/pkgconfig/liburing.pc")
    file(STRINGS "${_liburing_dir}/pkgconfig/liburing.pc" _liburing_line REGEX "^Version:")
    string(REGEX REPLACE "^Version: *" "" Liburing_VERSION "${_liburing_line}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing
  REQUIRED_VARS Liburing_LIBRARY Liburing_INCLUDE_DIR VERSION_VAR Liburing_VERSION
  REASON_FAILURE_MESSAGE
  "install liburing-dev (Debian, Ubuntu) or liburing-devel (Fedora), or ${_liburing_hint}")

if(Liburing_FOUND AND NOT TARGET Liburing::liburing)
  add_library(Liburing::liburing UNKNOWN IMPORTED)
  set_target_properties(Liburing::liburing PROPERTIES
    IMPORTED_LOCATION "${Liburing_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Liburing_INCLUDE_DIR}")
endif()
