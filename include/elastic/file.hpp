// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: nodes meet in a directory that they share. Backend "file".

#include <elastic/file/file_keys.hpp>
#include <elastic/file/file_rendezvous.hpp>
