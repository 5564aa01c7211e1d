// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Nodes on separate hosts: each is a network namespace, and one switch connects them all.

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/text.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace network_tests {

using elastic::test::has_text;
using elastic::test::leftovers;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// Hosts with two addresses each, 10.77.0.N and 10.78.0.N, on one switch that has a namespace of
/// its own. `why_not` is empty if they could be made.
class lan {
 public:
  explicit lan(int hosts) : hosts_(hosts), name_(fmt::format("elastic{}", ::getpid())) {
    ip("netns add " + name_);
    ip("-n " + name_ + " link add switch type bridge");
    ip("-n " + name_ + " link set switch up");
    for (int host = 1; host <= hosts; ++host) add(host);
  }
  lan(const lan&) = delete;
  lan& operator=(const lan&) = delete;
  ~lan() {
    why_not = "";
    for (int host = 1; host <= hosts_; ++host) ip("netns del " + space(host));
    ip("netns del " + name_);
  }

  /// Takes a host's cable out of the switch, or puts it in again.
  void cut(int host) { ip(fmt::format("-n {} link set port{} down", name_, host)); }
  void mend(int host) { ip(fmt::format("-n {} link set port{} up", name_, host)); }

  /// From now on a host's packets are late, and some are lost. Result: whether the kernel can.
  bool disturb(int host, const std::string& how) const {
    const words command{"/usr/sbin/tc", "-n",    space(host), "qdisc", "add",  "dev", "cable",
                        "root",         "netem", "delay",     "20ms",  "loss", how};
    return run_program(command).code == 0;
  }

  /// A command as it is run on a host.
  words on(int host, const words& command) const {
    const std::string enter = "PATH=$PATH:/usr/sbin:/sbin; exec ip netns exec \"$@\"";
    words full_command{"/bin/sh", "-c", enter, "sh", space(host)};
    full_command.insert(full_command.end(), command.begin(), command.end());
    return full_command;
  }

  std::string why_not;

 private:
  std::string space(int host) const { return fmt::format("{}h{}", name_, host); }

  void add(int host) {
    ip("netns add " + space(host));
    ip(fmt::format("link add cable netns {} type veth peer name port{} netns {}", space(host), host,
                   name_));
    ip(fmt::format("-n {0} link set port{1} master switch", name_, host));
    ip(fmt::format("-n {0} link set port{1} up", name_, host));
    const std::string here = "-n " + space(host);
    ip(here + " link set lo up");
    ip(here + fmt::format(" addr add 10.77.0.{}/24 dev cable", host));
    ip(here + fmt::format(" addr add 10.78.0.{}/24 dev cable", host));
    ip(here + " link set cable up");
  }

  void ip(const std::string& arguments) {
    if (!why_not.empty()) return;
    const std::string command = "PATH=$PATH:/usr/sbin:/sbin; ip " + arguments;
    const auto result = run_program({"/bin/sh", "-c", command});
    if (result.code != 0) why_not = "ip " + arguments + ": " + result.err;
  }

  int hosts_;
  std::string name_;
};

/// A job with a node on each host; the first hosts the rendezvous. Workers say which place they
/// have and where they are to meet, and then do what the test says.
class job {
 public:
  job(const lan& network, std::string sizes) : network_(network), sizes_(std::move(sizes)) {}
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() { CHECK(remains_.processes().empty()); }

  std::string endpoint = "10.77.0.1:29411";
  std::string work = "exec sleep 600";
  words options;

  std::unique_ptr<running_program> start(int host) {
    words command{ELASTIC_ELASTICRUN,
                  "--nnodes",
                  sizes_,
                  "--rdzv-backend",
                  "c10d",
                  "--rdzv-endpoint",
                  endpoint,
                  "--rdzv-id",
                  "job",
                  "--rdzv-conf",
                  "last_call_timeout=0.5"};
    command.insert(command.end(), options.begin(), options.end());
    const std::string says = "echo \"$RANK/$WORLD_SIZE at $MASTER_ADDR\"; ";
    for (const std::string& word :
         {std::string("--no-python"), std::string("bash"), std::string("-c"), says + work}) {
      command.push_back(word);
    }
    const std::map<std::string, std::string> variables{{remains_.name, remains_.value}};
    return std::make_unique<running_program>(network_.on(host, command), variables);
  }

 private:
  const lan& network_;
  std::string sizes_;
  leftovers remains_;
};

#define NEEDS(network)                                                               \
  if (!(network).why_not.empty()) {                                                  \
    return elastic::test::skip("it takes network namespaces: " + (network).why_not); \
  }

TEST_CASE("network: nodes on hosts of their own meet, and their workers reach each other",
          "[integration][network]") {
  lan network(3);
  NEEDS(network)
  job trio(network, "3");
  // To the store at the master's address, from each host.
  trio.work = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo reached";
  std::set<std::string> masters;
  std::vector<std::unique_ptr<running_program>> nodes;
  for (int host = 3; host >= 1; --host) nodes.push_back(trio.start(host));
  for (const auto& node : nodes) {
    const program_result result = node->wait();
    CHECK(result.code == 0);
    const std::string place = result.out.substr(0, result.out.find('\n'));
    CHECK(has_text(place, "/3 at 10.77.0."));
    masters.insert(place.substr(place.find(" at ")));
    CHECK(has_text(result.out, "reached\n"));
  }
  CHECK(masters.size() == 1);
}

TEST_CASE("network: the workers' address is the one by which the nodes met, or the one given",
          "[integration][network]") {
  lan network(2);
  NEEDS(network)
  for (const bool is_given : {false, true}) {
    CAPTURE(is_given);
    job pair(network, "2");
    pair.endpoint = "10.78.0.1:29411";
    if (is_given) pair.options = {"--local-addr", "10.77.0.1"};
    pair.work = "exit 0";
    const auto host = pair.start(1);
    const auto other = pair.start(2);
    const std::string address = is_given ? "10.77.0.1" : "10.78.0.1";
    for (const auto* node : {&host, &other}) {
      const program_result result = (*node)->wait();
      CHECK(result.code == 0);
      CHECK(has_text(result.out, "/2 at " + address + "\n"));
    }
  }
}

TEST_CASE("network: ports are open at the address by which a host is known, and at loopback",
          "[integration][network][io]") {
  lan network(3);
  NEEDS(network)
  const std::string setting = GENERATE(as<std::string>(), "own", "all");
  CAPTURE(setting);
  job pair(network, "2");
  pair.options = {"--rdzv-conf", "last_call_timeout=0.5,listen=" + setting};
  pair.work = "echo \"store $MASTER_ADDR $MASTER_PORT\"; exec sleep 600";
  const auto host = pair.start(1);
  const auto other = pair.start(2);
  for (const auto* node : {&host, &other}) (*node)->await_out("store 10.77.0.", 1);
  const std::string& out = host->out();
  const std::string at = out.substr(out.find("store 10.77.0.") + 14);
  const int master = at[0] - '0';
  const std::string port = at.substr(2, at.find('\n') - 2);
  const auto is_open = [&](int from, const std::string& address, const std::string& number) {
    const words command = {"bash", "-c", "exec 3<>/dev/tcp/" + address + "/" + number};
    return elastic::test::run_program(network.on(from, command)).code == 0;
  };
  const bool is_everywhere = setting == "all";
  CHECK(is_open(3, "10.77.0.1", "29411"));
  CHECK(is_open(3, "10.78.0.1", "29411") == is_everywhere);
  CHECK(is_open(1, "127.0.0.1", "29411"));
  CHECK(is_open(1, "localhost", "29411"));
  CHECK(is_open(3, fmt::format("10.77.0.{}", master), port));
  CHECK(is_open(3, fmt::format("10.78.0.{}", master), port) == is_everywhere);
  CHECK(is_open(master, "127.0.0.1", port));
  for (const auto* node : {&other, &host}) {
    (*node)->signal(SIGTERM);
    (*node)->wait();
  }
}

TEST_CASE("network: with a secret the workers' store takes the round's hosts alone",
          "[integration][network][io]") {
  lan network(4);
  NEEDS(network)
  const elastic::test::temporary_directory folder;
  const std::string secret = folder / "secret";
  std::ofstream(secret) << "0123456789abcdef0123456789abcdef";
  REQUIRE(::chmod(secret.c_str(), 0600) == 0);
  // A worker's connection, which is of use once the server has answered it (PyTorch's validate
  // and ping).
  const std::string ping = R"('\0\316\367\205\074\015\1\1\1\1')";
  const std::string ask = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && printf " + ping +
                          " >&3 && [ $(head -c 4 <&3 | wc -c) = 4 ] && echo reached";
  job pair(network, "2");
  pair.options = {"--rdzv-conf",
                  "last_call_timeout=0.5,worker_networks=10.77.0.4/32,secret_file=" + secret};
  pair.work = "echo \"store $MASTER_ADDR $MASTER_PORT\"; " + ask + "; exec sleep 600";
  const auto host = pair.start(1);
  const auto other = pair.start(2);
  for (const auto* node : {&host, &other}) {
    (*node)->await_out("/2 at 10.77.0.", 1);
    (*node)->await_out("reached\n", 1);
  }
  const std::string& out = host->out();
  const std::string at = out.substr(out.find("store ") + 6);
  const std::string address = at.substr(0, at.find(' '));
  const std::string port = at.substr(at.find(' ') + 1, at.find('\n') - at.find(' ') - 1);
  const auto asks = [&](int from) {
    const words command = {"bash", "-c",
                           "MASTER_ADDR=" + address + " MASTER_PORT=" + port + "; " + ask};
    return has_text(elastic::test::run_program(network.on(from, command)).out, "reached");
  };
  // A host of no node, though it reaches the port; one that a setting names.
  CHECK_FALSE(asks(3));
  CHECK_FALSE(asks(3));
  CHECK(asks(4));
  CHECK(asks(2));
  const auto refused = [](const running_program& node) {
    int count = 0;
    for (auto i = node.err().find("turned away 10.77.0.3"); i != std::string::npos;
         i = node.err().find("turned away 10.77.0.3", i + 1)) {
      ++count;
    }
    return count;
  };
  for (const auto* node : {&other, &host}) {
    (*node)->signal(SIGTERM);
    (*node)->wait();
  }
  CHECK(refused(*host) + refused(*other) == 1);
}

TEST_CASE("network: the others go on without a node whose cable is cut, which stops its workers",
          "[integration][network]") {
  lan network(3);
  NEEDS(network)
  job trio(network, "2:3");
  // All are there before the first round is complete; none that is only kept waiting is lost.
  trio.options = {"--rdzv-conf",
                  "last_call_timeout=60,keep_alive_interval=2,keep_alive_max_attempt=3,"
                  "host_grace=5"};
  const auto first = trio.start(1);
  const auto second = trio.start(2);
  const auto third = trio.start(3);
  for (const auto* node : {&first, &second, &third}) (*node)->await_out("/3 at", 1);
  network.cut(3);
  first->await_out("/2 at", 1);
  second->await_out("/2 at", 1);
  // It has lost the others: its workers are stopped, and it looks for the rendezvous in vain.
  const program_result lost = third->wait();
  CHECK(lost.code == 1);
  CHECK(has_text(lost.err, "10.77.0.1:29411"));
  network.mend(3);
  const auto again = trio.start(3);
  for (const auto* node : {&first, &second}) (*node)->await_out("/3 at", 2);
  again->await_out("/3 at", 1);
  for (const auto* node : {&again, &second, &first}) {
    (*node)->signal(SIGTERM);
    CHECK((*node)->wait().code == 128 + SIGTERM);
  }
}

TEST_CASE("network: a cable that is out for a moment costs nothing", "[integration][network]") {
  lan network(2);
  NEEDS(network)
  job pair(network, "2");
  pair.options = {"--rdzv-conf", "keep_alive_interval=5,keep_alive_max_attempt=3"};
  pair.work = "for i in 1 2 3 4 5 6; do sleep 0.25; done";
  const auto host = pair.start(1);
  const auto other = pair.start(2);
  host->await_out("/2 at", 1);
  other->await_out("/2 at", 1);
  network.cut(2);
  network.mend(2);
  for (const auto* node : {&host, &other}) {
    const program_result result = (*node)->wait();
    CHECK(result.code == 0);
    CHECK(result.err.find("restarting") == std::string::npos);
  }
}

TEST_CASE("network: a job runs if packets are late and lost", "[integration][network]") {
  lan network(2);
  NEEDS(network)
  if (!network.disturb(1, "5%") || !network.disturb(2, "5%")) {
    return elastic::test::skip("this kernel cannot lose packets (tc qdisc netem)");
  }
  job pair(network, "2");
  // A node is not taken for lost because a packet was lost a few times.
  pair.options = {"--max-restarts", "1", "--rdzv-conf",
                  "last_call_timeout=0.5,keep_alive_interval=5,keep_alive_max_attempt=3"};
  pair.work = "[ $TORCHELASTIC_RESTART_COUNT$RANK = 01 ] && exit 3; sleep 2";
  const auto host = pair.start(1);
  const auto other = pair.start(2);
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
}

// ---- a host without IPv4 ------------------------------------------------------------------------

/// A command as it is run on a host whose only address is ::1.
words on_ipv6_alone(const words& command) {
  const std::string enter =
      "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && ip address del 127.0.0.1/8 dev lo && "
      "exec \"$@\"";
  words full_command{"unshare", "--net", "/bin/sh", "-c", enter, "sh"};
  full_command.insert(full_command.end(), command.begin(), command.end());
  return full_command;
}

TEST_CASE("network: the workers of one node reach each other without IPv4",
          "[integration][network]") {
  if (const auto result = run_program(on_ipv6_alone({"true"})); result.code != 0) {
    return elastic::test::skip("it takes a network namespace with IPv6: " + result.err);
  }
  const words meetings[] = {
      {"--standalone"},
      {"--nnodes", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "[::1]:29411"},
      {"--nnodes", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "[::1]:29411", "--rdzv-conf",
       "dialect=2.6"},
      {"--nnodes", "1", "--rdzv-endpoint", "[::1]:29411"},
      {"--nnodes", "1", "--master-addr", "::1"},
  };
  for (const words& meeting : meetings) {
    CAPTURE(meeting);
    const leftovers remains;
    words command{ELASTIC_ELASTICRUN, "--nproc-per-node", "2"};
    command.insert(command.end(), meeting.begin(), meeting.end());
    command.insert(command.end(),
                   {"--no-python", "bash", "-c",
                    "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo \"reached $MASTER_ADDR\""});
    const program_result result =
        run_program(on_ipv6_alone(command), {{remains.name, remains.value}});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(elastic::test::occurrences(result.out, "reached ::1\n") == 2);
    CHECK(remains.processes().empty());
  }
}

TEST_CASE("network: two nodes of one host meet without IPv4", "[integration][network]") {
  if (const auto result = run_program(on_ipv6_alone({"true"})); result.code != 0) {
    return elastic::test::skip("it takes a network namespace with IPv6: " + result.err);
  }
  const leftovers remains;
  const std::string node =
      std::string("'") + ELASTIC_ELASTICRUN +
      "' --nnodes 2 --rdzv-backend c10d --rdzv-endpoint [::1]:29411 --rdzv-id job --no-python bash "
      "-c 'exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo \"reached $MASTER_ADDR\"'";
  const program_result result =
      run_program(on_ipv6_alone({"bash", "-c", node + " & " + node + "; wait $!"}),
                  {{remains.name, remains.value}});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(elastic::test::occurrences(result.out, "reached ::1\n") == 2);
  CHECK(remains.processes().empty());
}

}  // namespace network_tests

}  // namespace
