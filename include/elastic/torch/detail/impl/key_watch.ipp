// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/key_watch.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL key_watch::key_watch(asio::any_io_executor executor,
                                  std::shared_ptr<key_value_engine> engine, const std::string& key)
    : engine_(std::move(engine)),
      key_(store_wire_key(key)),
      changed_(executor),
      listening_(new_shared<listener>(executor, changed_)),
      id_(engine_->watch(key_, listening_)) {}

ELASTIC_DECL key_watch::~key_watch() {
  engine_->unwatch(id_);
  listening_->forget();
}

ELASTIC_DECL std::string key_watch::value() const {
  return engine_->find(key_).value_or(std::string());
}

ELASTIC_DECL task<void> key_watch::changed() {
  co_await changed_.wait();
  changed_.reset();
}

ELASTIC_DECL key_watch::listener::listener(asio::any_io_executor executor, event_flag& flag)
    : executor_(std::move(executor)), flag_(&flag) {}

ELASTIC_DECL void key_watch::listener::on_change(const key_value_engine::change_pointer&) noexcept {
  asio::post(executor_, [self = shared_from_this()] {
    if (self->flag_ != nullptr) self->flag_->set();
  });
}

}  // namespace elastic::detail
