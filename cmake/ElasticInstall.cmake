# Headers, the CMake package with its find modules, and elasticrun where it is built.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(elastic_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/elastic")
set(elastic_config "${PROJECT_BINARY_DIR}/cmake/elastic-config.cmake")
set(elastic_config_version "${PROJECT_BINARY_DIR}/cmake/elastic-config-version.cmake")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/elastic-config.cmake.in"
  "${elastic_config}" INSTALL_DESTINATION "${elastic_package_dir}")
write_basic_package_version_file("${elastic_config_version}" COMPATIBILITY SameMinorVersion)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/elastic" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp")
install(TARGETS elastic elastic_compiled EXPORT elastic-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT elastic-targets NAMESPACE elastic:: DESTINATION "${elastic_package_dir}")
install(FILES
  "${elastic_config}"
  "${elastic_config_version}"
  "${PROJECT_SOURCE_DIR}/cmake/FindAsio.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLiburing.cmake"
  DESTINATION "${elastic_package_dir}")
if(TARGET guard_program)
  install(PROGRAMS "${elastic_guard}" DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}")
endif()
if(TARGET elasticrun)
  install(TARGETS elasticrun DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
