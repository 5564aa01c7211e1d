# An overlay port of the tree in which it lies:
#
#   vcpkg install elastic --overlay-ports=<this repository>/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    boost ELASTIC_WITH_BOOST
    tls ELASTIC_WITH_TLS
  INVERTED_FEATURES
    ring ELASTIC_NO_RING)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DELASTIC_BUILD_PROGRAM=OFF
    -DELASTIC_BUILD_TESTS=OFF
    -DELASTIC_BUILD_EXAMPLES=OFF
    -DELASTIC_BUILD_BENCHMARKS=OFF
    -DELASTIC_INSTALL=ON
    ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/elastic)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
