// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Every definition of the library, for those who compile it once without CMake: include this in one
// translation unit, and define ELASTIC_SEPARATE_COMPILATION in all. `elastic::compiled` does the
// same in several. Made by scripts/amalgamate.py: do not edit it.
//
// One unit with all modules takes much memory. Four units that define ELASTIC_SOURCE_PART from 1 to
// 4 before they include this header hold the core, and each opt-in module whose ELASTIC_WITH_<NAME>
// is defined in all four.

#include <elastic/base/detail/source_part.hpp>

#if defined(__GNUC__) && !defined(__clang__)
// g++ takes the lambdas in a file of definitions for those of a header, because it is included.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
#if !defined(ELASTIC_WITH_TESTING) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_TESTING 1
#endif
#if !defined(ELASTIC_WITH_CLI) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_CLI 1
#endif
#if !defined(ELASTIC_WITH_WIRE) && (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_WIRE 1
#endif
#if !defined(ELASTIC_WITH_DIAGNOSIS) &&                            \
    (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_CLI) || \
     defined(ELASTIC_WITH_INSPECTION))
#define ELASTIC_WITH_DIAGNOSIS 1
#endif
#if !defined(ELASTIC_WITH_STATUS) && (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_STATUS 1
#endif
#if !defined(ELASTIC_WITH_ROLES) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_ROLES 1
#endif
#if !defined(ELASTIC_WITH_FUNCTIONS) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_FUNCTIONS 1
#endif
#if !defined(ELASTIC_WITH_PYTHON) &&                                     \
    (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_DIAGNOSIS) || \
     defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_PYTHON 1
#endif
#if !defined(ELASTIC_WITH_FILE) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_FILE 1
#endif
#if !defined(ELASTIC_WITH_ETCD) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_ETCD 1
#endif
#if !defined(ELASTIC_WITH_TORCH) && (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_ETCD))
#define ELASTIC_WITH_TORCH 1
#endif
#if !defined(ELASTIC_WITH_NODES) &&                                                                \
    (!defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_TORCH) || defined(ELASTIC_WITH_ETCD) || \
     defined(ELASTIC_WITH_FILE) || defined(ELASTIC_WITH_ROLES))
#define ELASTIC_WITH_NODES 1
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 1
#include <elastic/agent/detail/impl/agent_journal.ipp>
#include <elastic/agent/detail/impl/agent_parts.ipp>
#include <elastic/agent/detail/impl/agent_run.ipp>
#include <elastic/agent/detail/impl/agent_telemetry.ipp>
#include <elastic/agent/detail/impl/arrivals.ipp>
#include <elastic/agent/detail/impl/async_run.ipp>
#include <elastic/agent/detail/impl/default_logs_specs.ipp>
#include <elastic/agent/detail/impl/epoch_exchange.ipp>
#include <elastic/agent/detail/impl/epoch_record.ipp>
#include <elastic/agent/detail/impl/hang_hooks.ipp>
#include <elastic/agent/detail/impl/job_pause.ipp>
#include <elastic/agent/detail/impl/line_template.ipp>
#include <elastic/agent/detail/impl/node_checker.ipp>
#include <elastic/agent/detail/impl/process_builder.ipp>
#include <elastic/agent/detail/impl/rejoin_machine.ipp>
#include <elastic/agent/detail/impl/request_inbox.ipp>
#include <elastic/agent/detail/impl/round_agreement.ipp>
#include <elastic/agent/detail/impl/run_files.ipp>
#include <elastic/agent/detail/impl/survivors.ipp>
#include <elastic/agent/detail/impl/worker_leftovers.ipp>
#include <elastic/agent/detail/impl/worker_orders.ipp>
#include <elastic/agent/detail/impl/worker_run.ipp>
#include <elastic/agent/detail/impl/worker_stop.ipp>
#include <elastic/agent/detail/impl/worker_watch.ipp>
#include <elastic/agent/impl/agent_part.ipp>
#include <elastic/agent/impl/agent_services.ipp>
#include <elastic/agent/impl/failure_report.ipp>
#include <elastic/agent/impl/failure_report_json.ipp>
#include <elastic/agent/impl/local_agent.ipp>
#include <elastic/agent/impl/log_layout.ipp>
#include <elastic/agent/impl/log_options.ipp>
#include <elastic/agent/impl/logs_specs_registry.ipp>
#include <elastic/agent/impl/rank_assignment.ipp>
#include <elastic/agent/impl/rank_exchange.ipp>
#include <elastic/agent/impl/restart_ledger.ipp>
#include <elastic/agent/impl/restart_terms.ipp>
#include <elastic/agent/impl/run_result.ipp>
#include <elastic/agent/impl/worker_group.ipp>
#include <elastic/agent/impl/worker_spec.ipp>
#include <elastic/agent/impl/worker_starts.ipp>
#include <elastic/telemetry/detail/impl/event_handler_registry.ipp>
#include <elastic/telemetry/detail/impl/output_tails.ipp>
#include <elastic/telemetry/detail/impl/record_writer.ipp>
#include <elastic/telemetry/impl/console_event_handler.ipp>
#include <elastic/telemetry/impl/console_metric_handler.ipp>
#include <elastic/telemetry/impl/job_journal.ipp>
#include <elastic/telemetry/impl/journal_file.ipp>
#include <elastic/telemetry/impl/journal_record.ipp>
#if defined(ELASTIC_WITH_STATUS)
#include <elastic/status/detail/impl/command_request.ipp>
#include <elastic/status/detail/impl/event_sentence.ipp>
#include <elastic/status/detail/impl/job_document.ipp>
#include <elastic/status/detail/impl/job_metrics.ipp>
#include <elastic/status/detail/impl/job_state.ipp>
#include <elastic/status/detail/impl/journal_reader.ipp>
#include <elastic/status/detail/impl/node_report.ipp>
#include <elastic/status/detail/impl/report_feed.ipp>
#include <elastic/status/detail/impl/roles_overview.ipp>
#include <elastic/status/detail/impl/status_answer.ipp>
#include <elastic/status/detail/impl/status_gate.ipp>
#include <elastic/status/detail/impl/trace_events.ipp>
#include <elastic/status/detail/impl/viewed_job.ipp>
#include <elastic/status/impl/add_monitor.ipp>
#include <elastic/status/impl/add_status.ipp>
#include <elastic/status/impl/job_monitor.ipp>
#include <elastic/status/impl/roles_monitor.ipp>
#include <elastic/status/impl/status_address.ipp>
#include <elastic/status/impl/status_server.ipp>
#include <elastic/status/impl/trace_file.ipp>
#endif
#if defined(ELASTIC_WITH_WIRE)
#include <elastic/wire/detail/impl/pmi_node.ipp>
#include <elastic/wire/detail/impl/pmi_request.ipp>
#include <elastic/wire/detail/impl/pmi_session.ipp>
#include <elastic/wire/detail/impl/wire_part.ipp>
#include <elastic/wire/detail/impl/wire_place.ipp>
#include <elastic/wire/impl/add_wire.ipp>
#include <elastic/wire/impl/wire_terms.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 2
#include <elastic/rendezvous/detail/impl/fixed_membership.ipp>
#include <elastic/rendezvous/detail/impl/gather.ipp>
#include <elastic/rendezvous/detail/impl/listen_point.ipp>
#include <elastic/rendezvous/detail/impl/master_keys.ipp>
#include <elastic/rendezvous/detail/impl/name_wait.ipp>
#include <elastic/rendezvous/detail/impl/node_id.ipp>
#include <elastic/rendezvous/detail/impl/reachable_address.ipp>
#include <elastic/rendezvous/detail/impl/solo_rendezvous.ipp>
#include <elastic/rendezvous/detail/impl/stored_rendezvous.ipp>
#include <elastic/rendezvous/detail/impl/worker_store_host.ipp>
#include <elastic/rendezvous/impl/exit_barrier.ipp>
#include <elastic/rendezvous/impl/rendezvous_factory.ipp>
#include <elastic/rendezvous/impl/rendezvous_handler.ipp>
#include <elastic/rendezvous/impl/rendezvous_parameters.ipp>
#include <elastic/rendezvous/impl/rendezvous_registry.ipp>
#include <elastic/rendezvous/impl/rendezvous_settings.ipp>
#include <elastic/rendezvous/impl/worker_store.ipp>
#if defined(ELASTIC_WITH_NODES)
#include <elastic/nodes/detail/impl/c10d_rendezvous.ipp>
#include <elastic/nodes/detail/impl/candidate.ipp>
#include <elastic/nodes/detail/impl/candidate_addresses.ipp>
#include <elastic/nodes/detail/impl/candidate_message.ipp>
#include <elastic/nodes/detail/impl/candidate_source.ipp>
#include <elastic/nodes/detail/impl/exclusion_list.ipp>
#include <elastic/nodes/detail/impl/job_file_fingerprint.ipp>
#include <elastic/nodes/detail/impl/job_file_record.ipp>
#include <elastic/nodes/detail/impl/job_file_registry.ipp>
#include <elastic/nodes/detail/impl/leader_connector.ipp>
#include <elastic/nodes/detail/impl/leader_network.ipp>
#include <elastic/nodes/detail/impl/leader_record.ipp>
#include <elastic/nodes/detail/impl/leader_registry.ipp>
#include <elastic/nodes/detail/impl/leader_visitor.ipp>
#include <elastic/nodes/detail/impl/message_rows.ipp>
#include <elastic/nodes/detail/impl/registered_leader.ipp>
#include <elastic/nodes/detail/impl/registry_connector.ipp>
#include <elastic/nodes/detail/impl/registry_source.ipp>
#include <elastic/nodes/detail/impl/registry_watch.ipp>
#include <elastic/nodes/detail/impl/rendezvous_coordinator.ipp>
#include <elastic/nodes/detail/impl/rendezvous_host.ipp>
#include <elastic/nodes/detail/impl/rendezvous_link.ipp>
#include <elastic/nodes/detail/impl/rendezvous_message.ipp>
#include <elastic/nodes/detail/impl/rendezvous_service.ipp>
#include <elastic/nodes/detail/impl/round_machine.ipp>
#include <elastic/nodes/detail/impl/round_register.ipp>
#include <elastic/nodes/detail/impl/static_rendezvous.ipp>
#include <elastic/nodes/detail/impl/vote_machine.ipp>
#include <elastic/nodes/impl/backends.ipp>
#include <elastic/nodes/impl/registered_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_ETCD)
#include <elastic/etcd/detail/impl/etcd_client.ipp>
#include <elastic/etcd/detail/impl/etcd_keys.ipp>
#include <elastic/etcd/detail/impl/etcd_v2_keys.ipp>
#include <elastic/etcd/detail/impl/legacy_lease.ipp>
#include <elastic/etcd/detail/impl/legacy_rendezvous.ipp>
#include <elastic/etcd/detail/impl/legacy_round.ipp>
#include <elastic/etcd/detail/impl/legacy_state.ipp>
#include <elastic/etcd/impl/etcd_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_CLI)
#include <elastic/cli/detail/impl/device_listing.ipp>
#include <elastic/cli/detail/impl/given_options.ipp>
#include <elastic/cli/detail/impl/option_checks.ipp>
#include <elastic/cli/detail/impl/option_documents.ipp>
#include <elastic/cli/detail/impl/option_help.ipp>
#include <elastic/cli/detail/impl/option_row.ipp>
#include <elastic/cli/detail/impl/option_scan.ipp>
#include <elastic/cli/detail/impl/option_types.ipp>
#include <elastic/cli/detail/impl/single_option_types.ipp>
#include <elastic/cli/detail/impl/slurm_hosts.ipp>
#include <elastic/cli/detail/impl/slurm_step.ipp>
#include <elastic/cli/impl/chaos_plan.ipp>
#include <elastic/cli/impl/command_line.ipp>
#include <elastic/cli/impl/command_line_facts.ipp>
#include <elastic/cli/impl/default_python.ipp>
#include <elastic/cli/impl/early_exit.ipp>
#include <elastic/cli/impl/io_choice.ipp>
#include <elastic/cli/impl/machine.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 3
#include <elastic/base/detail/impl/blocking.ipp>
#include <elastic/base/detail/impl/concurrent_run.ipp>
#include <elastic/base/detail/impl/descriptor_share.ipp>
#include <elastic/base/detail/impl/endless.ipp>
#include <elastic/base/detail/impl/executor_work.ipp>
#include <elastic/base/detail/impl/json_document.ipp>
#include <elastic/base/detail/impl/json_fields.ipp>
#include <elastic/base/detail/impl/mount_table.ipp>
#include <elastic/base/detail/impl/record.ipp>
#include <elastic/base/detail/impl/ring.ipp>
#include <elastic/base/detail/impl/shielded_run.ipp>
#include <elastic/base/detail/impl/waiters.ipp>
#include <elastic/base/impl/event_flag.ipp>
#include <elastic/base/impl/log.ipp>
#include <elastic/base/impl/printable_text.ipp>
#include <elastic/base/impl/scope.ipp>
#include <elastic/base/impl/task_group.ipp>
#include <elastic/base/impl/time.ipp>
#include <elastic/base/impl/when_all.ipp>
#include <elastic/net/detail/impl/http_connection.ipp>
#include <elastic/net/detail/impl/http_parser.ipp>
#include <elastic/net/detail/impl/local_interface.ipp>
#include <elastic/net/detail/impl/message_frame.ipp>
#include <elastic/net/detail/impl/own_loopback.ipp>
#include <elastic/net/detail/impl/port_lease.ipp>
#include <elastic/net/detail/impl/secure_session.ipp>
#include <elastic/net/detail/impl/stream_listener.ipp>
#include <elastic/net/detail/impl/tcp_message_channel.ipp>
#include <elastic/net/detail/impl/tcp_stream.ipp>
#include <elastic/net/detail/impl/tls_stream.ipp>
#include <elastic/net/impl/address_filter.ipp>
#include <elastic/net/impl/endpoint.ipp>
#include <elastic/net/impl/endpoint_list.ipp>
#include <elastic/net/impl/free_port.ipp>
#include <elastic/net/impl/host_name.ipp>
#include <elastic/net/impl/job_secret.ipp>
#include <elastic/net/impl/keep_alive.ipp>
#include <elastic/net/impl/local_address.ipp>
#include <elastic/store/detail/impl/key_value_engine.ipp>
#include <elastic/store/detail/impl/store_keys.ipp>
#include <elastic/store/detail/impl/store_meter.ipp>
#include <elastic/store/detail/impl/tcp_store_budget.ipp>
#include <elastic/store/detail/impl/tcp_store_connection.ipp>
#include <elastic/store/detail/impl/tcp_store_link.ipp>
#include <elastic/store/detail/impl/tcp_store_newcomers.ipp>
#include <elastic/store/detail/impl/tcp_store_protocol.ipp>
#include <elastic/store/detail/impl/tcp_store_reactor_connection.ipp>
#include <elastic/store/detail/impl/tcp_store_session.ipp>
#include <elastic/store/impl/memory_store.ipp>
#include <elastic/store/impl/prefix_store.ipp>
#include <elastic/store/impl/tcp_store.ipp>
#include <elastic/store/impl/tcp_store_server.ipp>
#include <elastic/store/impl/versioned_store.ipp>
#include <elastic/worker/impl/record.ipp>
#include <elastic/worker/impl/worker_channel.ipp>
#include <elastic/worker/impl/worker_context.ipp>
#include <elastic/worker/impl/worker_store.ipp>
#if defined(ELASTIC_WITH_FILE)
#include <elastic/file/detail/impl/key_directory.ipp>
#include <elastic/file/detail/impl/key_file.ipp>
#include <elastic/file/impl/file_keys.ipp>
#include <elastic/file/impl/file_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_TORCH)
#include <elastic/torch/detail/impl/dynamic_rendezvous.ipp>
#include <elastic/torch/detail/impl/job_failures.ipp>
#include <elastic/torch/detail/impl/keyed_rendezvous_backend.ipp>
#include <elastic/torch/detail/impl/life_sign.ipp>
#include <elastic/torch/detail/impl/pickle_format.ipp>
#include <elastic/torch/detail/impl/pickle_reader.ipp>
#include <elastic/torch/detail/impl/pickle_writer.ipp>
#include <elastic/torch/detail/impl/store_rendezvous_backend.ipp>
#include <elastic/torch/detail/impl/torch_agent_watch.ipp>
#include <elastic/torch/detail/impl/torch_dialect.ipp>
#include <elastic/torch/detail/impl/torch_exit.ipp>
#include <elastic/torch/detail/impl/torch_round.ipp>
#include <elastic/torch/detail/impl/torch_state_codec.ipp>
#include <elastic/torch/impl/torch_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_ROLES)
#include <elastic/roles/detail/impl/moving_rendezvous.ipp>
#include <elastic/roles/detail/impl/port_probe.ipp>
#include <elastic/roles/detail/impl/replica_ledger.ipp>
#include <elastic/roles/detail/impl/replica_run.ipp>
#include <elastic/roles/detail/impl/role_board.ipp>
#include <elastic/roles/detail/impl/role_command.ipp>
#include <elastic/roles/detail/impl/role_journal.ipp>
#include <elastic/roles/detail/impl/role_log.ipp>
#include <elastic/roles/detail/impl/role_machine.ipp>
#include <elastic/roles/detail/impl/role_places.ipp>
#include <elastic/roles/detail/impl/role_plan.ipp>
#include <elastic/roles/detail/impl/role_post.ipp>
#include <elastic/roles/detail/impl/role_run.ipp>
#include <elastic/roles/detail/impl/silence_warning.ipp>
#include <elastic/roles/impl/replica_set.ipp>
#include <elastic/roles/impl/role.ipp>
#include <elastic/roles/impl/role_group.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 4
#include <elastic/contract/detail/impl/call_memfd.ipp>
#include <elastic/contract/detail/impl/macros.ipp>
#include <elastic/contract/detail/impl/roles_document.ipp>
#include <elastic/contract/impl/environment.ipp>
#include <elastic/contract/impl/error_file.ipp>
#include <elastic/contract/impl/function_call.ipp>
#include <elastic/contract/impl/stream_selection.ipp>
#include <elastic/health/detail/impl/channel_attempt.ipp>
#include <elastic/health/detail/impl/control_message.ipp>
#include <elastic/health/detail/impl/line_intake.ipp>
#include <elastic/health/detail/impl/timer_fifo.ipp>
#include <elastic/health/detail/impl/timer_request.ipp>
#include <elastic/health/detail/impl/worker_liveness.ipp>
#include <elastic/health/impl/worker_channels.ipp>
#include <elastic/launch/detail/impl/gpu_nodes.ipp>
#include <elastic/launch/detail/impl/node_journal.ipp>
#include <elastic/launch/detail/impl/numa_placement.ipp>
#include <elastic/launch/detail/impl/processor_topology.ipp>
#include <elastic/launch/detail/impl/signal_relay.ipp>
#include <elastic/launch/detail/impl/worker_preparation.ipp>
#include <elastic/launch/impl/console_log.ipp>
#include <elastic/launch/impl/drain_file.ipp>
#include <elastic/launch/impl/job.ipp>
#include <elastic/launch/impl/job_outcome.ipp>
#include <elastic/launch/impl/launcher.ipp>
#include <elastic/launch/impl/program_setup.ipp>
#include <elastic/launch/impl/run_as_program.ipp>
#include <elastic/launch/impl/run_with_signals.ipp>
#include <elastic/launch/impl/signal_plan.ipp>
#include <elastic/process/detail/impl/console_target.ipp>
#include <elastic/process/detail/impl/console_writer.ipp>
#include <elastic/process/detail/impl/file_tail.ipp>
#include <elastic/process/detail/impl/fork_launcher.ipp>
#include <elastic/process/detail/impl/guard_file.ipp>
#include <elastic/process/detail/impl/guarded_child.ipp>
#include <elastic/process/detail/impl/limit_reached.ipp>
#include <elastic/process/detail/impl/lines.ipp>
#include <elastic/process/detail/impl/memory_room.ipp>
#include <elastic/process/detail/impl/oom_kills.ipp>
#include <elastic/process/detail/impl/pidfd_child.ipp>
#include <elastic/process/detail/impl/port_use.ipp>
#include <elastic/process/detail/impl/proc_file.ipp>
#include <elastic/process/detail/impl/proc_snapshot.ipp>
#include <elastic/process/detail/impl/process_handle.ipp>
#include <elastic/process/detail/impl/process_slot.ipp>
#include <elastic/process/detail/impl/process_tree.ipp>
#include <elastic/process/detail/impl/program_path.ipp>
#include <elastic/process/detail/impl/reaper.ipp>
#include <elastic/process/detail/impl/session_signal.ipp>
#include <elastic/process/detail/impl/signal_number.ipp>
#include <elastic/process/detail/impl/tee.ipp>
#include <elastic/process/detail/impl/tree_usage.ipp>
#include <elastic/process/impl/console_output.ipp>
#include <elastic/process/impl/exit_selection.ipp>
#include <elastic/process/impl/exit_status.ipp>
#include <elastic/process/impl/guarded_launcher.ipp>
#include <elastic/process/impl/log_file.ipp>
#include <elastic/process/impl/pidfd_launcher.ipp>
#include <elastic/process/impl/process_set.ipp>
#include <elastic/process/impl/processor_set.ipp>
#include <elastic/process/impl/stdio.ipp>
#if defined(ELASTIC_WITH_PYTHON)
#include <elastic/python/detail/impl/hook_archive.ipp>
#include <elastic/python/detail/impl/import_record.ipp>
#include <elastic/python/detail/impl/standby_environment.ipp>
#include <elastic/python/detail/impl/standby_message.ipp>
#include <elastic/python/detail/impl/standby_part.ipp>
#include <elastic/python/detail/impl/standby_plan.ipp>
#include <elastic/python/detail/impl/standby_process.ipp>
#include <elastic/python/impl/standby_set.ipp>
#include <elastic/python/impl/standby_terms.ipp>
#include <elastic/python/impl/warm_standby.ipp>
#endif
#if defined(ELASTIC_WITH_FUNCTIONS)
#include <elastic/functions/detail/impl/call_value.ipp>
#include <elastic/functions/detail/impl/own_functions.ipp>
#include <elastic/functions/impl/entrypoint.ipp>
#endif
#if defined(ELASTIC_WITH_DIAGNOSIS)
#include <elastic/diagnosis/detail/impl/diagnosis_part.ipp>
#include <elastic/diagnosis/detail/impl/error_file_watch.ipp>
#include <elastic/diagnosis/detail/impl/inspected_workers.ipp>
#include <elastic/diagnosis/detail/impl/inspection_answer.ipp>
#include <elastic/diagnosis/detail/impl/kept_recorders.ipp>
#include <elastic/diagnosis/detail/impl/notice_judge.ipp>
#include <elastic/diagnosis/detail/impl/notice_watch.ipp>
#include <elastic/diagnosis/detail/impl/process_facts.ipp>
#include <elastic/diagnosis/detail/impl/process_texts.ipp>
#include <elastic/diagnosis/detail/impl/rank_evidence.ipp>
#include <elastic/diagnosis/detail/impl/rank_set.ipp>
#include <elastic/diagnosis/detail/impl/recorder_client.ipp>
#include <elastic/diagnosis/detail/impl/recorder_dump.ipp>
#include <elastic/diagnosis/detail/impl/recorder_pickle.ipp>
#include <elastic/diagnosis/detail/impl/round_inspection.ipp>
#include <elastic/diagnosis/detail/impl/socket_folder.ipp>
#include <elastic/diagnosis/detail/impl/stack_groups.ipp>
#include <elastic/diagnosis/detail/impl/stack_pipe.ipp>
#include <elastic/diagnosis/detail/impl/stall_judge.ipp>
#include <elastic/diagnosis/detail/impl/stall_text.ipp>
#include <elastic/diagnosis/detail/impl/thread_stack.ipp>
#include <elastic/diagnosis/detail/impl/user_frame.ipp>
#include <elastic/diagnosis/detail/impl/wait_graph.ipp>
#include <elastic/diagnosis/detail/impl/worker_signs.ipp>
#include <elastic/diagnosis/impl/job_diagnosis.ipp>
#include <elastic/diagnosis/impl/local_stacks.ipp>
#endif
#if defined(ELASTIC_WITH_TESTING)
#include <elastic/testing/impl/event_recorder.ipp>
#include <elastic/testing/impl/log_recorder.ipp>
#include <elastic/testing/impl/manual_clock.ipp>
#include <elastic/testing/impl/output_recorder.ipp>
#include <elastic/testing/impl/scripted_launcher.ipp>
#include <elastic/testing/impl/simulated_network.ipp>
#endif
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
