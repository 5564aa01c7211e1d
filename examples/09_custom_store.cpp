// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A custom store. Agents exchange everything through a store, so one on top of your own database
// lets them meet there. This one counts the operations of another store.
//
//   build/release/examples/09_custom_store
//
// Three nodes, here three coroutines, agree on their ranks through it and wait for each other at
// the end.

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace elastic;

// [store]
class counting_store final : public store {
 public:
  explicit counting_store(std::shared_ptr<store> inner) : inner_(std::move(inner)) {}
  int changes() const { return changes_; }
  int reads() const { return reads_; }

  task<void> set(std::string key, std::string value) override {
    ++changes_;
    return inner_->set(std::move(key), std::move(value));
  }
  task<std::string> get(std::string key) override {
    ++reads_;
    return inner_->get(std::move(key));
  }
  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    ++changes_;
    return inner_->add(std::move(key), delta);
  }
  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    ++changes_;
    return inner_->compare_set(std::move(key), std::move(expected), std::move(desired));
  }
  task<void> wait(key_list keys) override {
    ++reads_;
    return inner_->wait(std::move(keys));
  }
  task<bool> check(key_list keys) override {
    ++reads_;
    return inner_->check(std::move(keys));
  }
  task<bool> erase(std::string key) override {
    ++changes_;
    return inner_->erase(std::move(key));
  }
  task<std::int64_t> num_keys() override {
    ++reads_;
    return inner_->num_keys();
  }
  task<void> append(std::string key, std::string value) override {
    ++changes_;
    return inner_->append(std::move(key), std::move(value));
  }
  task<std::vector<std::string>> multi_get(key_list keys) override {
    ++reads_;
    return inner_->multi_get(std::move(keys));
  }
  task<void> multi_set(key_value_list pairs) override {
    ++changes_;
    return inner_->multi_set(std::move(pairs));
  }

 private:
  std::shared_ptr<store> inner_;
  int changes_ = 0;
  int reads_ = 0;
};
// [/store]

// [steps]
task<void> node(std::shared_ptr<store> agents, int group_rank, int workers) {
  const role_info mine{"trainer", workers};
  const assigned_ranks ranks = co_await exchange_ranks(agents, mine, group_rank, 3);
  std::printf("node %d has ranks %d to %d of %d\n", group_rank, ranks.base_rank,
              ranks.base_rank + workers - 1, ranks.world_size);
  // Here its workers would run.
  system_time time;
  const time_point deadline = time.now() + std::chrono::minutes(5);
  const bool all_came = co_await with_deadline(time, deadline, exit_barrier(agents, 3));
  if (!all_came) std::printf("node %d waited in vain\n", group_rank);
}
// [/steps]

int main() {
  const auto counting = std::make_shared<counting_store>(std::make_shared<memory_store>());
  asio::io_context context;
  std::vector<std::future<void>> nodes;
  for (int rank : {2, 1, 0}) {
    nodes.push_back(asio::co_spawn(context, node(counting, rank, rank + 1), asio::use_future));
  }
  context.run();
  for (std::future<void>& node_end : nodes) node_end.get();
  std::printf("%d changes and %d reads\n", counting->changes(), counting->reads());
}

// Prints:
// node ... has ranks ... of 6
// node ... has ranks ... of 6
// node ... has ranks ... of 6
// 8 changes and 6 reads
