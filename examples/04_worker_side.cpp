// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The worker's side: a data-parallel trainer that gets its rank from its agent, averages its
// gradients through the agent's store, resumes from its checkpoint and reports the reason of a
// failure. Started by hand, it trains as a single process. A worker can be killed in epoch 2:
//   elasticrun --standalone --nproc-per-node 2 --max-restarts 2 --no-python
//       build/release/examples/04_worker_side --checkpoint /tmp/model --kill-rank 1
// Each step takes the same global batch however many workers share it, so the parameters after an
// epoch are the same (up to rounding) in every run, interrupted or not.

#include <elastic/base/asio.hpp>
#include <elastic/worker.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

constexpr int features = 8, global_batch = 24, steps_per_epoch = 10, epochs = 5;
using numbers = std::vector<double>;

std::map<std::string, std::string> parse(int count, char** words) {
  std::map<std::string, std::string> chosen{{"--checkpoint", ""}, {"--kill-rank", "-1"}};
  for (int at = 1; at < count; at += 2) {
    const auto option = chosen.find(words[at]);
    if (option == chosen.end() || at + 1 == count) throw std::invalid_argument(words[at]);
    option->second = words[at + 1];
  }
  return chosen;
}

// Sample `index` of data that is the same in every process: 8 inputs, a 1 for the bias, a target.
numbers sample(int index) {
  std::mt19937 random(static_cast<unsigned>(index));
  numbers row(features + 2, 1.0);
  for (int at = 0; at < features; ++at) row[at] = random() / 2147483648.0 - 1;
  row.back() = std::tanh(row[0] - 2 * row[1] + 0.5 * row[2]) + 0.1 * row[3];
  return row;
}

// The gradient of the squared error of a linear model over some samples; the loss comes last.
numbers gradient(const numbers& model, int begin, int count) {
  numbers sum(model.size() + 1, 0.0);
  for (int index = begin; index < begin + count; ++index) {
    const numbers row = sample(index);
    double error = -row.back();
    for (std::size_t at = 0; at < model.size(); ++at) error += model[at] * row[at];
    for (std::size_t at = 0; at < model.size(); ++at) sum[at] += 2 * error * row[at] / count;
    sum.back() += error * error / count;
  }
  return sum;
}

// The average over all workers, added up in the order of ranks: the same bits on each of them.
elastic::task<numbers> average(elastic::store* shared, int rank, int world, int step, numbers own) {
  if (!shared) co_return own;
  const auto key = [](int at, int of) { return fmt::format("step_{}/rank_{}", at, of); };
  std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double));
  co_await shared->set(key(step, rank), bytes);
  numbers sum(own.size(), 0.0);
  for (int peer = 0; peer < world; ++peer) {
    bytes = co_await shared->get(key(step, peer));  // waits for the key
    if (bytes.size() != own.size() * sizeof(double)) throw std::runtime_error("bad gradient");
    std::memcpy(own.data(), bytes.data(), bytes.size());
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += own[at] / world;
  }
  co_await shared->erase(key(step - 1, rank));  // whoever published this step has read it
  co_return sum;
}

double checksum(const numbers& model) {
  double sum = 0;
  for (int at = 0; at <= features; ++at) sum += model[at] * std::cos(at);
  return sum;
}

// Replaces the checkpoint atomically: a reader finds the old one or the complete new one.
void save(const std::string& path, int epoch, const numbers& model) {
  std::ofstream out(path + ".part");
  out << epoch;
  for (const double value : model) out << fmt::format(" {}", value);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
  std::filesystem::rename(path + ".part", path);
}

// The epoch to begin with: 0 and an unchanged model if there is no checkpoint.
int load(const std::string& path, numbers& model) {
  int epoch = -1;
  std::ifstream in(path);
  in >> epoch;
  for (double& value : model) in >> value;
  return epoch + 1;
}

elastic::task<void> train(std::map<std::string, std::string> chosen) {
  elastic::worker_context me;
  std::shared_ptr<elastic::store> shared;
  if (elastic::is_worker()) me = elastic::this_worker();
  if (me.world_size > 1) shared = co_await elastic::connect_worker_store(me);
  if (global_batch % me.world_size != 0) throw std::invalid_argument("24 does not divide");
  const int share = global_batch / me.world_size;
  const auto say = [&](const std::string& text) {
    std::cout << fmt::format("[rank {}] {}\n", me.rank, text) << std::flush;
  };
  numbers model(features + 1, 0.0);
  const std::string checkpoint = chosen["--checkpoint"];
  const int killed_rank = std::stoi(chosen["--kill-rank"]);
  const int first_epoch = load(checkpoint, model);
  if (first_epoch > 0) say(fmt::format("resuming from epoch {}", first_epoch));
  for (int epoch = first_epoch; epoch < epochs; ++epoch) {
    double loss = 0;
    for (int step = 0; step < steps_per_epoch; ++step) {
      if (me.rank == killed_rank && me.restart_count == 0 && epoch == 2 && step == 5) {
        say(fmt::format("killing itself with SIGKILL in the middle of epoch {}", epoch));
        std::raise(SIGKILL);
      }
      numbers own = gradient(model, step * global_batch + me.rank * share, share);
      const numbers mean = co_await average(shared.get(), me.rank, me.world_size,
                                            epoch * steps_per_epoch + step, std::move(own));
      for (std::size_t at = 0; at < model.size(); ++at) model[at] -= 0.1 * mean[at];
      loss += mean.back() / steps_per_epoch;
    }
    say(fmt::format("epoch {}: loss {:.6f}, checksum {:.12f}", epoch, loss, checksum(model)));
    if (me.rank == 0 && !checkpoint.empty()) save(checkpoint, epoch, model);
  }
  say(fmt::format("finished: checksum {:.12f}", checksum(model)));
}

int main(int count, char** words) {
  return elastic::record([&] {
    asio::io_context context;
    asio::co_spawn(context, train(parse(count, words)), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    context.run();
  });
}

// Prints:
// [rank 0] epoch 0: loss ..., checksum ...
// [rank 0] finished: checksum ...
