# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT

# Compiles for the target that packaging/wheels/build.py names in the environment: the processor,
# the folder of the libraries for it, and that of the compiler's commands.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{ELASTIC_TARGET_PROCESSOR}")
set(CMAKE_C_COMPILER "$ENV{ELASTIC_TARGET_TOOLS}/cc")
set(CMAKE_CXX_COMPILER "$ENV{ELASTIC_TARGET_TOOLS}/c++")
set(CMAKE_AR "$ENV{ELASTIC_TARGET_TOOLS}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "$ENV{ELASTIC_TARGET_TOOLS}/ranlib" CACHE FILEPATH "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "$ENV{ELASTIC_TARGET_LINK_OPTIONS}")

# Nothing of the machine that builds: its headers are those of another C library.
set(CMAKE_FIND_ROOT_PATH "$ENV{ELASTIC_TARGET_PREFIX}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
