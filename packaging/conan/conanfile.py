# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A Conan 2 recipe of the tree in which it lies:  conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class ElasticRecipe(ConanFile):
    name = "elastic"
    description = "Elastic worker groups with C++20 coroutines"
    license = "MIT"
    topics = ("coroutines", "distributed-training", "process-management")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "boost": [True, False],
               "ring": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "fPIC": True, "boost": False, "ring": True, "tls": True}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = os.path.join(self._tree(), "include", "elastic", "base", "version.hpp")
        self.version = re.search(r'version_text = "(.+)";', load(self, header))[1]

    def export_sources(self):
        for part in "CMakeLists.txt", "LICENSE", "cmake/*", "include/*":
            copy(self, part, self._tree(), self.export_sources_folder)

    def _tree(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def requirements(self):
        headers = {"transitive_headers": True}
        self.requires("asio/[>=1.22 <2]", **headers)
        self.requires("fmt/[>=9 <13]", **headers)
        self.requires("nlohmann_json/[>=3.11 <4]", **headers)
        if self.options.ring:
            self.requires("liburing/[>=2.3 <3]", **headers)
        if self.options.tls:
            self.requires("openssl/[>=3 <4]", **headers)
        if self.options.boost:
            self.requires("boost/[>=1.81 <2]", **headers)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("elastic needs Linux with pidfds")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in "PROGRAM", "TESTS", "EXAMPLES", "BENCHMARKS":
            toolchain.cache_variables[f"ELASTIC_BUILD_{part}"] = False
        toolchain.cache_variables["ELASTIC_WITH_BOOST"] = bool(self.options.boost)
        toolchain.cache_variables["ELASTIC_WITH_TLS"] = bool(self.options.tls)
        toolchain.cache_variables["ELASTIC_NO_RING"] = not self.options.ring
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package of CMake that the library installs itself has all targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "elastic")]
        self.cpp_info.libs = ["elastic"]
        self.cpp_info.defines = ["ELASTIC_SEPARATE_COMPILATION=1"]
        if self.options.shared:
            self.cpp_info.defines.append("ELASTIC_DYN_LINK=1")
        if self.options.tls:
            self.cpp_info.defines.append("ELASTIC_HAS_TLS=1")
        if not self.options.ring:
            self.cpp_info.defines.append("ELASTIC_NO_RING=1")
        self.cpp_info.system_libs = ["pthread"]
