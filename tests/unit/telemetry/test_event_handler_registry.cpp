// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/telemetry/console_event_handler.hpp>
#include <elastic/telemetry/detail/event_handler_registry.hpp>
#include <support/catch.hpp>

#include <memory>
#include <string>

namespace {

class counting_event_handler final : public elastic::event_handler {
 public:
  void record(const elastic::event&) override { ++count; }
  int count = 0;
};

TEST_CASE("event handler registry: knows torchrun's names", "[telemetry]") {
  const elastic::detail::event_handler_registry registry;
  CHECK(registry.names() == "console, dynamic_rendezvous, null");
  CHECK_NOTHROW(registry.make("null")->record({}));
  CHECK_NOTHROW(registry.make("dynamic_rendezvous")->record({}));
  CHECK(std::dynamic_pointer_cast<elastic::console_event_handler>(registry.make("console")));
  CHECK(registry.contains("console"));
  CHECK_FALSE(registry.contains("Console"));
}

TEST_CASE("event handler registry: an unknown name is refused with those there are",
          "[telemetry]") {
  const elastic::detail::event_handler_registry registry;
  REQUIRE_THROWS_WITH(registry.make("scuba"),
                      "there is no event handler 'scuba'; there are: "
                      "console, dynamic_rendezvous, null");
}

TEST_CASE("event handler registry: takes handlers of one's own", "[telemetry]") {
  elastic::detail::event_handler_registry registry;
  const auto handler = std::make_shared<counting_event_handler>();
  registry.add("mine", [handler] { return handler; });
  registry.add("null", [handler] { return handler; });
  registry.make("mine")->record(elastic::event());
  registry.make("null")->record(elastic::event());
  CHECK(handler->count == 2);
}

}  // namespace
