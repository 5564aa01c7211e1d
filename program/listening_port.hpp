// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elasticrun {

/// Whether a TCP socket of this host listens at a port. It reads the kernel's list, so the listener
/// does not notice.
bool is_listened_at(int port);

}  // namespace elasticrun
