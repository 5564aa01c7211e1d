// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/etcd/detail/etcd_client.hpp>
#include <elastic/etcd/detail/leased_keys.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

/// The encoding of keys and values for the v2 API of etcd, which only takes text.
enum class etcd_v2_form {
  /// Unchanged: those of torchrun's rendezvous are already in base64.
  plain,
  /// Base64, as torchrun's store writes them.
  base64,
};

/// Keys in one directory of etcd, over its v2 API: for servers before 3.6 that were started with
/// `--enable-v2`.
///
/// Errors: those of `etcd_client`; `errc::not_supported` if there is no v2 API.
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous, `EtcdStore` and `EtcdRendezvousBackend`.
class etcd_v2_keys final : public leased_keys {
 public:
  /// @param directory  "/torch/elastic/store"
  /// @param ttl        how long etcd keeps a key after its last change, in seconds; 0: forever
  ELASTIC_DECL etcd_v2_keys(std::shared_ptr<etcd_client> client, std::string directory,
                            etcd_v2_form form, int ttl = 0);
  ELASTIC_DECL std::string place_of(const std::string& key) const override;
  ELASTIC_DECL task<versioned_keys::entry> get(std::string key) override;

  /// Whether there is such a key, or directory of keys.
  ELASTIC_DECL task<bool> exists(std::string key) const;

  /// Waits until the directory of all these keys exists.
  ELASTIC_DECL task<void> await_existence();
  ELASTIC_DECL task<bool> put(std::string key, std::string value, std::string version) override;
  ELASTIC_DECL task<bool> put(std::string key, std::string value, std::string version,
                              std::chrono::seconds ttl) override;
  ELASTIC_DECL task<void> put(std::string key, std::string value) override;
  ELASTIC_DECL task<bool> erase(std::string key, std::string version) override;
  ELASTIC_DECL task<void> refresh(std::string key, std::chrono::seconds ttl) override;
  ELASTIC_DECL task<void> make_directory(std::string key) override;

  /// Makes the directory of all these keys if it is missing, and makes it expire `ttl` from now.
  ELASTIC_DECL task<void> refresh_directory(std::chrono::seconds ttl);
  ELASTIC_DECL task<std::set<std::string>> names_in(std::string directory) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;
  ELASTIC_DECL task<std::int64_t> count() override;
  ELASTIC_DECL task<void> wait_for_change(std::string key, std::string version) override;
  ELASTIC_DECL task<void> wait_for_any_change(std::string version) override;

 private:
  using json = nlohmann::json;

  struct reply;

  static constexpr int key_not_found = 100;
  static constexpr int compare_failed = 101;
  static constexpr int already_there = 105;
  static constexpr int not_authorized = 110;
  static constexpr std::chrono::seconds longest_wait{5};
  static constexpr std::chrono::milliseconds pause{200};

  ELASTIC_DECL task<void> watch(std::string key, std::string version, std::string scope);

  // ---- requests -------------------------------------------------------------------------------

  ELASTIC_DECL std::string encoded(const std::string& text) const;
  ELASTIC_DECL static std::string percent_encoded(std::string_view text, std::string_view also);
  ELASTIC_DECL static std::string path_of(std::string_view text);
  ELASTIC_DECL http_request request_of(const char* method, const std::string& key,
                                       const std::string& query) const;
  ELASTIC_DECL static std::string ttl_text(std::chrono::seconds ttl);
  ELASTIC_DECL task<bool> write(std::string key, std::string value, std::string condition);

  // Result of both: whether the conditions in the request held.
  ELASTIC_DECL task<bool> send_form(std::string key, std::string form);
  ELASTIC_DECL task<bool> remove(std::string key, std::string query);

  // Throws if etcd refuses. The key exists unless the reply has the code key_not_found.
  ELASTIC_DECL task<reply> find(std::string key, std::string query) const;
  ELASTIC_DECL task<reply> ask(http_request request) const;

  // ---- answers --------------------------------------------------------------------------------

  ELASTIC_DECL json read_answer(const http_response& response) const;
  ELASTIC_DECL void refuse_any(const json& answer) const;
  ELASTIC_DECL bool has_held(const reply& answer) const;
  ELASTIC_DECL static std::int64_t number_of(const std::string& text);
  ELASTIC_DECL std::string decoded(const std::string& key, std::string text) const;

  [[noreturn]] ELASTIC_DECL void refuse_value(const std::string& key) const;
  ELASTIC_DECL static std::int64_t leaves_of(const json& node);

  std::shared_ptr<etcd_client> client_;
  std::string directory_;
  etcd_v2_form form_;
  int ttl_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/etcd_v2_keys.ipp>
#endif
