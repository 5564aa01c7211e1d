// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace elastic::test {

/// A certificate authority and certificates that it has issued, made by the program openssl.
class certificates {
 public:
  explicit certificates(const std::string& server_name = "IP:127.0.0.1") {
    make({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
          "/CN=authority", "-days", "2", "-keyout", file("ca.key"), "-out", file("ca.pem")});
    sign("server", server_name);
    sign("client", "DNS:client");
  }

  std::string file(const std::string& name) const { return directory_ / name; }

 private:
  static void make(std::vector<std::string> words) {
    words.insert(words.begin(), "openssl");
    const auto result = run_program(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
  }

  void sign(const std::string& name, const std::string& alternative) const {
    std::ofstream(file(name + ".ext")) << "subjectAltName=" << alternative << "\n"
                                       << "extendedKeyUsage=serverAuth,clientAuth\n";
    make({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
          "/CN=" + name, "-keyout", file(name + ".key"), "-out", file(name + ".csr")});
    make({"x509", "-req", "-in", file(name + ".csr"), "-CA", file("ca.pem"), "-CAkey",
          file("ca.key"), "-CAcreateserial", "-days", "2", "-extfile", file(name + ".ext"), "-out",
          file(name + ".pem")});
  }

  temporary_directory directory_;
};

}  // namespace elastic::test
