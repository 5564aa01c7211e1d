// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for etcd.

#include <string>

namespace elastic::detail {

/// Which servers a TLS connection trusts, and how it identifies itself. Files are in PEM format.
struct tls_options {
  /// The certificates of the trusted authorities; empty: those that this system trusts.
  std::string authorities;
  /// This side's certificate, with the intermediate ones; empty: it shows none.
  std::string certificate;
  /// The private key of `certificate`; empty: it is in the same file.
  std::string key;
};

}  // namespace elastic::detail
