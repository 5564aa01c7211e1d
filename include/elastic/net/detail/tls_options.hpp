// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for etcd.

#include <string>

namespace elastic::detail {

/// Whom a TLS connection trusts, and who it says that it is. Files are in PEM form.
struct tls_options {
  /// The certificates of the authorities that a server's certificate may come from; empty: those
  /// that this system trusts.
  std::string authorities;
  /// This side's certificate, with those between it and its authority; empty: none is shown.
  std::string certificate;
  /// The private key of `certificate`; empty: it is in the same file.
  std::string key;
};

}  // namespace elastic::detail
