// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_session.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/store/detail/store_meter.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace elastic::detail {

/// The memory for a wait for these keys, in bytes.
inline std::size_t bytes_of(const std::vector<std::string_view>& keys) {
  std::size_t bytes = keys.size() * limits::store_wait_bytes;
  for (const std::string_view key : keys) bytes += key.size();
  return bytes;
}

ELASTIC_DECL tcp_store_session::tcp_store_session(std::shared_ptr<key_value_engine> engine,
                                                  const tcp_store_bounds& bounds,
                                                  tcp_store_legacy_dialect dialect)
    : engine_(std::move(engine)), parser_(bounds), dialect_(dialect) {}

ELASTIC_DECL void tcp_store_session::extend(std::shared_ptr<store_extension> further,
                                            store_extension::client& self) {
  extension_ = std::move(further);
  self_ = &self;
}

ELASTIC_DECL auto tcp_store_session::consume(std::string_view bytes) -> state {
  if (state_ != state::reading) {
    if (state_ == state::paused) input_.append(bytes);
    return state_;
  }
  if (conversation_) {
    const std::size_t used = converse(bytes);
    if (state_ != state::ended) input_.append(bytes.substr(used));
  } else if (input_.empty()) {
    const std::size_t used = execute_all(bytes);
    if (state_ != state::ended) input_.assign(bytes.substr(used));
  } else {
    input_.append(bytes);
    input_.erase(0, execute_all(input_));
  }
  release_large_input();
  return state_;
}

ELASTIC_DECL auto tcp_store_session::resume() -> state {
  if (state_ != state::paused) return state_;
  state_ = state::reading;
  input_.erase(0, execute_all(input_));
  release_large_input();
  return state_;
}

ELASTIC_DECL bool tcp_store_session::ready(key_value_engine::wait_id wait) {
  if (wait == 0 || wait != wait_) return false;
  wait_ = 0;
  waited_ = 0;
  output_.push_back(reply_stop_waiting);
  return true;
}

ELASTIC_DECL void tcp_store_session::changed(const key_value_engine::change& change) {
  output_.push_back(static_cast<char>(change.kind));
  append_text(output_, change.key);
  append_text(output_, change.old_value);
  append_text(output_, change.new_value);
}

ELASTIC_DECL std::size_t tcp_store_session::held() const {
  const auto taken = [](const std::string& text) { return text.empty() ? 0 : text.capacity(); };
  const std::size_t of_extension = conversation_ ? conversation_->held() : 0;
  return taken(output_) + taken(input_) + parser_.held() + of_extension + waited_ + watched_;
}

ELASTIC_DECL bool tcp_store_session::has_begun() const {
  return conversation_ ? conversation_->has_begun() : has_executed_;
}

ELASTIC_DECL void tcp_store_session::fail(std::string complaint) {
  state_ = state::ended;
  complaint_ = std::move(complaint);
}

ELASTIC_DECL void tcp_store_session::release() {
  input_ = {};
  output_ = {};
}

ELASTIC_DECL void tcp_store_session::close() {
  conversation_.reset();
  drop_wait();
  for (const auto watch : watches_) engine_->unwatch(watch);
  watches_.clear();
  watched_ = 0;
}

ELASTIC_DECL std::size_t tcp_store_session::execute_all(std::string_view input) {
  std::size_t done = 0;
  while (state_ == state::reading && done < input.size()) {
    if (generation_ == first_bytes::undecided && !decide(input, done)) break;
    const std::string_view rest = input.substr(done);
    if (rest.empty()) break;
    if (conversation_) {
      return done + converse(rest);
    }
    if (const std::size_t of_sets = execute_sets(rest); of_sets != 0) {
      done += of_sets;
      continue;
    }
    drop_stale_wait();
    if (parser_.at_start()) parser_.begin(operation_of(rest.front()));
    const outcome result = parser_.parse(rest);
    if (result == outcome::incomplete) break;
    if (result == outcome::malformed) {
      fail(std::string(parser_.complaint()));
      break;
    }
    if (!execute_guarded(parser_.request())) break;
    has_executed_ = true;
    done += parser_.used();
    parser_.finish();
    pause_if_full();
  }
  return done;
}

ELASTIC_DECL void tcp_store_session::pause_if_full() {
  if (output_.size() > limits::store_reply_pause_bytes) pause();
}

ELASTIC_DECL void tcp_store_session::pause() {
  if (state_ == state::reading) state_ = state::paused;
}

ELASTIC_DECL bool tcp_store_session::decide(std::string_view input, std::size_t& done) {
  if (extension_ && input.front() == extension_->greeting().front()) {
    return decide_extension(input, done);
  }
  if (is_secure_greeting(input)) {
    output_ += no_secret_alert();
    fail("it has a secret, and this job has none");
    return false;
  }
  if (may_be_secure_greeting(input)) return false;
  generation_ = classify(input);
  if (generation_ == first_bytes::modern) done += greeting_bytes;
  if (generation_ == first_bytes::foreign) {
    fail("no client of a store begins with this byte");
  }
  return generation_ == first_bytes::legacy || generation_ == first_bytes::modern;
}

ELASTIC_DECL bool tcp_store_session::decide_extension(std::string_view input, std::size_t& done) {
  const std::string_view greeting = extension_->greeting();
  const std::size_t length = std::min(input.size(), greeting.size());
  if (input.substr(0, length) != greeting.substr(0, length)) {
    fail("the first bytes are none of a store's client");
    return false;
  }
  if (length < greeting.size()) return false;
  done += length;
  generation_ = first_bytes::extension;
  conversation_ = extension_->begin(*self_);
  return true;
}

ELASTIC_DECL std::size_t tcp_store_session::converse(std::string_view bytes) {
  // Small enough that the answers to one piece do not matter: the next piece waits until they are
  // sent.
  constexpr std::size_t piece_bytes = 256;
  std::size_t done = 0;
  try {
    while (done < bytes.size() && state_ == state::reading) {
      const std::string_view piece = bytes.substr(done, piece_bytes);
      conversation_->received(piece);
      done += piece.size();
      pause_if_full();
    }
  } catch (const error& refused) {
    fail(refused.what());
  }
  return done;
}

ELASTIC_DECL std::size_t tcp_store_session::execute_sets(std::string_view input) {
  if (generation_ != first_bytes::modern || !parser_.at_start()) return 0;
  constexpr std::size_t most = 64;
  std::array<std::pair<std::string_view, std::string_view>, most> sets;
  std::size_t count = 0;
  std::size_t done = 0;
  while (count < most) {
    const std::size_t size = parser_.whole_set(input.substr(done), sets[count]);
    if (size == 0) break;
    done += size;
    ++count;
  }
  if (count == 0) return 0;
  try {
    engine_->set_all({sets.data(), count});
  } catch (const error& refused) {
    fail(refused.what());
    return done;
  }
  if (engine_->meter() != nullptr) engine_->meter()->count(store_op::set, count);
  has_executed_ = true;
  return done;
}

ELASTIC_DECL void tcp_store_session::drop_stale_wait() {
  if (wait_ != 0 && is_legacy() && !is_2_1_) drop_wait();
}

ELASTIC_DECL void tcp_store_session::drop_wait() {
  if (wait_ != 0) engine_->cancel(std::exchange(wait_, 0));
  waited_ = 0;
}

ELASTIC_DECL store_op tcp_store_session::operation_of(char byte) {
  if (!is_legacy()) {
    const store_op op = decode_op(tcp_store_generation::torch_2_2, byte);
    return op == store_op::validate ? store_op::unknown : op;
  }
  const store_op op = legacy_operation_of(byte);
  is_first_ = false;
  watches_only_ = op == store_op::watch_key;
  return op;
}

ELASTIC_DECL store_op tcp_store_session::legacy_operation_of(char byte) {
  if (dialect_ == tcp_store_legacy_dialect::torch_1_13) {
    return decode_op(tcp_store_generation::torch_1_13, byte);
  }
  const store_op as_2_1 = decode_op(tcp_store_generation::torch_2_1, byte);
  if (as_2_1 == store_op::multi_get || as_2_1 == store_op::multi_set ||
      as_2_1 == store_op::cancel_wait) {
    is_2_1_ = true;
  }
  if (is_2_1_ || dialect_ == tcp_store_legacy_dialect::torch_2_1) return as_2_1;
  const store_op as_1_13 = decode_op(tcp_store_generation::torch_1_13, byte);
  // A client of 1.13 watches on a connection of its own.
  const bool may_watch = is_first_ || watches_only_;
  return as_1_13 == store_op::watch_key && !may_watch ? store_op::erase : as_1_13;
}

ELASTIC_DECL bool tcp_store_session::execute_guarded(const store_request& request) {
  try {
    const bool is_done = execute(request);
    if (is_done && engine_->meter() != nullptr) engine_->meter()->count(request.op);
    return is_done;
  } catch (const error& refused) {
    fail(refused.what());
    return false;
  }
}

ELASTIC_DECL bool tcp_store_session::execute(const store_request& request) {
  const auto& texts = request.texts;
  switch (request.op) {
    case store_op::set: engine_->set(texts[0], texts[1]); return true;
    case store_op::get: return reply_value(texts[0]);
    case store_op::add: reply_number(engine_->add(texts[0], request.number)); return true;
    case store_op::compare_set:
      append_text(output_, engine_->compare_set(texts[0], texts[1], texts[2]));
      return true;
    case store_op::check:
      output_.push_back(engine_->check(texts) ? reply_ready : reply_not_ready);
      return true;
    case store_op::wait:
      drop_wait();
      begin_wait(engine_->wait(texts, listener_), texts);
      return true;
    case store_op::cancel_wait:
      drop_wait();
      output_.push_back(reply_wait_cancelled);
      return true;
    case store_op::num_keys: reply_number(engine_->num_keys()); return true;
    case store_op::erase: reply_number(engine_->erase(texts[0]) ? 1 : 0); return true;
    case store_op::append: engine_->append(texts[0], texts[1]); return true;
    case store_op::multi_get: return reply_values(texts);
    case store_op::multi_set:
      set_all(texts);
      return true;
    default: return execute_rare(request);
  }
}

ELASTIC_DECL void tcp_store_session::set_all(const std::vector<std::string_view>& texts) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  pairs.reserve(texts.size() / 2);
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) pairs.emplace_back(texts[i], texts[i + 1]);
  engine_->set_all(pairs);
}

ELASTIC_DECL bool tcp_store_session::execute_rare(const store_request& request) {
  const auto& texts = request.texts;
  switch (request.op) {
    case store_op::watch_key:
      if (watches_.size() >= limits::store_watches_per_client) {
        fail("watches too many keys");
        return false;
      }
      output_.push_back(reply_watching);
      watches_.push_back(engine_->watch(texts[0], listener_));
      watched_ += bytes_of(texts);
      return true;
    case store_op::ping:
      append_integer(output_, static_cast<std::uint32_t>(request.number));
      return true;
    case store_op::queue_push: engine_->queue_push(texts[0], texts[1]); return true;
    case store_op::queue_pop: reply_popped(texts[0]); return true;
    case store_op::queue_length: reply_number(engine_->queue_length(texts[0])); return true;
    case store_op::list_keys: return reply_keys();
    case store_op::barrier:
      drop_wait();
      begin_wait(engine_->barrier(texts[0], request.number, listener_), texts);
      return true;
    default: fail("unknown operation"); return false;
  }
}

ELASTIC_DECL void tcp_store_session::begin_wait(key_value_engine::wait_id wait,
                                                const std::vector<std::string_view>& keys) {
  wait_ = wait;
  if (wait != 0) waited_ = bytes_of(keys);
  if (wait == 0) output_.push_back(reply_stop_waiting);
}

ELASTIC_DECL bool tcp_store_session::reply_value(std::string_view key) {
  const bool exists =
      engine_->read(key, [this](std::string_view value) { append_text(output_, value); });
  if (exists) return true;
  if (is_legacy()) {
    fail("asked for a key that does not exist");
    return false;
  }
  append_text(output_, {});
  return true;
}

ELASTIC_DECL bool tcp_store_session::reply_values(const std::vector<std::string_view>& keys) {
  while (values_sent_ < keys.size()) {
    if (output_.size() > limits::store_reply_pause_bytes) {
      pause();
      return false;
    }
    if (!reply_value(keys[values_sent_])) return false;
    ++values_sent_;
  }
  values_sent_ = 0;
  return true;
}

ELASTIC_DECL void tcp_store_session::reply_popped(std::string_view key) {
  std::int64_t length = 0;
  const auto item = engine_->queue_pop(key, length);
  reply_number(length);
  if (item) append_text(output_, *item);
}

ELASTIC_DECL bool tcp_store_session::reply_keys() {
  const std::size_t start = output_.size();
  std::int64_t count = 0;
  bool fits = true;
  append_integer(output_, count);
  engine_->for_each_key([&](std::string_view key) {
    fits = fits && output_.size() - start + key.size() < limits::store_reply_bytes;
    if (!fits) return;
    append_text(output_, key);
    ++count;
  });
  if (!fits) {
    fail("asked for a list of keys that is too long");
    return false;
  }
  std::memcpy(output_.data() + start, &count, sizeof count);
  return true;
}

ELASTIC_DECL void tcp_store_session::release_large_input() {
  constexpr std::size_t input_kept = 1024;
  if (state_ == state::ended || (input_.empty() && input_.capacity() > input_kept)) input_ = {};
}

}  // namespace elastic::detail
