// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/leased_keys.hpp>
#include <elastic/store/store.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::test {

/// Keys in memory that expire in virtual time, like leased keys of etcd.
class leased_table {
 public:
  explicit leased_table(manual_time& time) : time_(time), changed_(time.context().get_executor()) {}

  versioned_keys::entry get(const std::string& key) {
    end_old();
    versioned_keys::entry current;
    const auto found = entries_.find(key);
    const bool is_there = found != entries_.end();
    if (is_there) current.value = found->second.value;
    current.version = fmt::format("{}:{}", is_there ? found->second.index : 0, index_);
    return current;
  }

  bool put(const std::string& key, std::string value, const std::string& version,
           std::chrono::seconds ttl) {
    if (!version.empty() && index_of(get(key).version) != index_of(version)) return false;
    entries_[key] = {std::move(value), 0, end_of(ttl)};
    entries_[key].index = note();
    return true;
  }

  bool erase(const std::string& key, const std::string& version) {
    const versioned_keys::entry current = get(key);
    if (!current.value || (!version.empty() && index_of(current.version) != index_of(version))) {
      return false;
    }
    entries_.erase(key);
    note();
    return true;
  }

  void refresh(const std::string& key, std::chrono::seconds ttl) {
    if (!get(key).value) {
      put(key, "", "", ttl);
    } else {
      entries_[key].end = end_of(ttl);
    }
  }

  std::set<std::string> names_in(const std::string& directory) {
    end_old();
    std::set<std::string> names;
    for (const auto& [key, each] : entries_) {
      if (key.rfind(directory + "/", 0) == 0) names.insert(key.substr(directory.size() + 1));
    }
    return names;
  }

  task<void> wait_for_change(std::string version) {
    const std::int64_t index = std::stoll(version.substr(version.find(':') + 1));
    for (;;) {
      end_old();
      if (index_ > index) co_return;
      time_point next = time_point::max();
      for (const auto& [key, each] : entries_) next = std::min(next, each.end);
      task<void> waiting = changed_.wait();
      co_await with_deadline(time_, next, std::move(waiting));
    }
  }

 private:
  struct entry {
    std::string value;
    std::int64_t index = 0;
    time_point end = time_point::max();
  };

  static std::string index_of(const std::string& version) {
    return version.substr(0, version.find(':'));
  }

  time_point end_of(std::chrono::seconds ttl) const {
    return ttl.count() == 0 ? time_point::max() : time_.now() + ttl;
  }

  std::int64_t note() {
    changed_.set();
    changed_.reset();
    return ++index_;
  }

  void end_old() {
    const time_point now = time_.now();
    for (auto each = entries_.begin(); each != entries_.end();) {
      const bool is_old = each->second.end <= now;
      each = is_old ? entries_.erase(each) : std::next(each);
      if (is_old) note();
    }
  }

  manual_time& time_;
  event_flag changed_;
  std::int64_t index_ = 0;
  std::map<std::string, entry> entries_;
};

/// One node's connection to the table, which can be cut.
class leased_table_keys final : public detail::leased_keys {
 public:
  explicit leased_table_keys(std::shared_ptr<leased_table> table) : table_(std::move(table)) {}

  /// Makes the table unreachable from now on.
  void cut() { is_cut_ = true; }

  std::string place_of(const std::string& key) const override { return "the key '" + key + "'"; }

  task<versioned_keys::entry> get(std::string key) override {
    check();
    co_return table_->get(key);
  }
  task<bool> put(std::string key, std::string value, std::string version) override {
    const std::chrono::seconds for_ever(0);
    return put(std::move(key), std::move(value), std::move(version), for_ever);
  }
  task<bool> put(std::string key, std::string value, std::string version,
                 std::chrono::seconds ttl) override {
    check();
    co_return table_->put(key, std::move(value), version, ttl);
  }
  task<void> put(std::string key, std::string value) override {
    check();
    table_->put(key, std::move(value), "", {});
    co_return;
  }
  task<bool> erase(std::string key) override {
    check();
    co_return table_->erase(key, "");
  }
  task<bool> erase(std::string key, std::string version) override {
    check();
    co_return table_->erase(key, version);
  }
  task<void> refresh(std::string key, std::chrono::seconds ttl) override {
    check();
    table_->refresh(key, ttl);
    co_return;
  }
  task<void> make_directory(std::string) override {
    check();
    co_return;
  }
  task<std::set<std::string>> names_in(std::string directory) override {
    check();
    co_return table_->names_in(directory);
  }
  task<std::int64_t> count() override { co_return 0; }
  task<void> wait_for_change(std::string, std::string version) override {
    return wait_for_any_change(std::move(version));
  }
  task<void> wait_for_any_change(std::string version) override {
    check();
    return table_->wait_for_change(std::move(version));
  }

 private:
  void check() const {
    if (is_cut_) throw error(errc::connection_failed, "the table is cut off");
  }

  std::shared_ptr<leased_table> table_;
  bool is_cut_ = false;
};

}  // namespace elastic::test
