// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// Rejects agents of PyTorch that try to meet in a store whose nodes meet by another protocol. It
/// closes the agents' rendezvous, so that they end at once. Otherwise they would wait in vain or,
/// if there were enough of them, form a second job under the same name. Warns once.
///
/// Thread-safety: called by any thread that changes the store.
class torch_agent_watch final : public key_value_engine::listener,
                                public std::enable_shared_from_this<torch_agent_watch> {
 public:
  /// @param setting  how the warning names the setting of the dialect
  ELASTIC_DECL torch_agent_watch(std::shared_ptr<key_value_engine> engine, std::string run_id,
                                 std::string setting, logger log);
  ~torch_agent_watch() override { engine_->unwatch(id_); }
  torch_agent_watch(const torch_agent_watch&) = delete;
  torch_agent_watch& operator=(const torch_agent_watch&) = delete;

  void begin() { id_ = engine_->watch("/" + torch_state_key(run_id_), weak_from_this()); }

  void on_ready(key_value_engine::wait_id) noexcept override {}

  // The table reports one change after another, and holds no lock meanwhile.
  ELASTIC_DECL void on_change(const key_value_engine::change_pointer& change) noexcept override;

 private:
  ELASTIC_DECL void warn(torch_dialect dialect);

  std::shared_ptr<key_value_engine> engine_;
  std::string run_id_;
  std::string setting_;
  logger log_;
  key_value_engine::wait_id id_ = 0;
  bool has_warned_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/torch_agent_watch.ipp>
#endif
