// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: meeting in a shared directory, the backend "file".

#include <elastic/rendezvous/file/file_rendezvous.hpp>
