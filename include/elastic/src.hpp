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
#if !defined(ELASTIC_WITH_VAULT) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_VAULT 1
#endif
#if !defined(ELASTIC_WITH_WIRE) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_WIRE 1
#endif
#if !defined(ELASTIC_WITH_DIAGNOSIS) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_CLI) || \
     defined(ELASTIC_WITH_INSPECTION))
#define ELASTIC_WITH_DIAGNOSIS 1
#endif
#if !defined(ELASTIC_WITH_STATUS) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_STATUS 1
#endif
#if !defined(ELASTIC_WITH_ROLES) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_ROLES 1
#endif
#if !defined(ELASTIC_WITH_FUNCTIONS) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_FUNCTIONS 1
#endif
#if !defined(ELASTIC_WITH_PYTHON) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_DIAGNOSIS) || \
     defined(ELASTIC_WITH_CLI))
#define ELASTIC_WITH_PYTHON 1
#endif
#if !defined(ELASTIC_WITH_FILE) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_FILE 1
#endif
#if !defined(ELASTIC_WITH_ETCD) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_WITH_ETCD 1
#endif
#if !defined(ELASTIC_WITH_TORCH) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_ETCD))
#define ELASTIC_WITH_TORCH 1
#endif
#if !defined(ELASTIC_WITH_NODES) && \
    (!defined(ELASTIC_SOURCE_PART) || \
     defined(ELASTIC_WITH_TORCH) || \
     defined(ELASTIC_WITH_ETCD) || \
     defined(ELASTIC_WITH_FILE) || \
     defined(ELASTIC_WITH_ROLES))
#define ELASTIC_WITH_NODES 1
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 1
#include <elastic/agent/detail/rounds/arrivals.ipp>
#include <elastic/agent/detail/rounds/epoch_exchange.ipp>
#include <elastic/agent/detail/rounds/epoch_record.ipp>
#include <elastic/agent/detail/rounds/rejoin_machine.ipp>
#include <elastic/agent/detail/rounds/round_agreement.ipp>
#include <elastic/agent/detail/rounds/survivors.ipp>
#include <elastic/agent/detail/run/agent_journal.ipp>
#include <elastic/agent/detail/run/agent_parts.ipp>
#include <elastic/agent/detail/run/agent_run.ipp>
#include <elastic/agent/detail/run/agent_telemetry.ipp>
#include <elastic/agent/detail/run/async_run.ipp>
#include <elastic/agent/detail/run/job_pause.ipp>
#include <elastic/agent/detail/run/request_inbox.ipp>
#include <elastic/agent/detail/run/run_files.ipp>
#include <elastic/agent/detail/run/worker_run.ipp>
#include <elastic/agent/detail/workers/default_logs_specs.ipp>
#include <elastic/agent/detail/workers/hang_hooks.ipp>
#include <elastic/agent/detail/workers/line_template.ipp>
#include <elastic/agent/detail/workers/node_checker.ipp>
#include <elastic/agent/detail/workers/process_builder.ipp>
#include <elastic/agent/detail/workers/unserved_store.ipp>
#include <elastic/agent/detail/workers/worker_files.ipp>
#include <elastic/agent/detail/workers/worker_leftovers.ipp>
#include <elastic/agent/detail/workers/worker_orders.ipp>
#include <elastic/agent/detail/workers/worker_stop.ipp>
#include <elastic/agent/detail/workers/worker_watch.ipp>
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
#include <elastic/agent/impl/run_result.ipp>
#include <elastic/agent/impl/worker_group.ipp>
#include <elastic/agent/impl/worker_spec.ipp>
#include <elastic/telemetry/detail/event_handler_registry.ipp>
#include <elastic/telemetry/detail/output_tails.ipp>
#include <elastic/telemetry/detail/record_writer.ipp>
#include <elastic/telemetry/impl/console_event_handler.ipp>
#include <elastic/telemetry/impl/console_metric_handler.ipp>
#include <elastic/telemetry/impl/job_journal.ipp>
#include <elastic/telemetry/impl/journal_file.ipp>
#include <elastic/telemetry/impl/journal_record.ipp>
#if defined(ELASTIC_WITH_STATUS)
#include <elastic/status/detail/command_request.ipp>
#include <elastic/status/detail/event_sentence.ipp>
#include <elastic/status/detail/job_curves.ipp>
#include <elastic/status/detail/job_document.ipp>
#include <elastic/status/detail/job_launch.ipp>
#include <elastic/status/detail/job_metrics.ipp>
#include <elastic/status/detail/job_monitor_core.ipp>
#include <elastic/status/detail/job_state.ipp>
#include <elastic/status/detail/journal_reader.ipp>
#include <elastic/status/detail/node_report.ipp>
#include <elastic/status/detail/output_desk.ipp>
#include <elastic/status/detail/output_feed.ipp>
#include <elastic/status/detail/output_message.ipp>
#include <elastic/status/detail/output_sender.ipp>
#include <elastic/status/detail/report_feed.ipp>
#include <elastic/status/detail/roles_overview.ipp>
#include <elastic/status/detail/status_answer.ipp>
#include <elastic/status/detail/status_gate.ipp>
#include <elastic/status/detail/stream_reader.ipp>
#include <elastic/status/detail/trace_events.ipp>
#include <elastic/status/detail/viewed_job.ipp>
#include <elastic/status/detail/worker_meter.ipp>
#include <elastic/status/impl/add_monitor.ipp>
#include <elastic/status/impl/add_status.ipp>
#include <elastic/status/impl/job_monitor.ipp>
#include <elastic/status/impl/roles_monitor.ipp>
#include <elastic/status/impl/status_address.ipp>
#include <elastic/status/impl/status_server.ipp>
#include <elastic/status/impl/trace_file.ipp>
#endif
#if defined(ELASTIC_WITH_WIRE)
#include <elastic/wire/detail/pmi_node.ipp>
#include <elastic/wire/detail/pmi_request.ipp>
#include <elastic/wire/detail/pmi_session.ipp>
#include <elastic/wire/detail/wire_part.ipp>
#include <elastic/wire/detail/wire_place.ipp>
#include <elastic/wire/impl/add_wire.ipp>
#include <elastic/wire/impl/wire_terms.ipp>
#endif
#if defined(ELASTIC_WITH_VAULT)
#include <elastic/vault/detail/vault_ballot.ipp>
#include <elastic/vault/detail/vault_channel.ipp>
#include <elastic/vault/detail/vault_header.ipp>
#include <elastic/vault/detail/vault_memory.ipp>
#include <elastic/vault/detail/vault_message.ipp>
#include <elastic/vault/detail/vault_part.ipp>
#include <elastic/vault/detail/vault_report.ipp>
#include <elastic/vault/detail/vault_step.ipp>
#include <elastic/vault/impl/add_vault.ipp>
#include <elastic/vault/impl/vault_terms.ipp>
#include <elastic/vault/impl/worker_vault.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 2
#include <elastic/rendezvous/detail/fixed_membership.ipp>
#include <elastic/rendezvous/detail/gather.ipp>
#include <elastic/rendezvous/detail/listen_point.ipp>
#include <elastic/rendezvous/detail/master_keys.ipp>
#include <elastic/rendezvous/detail/name_wait.ipp>
#include <elastic/rendezvous/detail/node_id.ipp>
#include <elastic/rendezvous/detail/part_exchange.ipp>
#include <elastic/rendezvous/detail/reachable_address.ipp>
#include <elastic/rendezvous/detail/solo_rendezvous.ipp>
#include <elastic/rendezvous/detail/stored_rendezvous.ipp>
#include <elastic/rendezvous/detail/worker_store_host.ipp>
#include <elastic/rendezvous/impl/exit_barrier.ipp>
#include <elastic/rendezvous/impl/rendezvous_factory.ipp>
#include <elastic/rendezvous/impl/rendezvous_handler.ipp>
#include <elastic/rendezvous/impl/rendezvous_parameters.ipp>
#include <elastic/rendezvous/impl/rendezvous_registry.ipp>
#include <elastic/rendezvous/impl/rendezvous_settings.ipp>
#include <elastic/rendezvous/impl/worker_store.ipp>
#if defined(ELASTIC_WITH_NODES)
#include <elastic/nodes/detail/c10d_rendezvous.ipp>
#include <elastic/nodes/detail/candidate.ipp>
#include <elastic/nodes/detail/candidate_addresses.ipp>
#include <elastic/nodes/detail/candidate_message.ipp>
#include <elastic/nodes/detail/candidate_source.ipp>
#include <elastic/nodes/detail/exclusion_list.ipp>
#include <elastic/nodes/detail/job_file_fingerprint.ipp>
#include <elastic/nodes/detail/job_file_record.ipp>
#include <elastic/nodes/detail/job_file_registry.ipp>
#include <elastic/nodes/detail/leader_connector.ipp>
#include <elastic/nodes/detail/leader_network.ipp>
#include <elastic/nodes/detail/leader_record.ipp>
#include <elastic/nodes/detail/leader_registry.ipp>
#include <elastic/nodes/detail/leader_visitor.ipp>
#include <elastic/nodes/detail/message_rows.ipp>
#include <elastic/nodes/detail/registered_leader.ipp>
#include <elastic/nodes/detail/registry_connector.ipp>
#include <elastic/nodes/detail/registry_source.ipp>
#include <elastic/nodes/detail/registry_watch.ipp>
#include <elastic/nodes/detail/rendezvous_coordinator.ipp>
#include <elastic/nodes/detail/rendezvous_host.ipp>
#include <elastic/nodes/detail/rendezvous_link.ipp>
#include <elastic/nodes/detail/rendezvous_message.ipp>
#include <elastic/nodes/detail/rendezvous_service.ipp>
#include <elastic/nodes/detail/round_machine.ipp>
#include <elastic/nodes/detail/round_register.ipp>
#include <elastic/nodes/detail/static_rendezvous.ipp>
#include <elastic/nodes/detail/vote_machine.ipp>
#include <elastic/nodes/impl/backends.ipp>
#include <elastic/nodes/impl/registered_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_ETCD)
#include <elastic/etcd/detail/etcd_client.ipp>
#include <elastic/etcd/detail/etcd_keys.ipp>
#include <elastic/etcd/detail/etcd_v2_keys.ipp>
#include <elastic/etcd/detail/legacy_lease.ipp>
#include <elastic/etcd/detail/legacy_rendezvous.ipp>
#include <elastic/etcd/detail/legacy_round.ipp>
#include <elastic/etcd/detail/legacy_state.ipp>
#include <elastic/etcd/impl/etcd_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_CLI)
#include <elastic/cli/detail/chaos_text.ipp>
#include <elastic/cli/detail/device_listing.ipp>
#include <elastic/cli/detail/given_options.ipp>
#include <elastic/cli/detail/node_tasks.ipp>
#include <elastic/cli/detail/option_checks.ipp>
#include <elastic/cli/detail/option_documents.ipp>
#include <elastic/cli/detail/option_help.ipp>
#include <elastic/cli/detail/option_row.ipp>
#include <elastic/cli/detail/option_scan.ipp>
#include <elastic/cli/detail/option_types.ipp>
#include <elastic/cli/detail/single_option_types.ipp>
#include <elastic/cli/detail/slurm_hosts.ipp>
#include <elastic/cli/detail/slurm_step.ipp>
#include <elastic/cli/impl/command_line.ipp>
#include <elastic/cli/impl/default_python.ipp>
#include <elastic/cli/impl/early_exit.ipp>
#include <elastic/cli/impl/io_choice.ipp>
#include <elastic/cli/impl/machine.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 3
#include <elastic/base/detail/async_start.ipp>
#include <elastic/base/detail/blocking.ipp>
#include <elastic/base/detail/concurrent_run.ipp>
#include <elastic/base/detail/descriptor_share.ipp>
#include <elastic/base/detail/endless.ipp>
#include <elastic/base/detail/executor_work.ipp>
#include <elastic/base/detail/json_document.ipp>
#include <elastic/base/detail/json_fields.ipp>
#include <elastic/base/detail/mount_table.ipp>
#include <elastic/base/detail/record.ipp>
#include <elastic/base/detail/ring.ipp>
#include <elastic/base/detail/shielded_run.ipp>
#include <elastic/base/detail/waiters.ipp>
#include <elastic/base/impl/as_error_code.ipp>
#include <elastic/base/impl/error.ipp>
#include <elastic/base/impl/event_flag.ipp>
#include <elastic/base/impl/log.ipp>
#include <elastic/base/impl/printable_text.ipp>
#include <elastic/base/impl/scope.ipp>
#include <elastic/base/impl/task_group.ipp>
#include <elastic/base/impl/time.ipp>
#include <elastic/base/impl/when_all.ipp>
#include <elastic/net/detail/http_connection.ipp>
#include <elastic/net/detail/http_parser.ipp>
#include <elastic/net/detail/local_interface.ipp>
#include <elastic/net/detail/message_frame.ipp>
#include <elastic/net/detail/own_loopback.ipp>
#include <elastic/net/detail/port_lease.ipp>
#include <elastic/net/detail/secure_session.ipp>
#include <elastic/net/detail/socket_stream.ipp>
#include <elastic/net/detail/stream_listener.ipp>
#include <elastic/net/detail/tcp_message_channel.ipp>
#include <elastic/net/detail/tls_stream.ipp>
#include <elastic/net/impl/address_filter.ipp>
#include <elastic/net/impl/endpoint.ipp>
#include <elastic/net/impl/endpoint_list.ipp>
#include <elastic/net/impl/free_port.ipp>
#include <elastic/net/impl/host_name.ipp>
#include <elastic/net/impl/job_secret.ipp>
#include <elastic/net/impl/keep_alive.ipp>
#include <elastic/net/impl/local_address.ipp>
#include <elastic/store/detail/key_value_engine.ipp>
#include <elastic/store/detail/store_keys.ipp>
#include <elastic/store/detail/store_meter.ipp>
#include <elastic/store/detail/tcp_store_budget.ipp>
#include <elastic/store/detail/tcp_store_connection.ipp>
#include <elastic/store/detail/tcp_store_link.ipp>
#include <elastic/store/detail/tcp_store_newcomers.ipp>
#include <elastic/store/detail/tcp_store_protocol.ipp>
#include <elastic/store/detail/tcp_store_reactor_connection.ipp>
#include <elastic/store/detail/tcp_store_ring_connection.ipp>
#include <elastic/store/detail/tcp_store_session.ipp>
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
#include <elastic/file/detail/key_directory.ipp>
#include <elastic/file/detail/key_file.ipp>
#include <elastic/file/impl/file_keys.ipp>
#include <elastic/file/impl/file_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_TORCH)
#include <elastic/torch/detail/dynamic_rendezvous.ipp>
#include <elastic/torch/detail/job_failures.ipp>
#include <elastic/torch/detail/keyed_rendezvous_backend.ipp>
#include <elastic/torch/detail/life_sign.ipp>
#include <elastic/torch/detail/pickle_format.ipp>
#include <elastic/torch/detail/pickle_reader.ipp>
#include <elastic/torch/detail/pickle_writer.ipp>
#include <elastic/torch/detail/store_rendezvous_backend.ipp>
#include <elastic/torch/detail/torch_agent_watch.ipp>
#include <elastic/torch/detail/torch_dialect.ipp>
#include <elastic/torch/detail/torch_exit.ipp>
#include <elastic/torch/detail/torch_round.ipp>
#include <elastic/torch/detail/torch_state_codec.ipp>
#include <elastic/torch/impl/torch_rendezvous.ipp>
#endif
#if defined(ELASTIC_WITH_ROLES)
#include <elastic/roles/detail/moving_rendezvous.ipp>
#include <elastic/roles/detail/port_probe.ipp>
#include <elastic/roles/detail/replica_ledger.ipp>
#include <elastic/roles/detail/replica_run.ipp>
#include <elastic/roles/detail/role_board.ipp>
#include <elastic/roles/detail/role_command.ipp>
#include <elastic/roles/detail/role_journal.ipp>
#include <elastic/roles/detail/role_log.ipp>
#include <elastic/roles/detail/role_machine.ipp>
#include <elastic/roles/detail/role_places.ipp>
#include <elastic/roles/detail/role_plan.ipp>
#include <elastic/roles/detail/role_post.ipp>
#include <elastic/roles/detail/role_run.ipp>
#include <elastic/roles/detail/role_watch.ipp>
#include <elastic/roles/detail/silence_warning.ipp>
#include <elastic/roles/impl/replica_set.ipp>
#include <elastic/roles/impl/role.ipp>
#include <elastic/roles/impl/role_group.ipp>
#endif
#endif

#if !defined(ELASTIC_SOURCE_PART) || ELASTIC_SOURCE_PART == 4
#include <elastic/contract/detail/call_memfd.ipp>
#include <elastic/contract/detail/macros.ipp>
#include <elastic/contract/detail/roles_document.ipp>
#include <elastic/contract/impl/environment.ipp>
#include <elastic/contract/impl/error_file.ipp>
#include <elastic/contract/impl/function_call.ipp>
#include <elastic/contract/impl/stream_selection.ipp>
#include <elastic/control/detail/channel_attempt.ipp>
#include <elastic/control/detail/control_message.ipp>
#include <elastic/control/detail/line_intake.ipp>
#include <elastic/control/detail/timer_fifo.ipp>
#include <elastic/control/detail/timer_request.ipp>
#include <elastic/control/detail/worker_liveness.ipp>
#include <elastic/control/impl/worker_channels.ipp>
#include <elastic/launch/detail/gpu_nodes.ipp>
#include <elastic/launch/detail/node_journal.ipp>
#include <elastic/launch/detail/numa_placement.ipp>
#include <elastic/launch/detail/processor_topology.ipp>
#include <elastic/launch/detail/signal_relay.ipp>
#include <elastic/launch/detail/worker_preparation.ipp>
#include <elastic/launch/impl/console_log.ipp>
#include <elastic/launch/impl/drain_file.ipp>
#include <elastic/launch/impl/job.ipp>
#include <elastic/launch/impl/job_outcome.ipp>
#include <elastic/launch/impl/launcher.ipp>
#include <elastic/launch/impl/program_setup.ipp>
#include <elastic/launch/impl/run_as_program.ipp>
#include <elastic/launch/impl/run_with_signals.ipp>
#include <elastic/launch/impl/signal_plan.ipp>
#include <elastic/process/detail/console_target.ipp>
#include <elastic/process/detail/console_writer.ipp>
#include <elastic/process/detail/file_tail.ipp>
#include <elastic/process/detail/fork_launcher.ipp>
#include <elastic/process/detail/guard_file.ipp>
#include <elastic/process/detail/guarded_child.ipp>
#include <elastic/process/detail/limit_reached.ipp>
#include <elastic/process/detail/lines.ipp>
#include <elastic/process/detail/memory_room.ipp>
#include <elastic/process/detail/oom_kills.ipp>
#include <elastic/process/detail/pidfd_child.ipp>
#include <elastic/process/detail/port_use.ipp>
#include <elastic/process/detail/proc_file.ipp>
#include <elastic/process/detail/proc_snapshot.ipp>
#include <elastic/process/detail/process_handle.ipp>
#include <elastic/process/detail/process_slot.ipp>
#include <elastic/process/detail/process_tree.ipp>
#include <elastic/process/detail/program_path.ipp>
#include <elastic/process/detail/reaper.ipp>
#include <elastic/process/detail/session_signal.ipp>
#include <elastic/process/detail/signal_number.ipp>
#include <elastic/process/detail/tee.ipp>
#include <elastic/process/detail/tree_usage.ipp>
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
#include <elastic/python/detail/hook_archive.ipp>
#include <elastic/python/detail/import_record.ipp>
#include <elastic/python/detail/standby_environment.ipp>
#include <elastic/python/detail/standby_message.ipp>
#include <elastic/python/detail/standby_part.ipp>
#include <elastic/python/detail/standby_plan.ipp>
#include <elastic/python/detail/standby_process.ipp>
#include <elastic/python/impl/standby_set.ipp>
#include <elastic/python/impl/standby_terms.ipp>
#include <elastic/python/impl/warm_standby.ipp>
#endif
#if defined(ELASTIC_WITH_FUNCTIONS)
#include <elastic/functions/detail/call_value.ipp>
#include <elastic/functions/detail/own_functions.ipp>
#include <elastic/functions/impl/entrypoint.ipp>
#endif
#if defined(ELASTIC_WITH_DIAGNOSIS)
#include <elastic/diagnosis/detail/diagnosis_part.ipp>
#include <elastic/diagnosis/detail/error_file_watch.ipp>
#include <elastic/diagnosis/detail/inspected_workers.ipp>
#include <elastic/diagnosis/detail/inspection_answer.ipp>
#include <elastic/diagnosis/detail/kept_recorders.ipp>
#include <elastic/diagnosis/detail/notice_judge.ipp>
#include <elastic/diagnosis/detail/notice_watch.ipp>
#include <elastic/diagnosis/detail/process_facts.ipp>
#include <elastic/diagnosis/detail/process_texts.ipp>
#include <elastic/diagnosis/detail/rank_evidence.ipp>
#include <elastic/diagnosis/detail/rank_set.ipp>
#include <elastic/diagnosis/detail/recorder_client.ipp>
#include <elastic/diagnosis/detail/recorder_dump.ipp>
#include <elastic/diagnosis/detail/recorder_pickle.ipp>
#include <elastic/diagnosis/detail/round_inspection.ipp>
#include <elastic/diagnosis/detail/socket_folder.ipp>
#include <elastic/diagnosis/detail/stack_groups.ipp>
#include <elastic/diagnosis/detail/stack_pipe.ipp>
#include <elastic/diagnosis/detail/stall_judge.ipp>
#include <elastic/diagnosis/detail/stall_text.ipp>
#include <elastic/diagnosis/detail/thread_stack.ipp>
#include <elastic/diagnosis/detail/user_frame.ipp>
#include <elastic/diagnosis/detail/wait_graph.ipp>
#include <elastic/diagnosis/detail/worker_signs.ipp>
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
