// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/etcd/detail/etcd_client.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace elastic::detail {

/// The first key after all keys that begin with `prefix`: the end of their range.
ELASTIC_DECL std::string etcd_prefix_end(std::string prefix);

/// Keys of etcd under one prefix, over its v3 API. Watches report changes at once. If the answer to
/// a change is lost, the change may be reported as not made.
///
/// Errors: those of `etcd_client`. Thread-safety: one strand at a time.
class etcd_keys final : public versioned_keys {
 public:
  /// @param root  the prefix of each key
  ELASTIC_DECL etcd_keys(std::shared_ptr<etcd_client> client, std::string root);
  ELASTIC_DECL std::string place_of(const std::string& key) const override;
  ELASTIC_DECL task<versioned_keys::entry> get(std::string key) override;
  ELASTIC_DECL task<bool> put(std::string key, std::string value, std::string version) override;
  ELASTIC_DECL task<void> put(std::string key, std::string value) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;
  ELASTIC_DECL task<std::int64_t> count() override;
  ELASTIC_DECL task<void> wait_for_change(std::string key, std::string version) override;

  // ---- parts of requests and answers ----------------------------------------------------------

  using json = nlohmann::json;

  /// How long a watch may be silent before the key is read, because the watch may have broken
  /// unnoticed.
  static constexpr std::chrono::seconds longest_watch{30};

  /// "<revision of the key>:<revision of etcd at that time>"; the first is 0 for a missing key.
  ELASTIC_DECL static std::string version_of(std::int64_t of_key, std::int64_t of_etcd);
  /// The first revision of etcd after a version was read.
  ELASTIC_DECL static std::string next_revision(const std::string& version);

  /// The first key in the answer to a range request, or a missing one.
  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static versioned_keys::entry first_of(const json& range);

  /// Bytes in an answer, which encodes them in base64.
  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static std::string bytes_in(const json& object, const char* name);

 private:
  std::shared_ptr<etcd_client> client_;
  std::string root_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/etcd_keys.ipp>
#endif
