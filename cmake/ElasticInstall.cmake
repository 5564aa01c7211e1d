# What is installed, in two parts: libelastic-dev (headers, the compiled library, the package of
# CMake with its find modules, that of pkg-config) and elasticrun (the program if it is built, its
# guard, manual page and completions).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(elastic_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/elastic")
set(elastic_config "${PROJECT_BINARY_DIR}/cmake/elastic-config.cmake")
set(elastic_config_version "${PROJECT_BINARY_DIR}/cmake/elastic-config-version.cmake")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/elastic-config.cmake.in"
  "${elastic_config}" INSTALL_DESTINATION "${elastic_package_dir}")
write_basic_package_version_file("${elastic_config_version}" COMPATIBILITY SameMinorVersion)

# As a file set where CMake has them: tools that read the build then know what the library has.
set(elastic_header_set)
if(CMAKE_VERSION VERSION_LESS 3.23)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/elastic"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT libelastic-dev FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp")
else()
  file(GLOB_RECURSE elastic_header_files CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/include/elastic/*.[hi]pp")
  target_sources(elastic_headers INTERFACE FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${elastic_header_files})
  set(elastic_header_set FILE_SET HEADERS
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT libelastic-dev)
endif()
set(elastic_boost_targets)
if(ELASTIC_WITH_BOOST)
  set(elastic_boost_targets elastic_boost elastic_compiled_boost)
endif()
install(TARGETS elastic elastic_headers elastic_compiled ${elastic_boost_targets} ${elastic_modules}
  EXPORT elastic-targets ${elastic_header_set}
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libelastic-dev
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libelastic-dev)
# A file of its own: who takes only this target needs neither OpenSSL nor nlohmann/json.
install(TARGETS elastic_process EXPORT elastic-process-targets)
foreach(targets elastic-targets elastic-process-targets)
  install(EXPORT ${targets} NAMESPACE elastic:: DESTINATION "${elastic_package_dir}"
    COMPONENT libelastic-dev)
endforeach()
install(FILES
  "${elastic_config}"
  "${elastic_config_version}"
  "${PROJECT_SOURCE_DIR}/cmake/FindAsio.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLiburing.cmake"
  DESTINATION "${elastic_package_dir}" COMPONENT libelastic-dev)

# For builds without CMake. Asio has no file of its own there, nor needs it one; nor has Boost.
set(elastic_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH elastic_prefix "/${elastic_pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" elastic_prefix "${elastic_prefix}")
set(elastic_requirements "fmt nlohmann_json")
set(elastic_definitions "-DELASTIC_SEPARATE_COMPILATION=1")
if(BUILD_SHARED_LIBS)
  string(APPEND elastic_definitions " -DELASTIC_DYN_LINK=1")
endif()
if(ELASTIC_NO_RING)
  string(APPEND elastic_definitions " -DELASTIC_NO_RING=1")
else()
  string(APPEND elastic_requirements " liburing")
endif()
if(ELASTIC_WITH_TLS)
  string(APPEND elastic_definitions " -DELASTIC_HAS_TLS=1")
  string(APPEND elastic_requirements " openssl")
endif()
function(elastic_install_pkgconfig elastic_name)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/elastic.pc.in"
    "${PROJECT_BINARY_DIR}/${elastic_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${elastic_name}.pc" DESTINATION "${elastic_pkgconfig_dir}"
    COMPONENT libelastic-dev)
endfunction()
elastic_install_pkgconfig(elastic)
if(ELASTIC_WITH_BOOST)
  string(APPEND elastic_definitions " -DELASTIC_USE_BOOST_ASIO=1")
  elastic_install_pkgconfig(elastic_boost)
endif()

if(TARGET guard_program)
  install(PROGRAMS "${elastic_guard}" DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}"
    COMPONENT elasticrun)
endif()
if(TARGET elasticrun)
  install(TARGETS elasticrun DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT elasticrun)
endif()
if(TARGET elasticrun_documents)
  set(elastic_documents "${PROJECT_BINARY_DIR}/program/documents")
  install(FILES "${elastic_documents}/elasticrun.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT elasticrun)
  install(FILES "${elastic_documents}/elasticrun"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT elasticrun)
  install(FILES "${elastic_documents}/_elasticrun"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT elasticrun)
  install(FILES "${elastic_documents}/elasticrun.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT elasticrun)
endif()

# ---- packages: cpack -G "DEB;TGZ" ----------------------------------------------------------------

foreach(component libelastic-dev elasticrun)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${component}" COMPONENT "${component}")
endforeach()
if(is_top_level)
  set(CPACK_PACKAGE_NAME elastic)
  set(CPACK_PACKAGE_VENDOR "The elastic authors")
  set(CPACK_PACKAGE_CONTACT "The elastic authors")
  set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
  set(CPACK_GENERATOR DEB TGZ)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL libelastic-dev elasticrun)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_LIBELASTIC-DEV_PACKAGE_NAME libelastic-dev)
  set(CPACK_DEBIAN_LIBELASTIC-DEV_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_LIBELASTIC-DEV_PACKAGE_DEPENDS
    "libasio-dev, libfmt-dev, nlohmann-json3-dev, liburing-dev, libssl-dev")
  set(CPACK_COMPONENT_LIBELASTIC-DEV_DESCRIPTION
    "C++20 library that runs elastic jobs (development files)
 Starts the worker processes of a distributed job on each node, lets the nodes
 meet, and restarts the workers when one fails or a node joins or leaves. This
 package has the headers and the library for launchers, agents and servers of
 your own. The package elasticrun has a launcher that is ready to use.")
  set(CPACK_DEBIAN_ELASTICRUN_PACKAGE_NAME elasticrun)
  set(CPACK_DEBIAN_ELASTICRUN_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_ELASTICRUN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_ELASTICRUN_DESCRIPTION
    "launcher of elastic distributed jobs that replaces torchrun
 Starts the workers of a PyTorch job on each node, with the options and the
 environment of torchrun, and restarts them when one fails or a node joins or
 leaves. It also starts programs of JAX and MPICH. It needs neither Python nor
 PyTorch itself.")
  include(CPack)
endif()
