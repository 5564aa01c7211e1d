// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

/// Every limit of this library, by name. Input from outside is checked against these.
namespace elastic::limits {

/// A store key; PyTorch's libuv server allows 8 KiB.
inline constexpr std::size_t store_key_bytes = 8 * 1024;
/// A store value; PyTorch's libuv server allows 8 MiB.
inline constexpr std::size_t store_value_bytes = 8 * 1024 * 1024;
/// Keys in one request; PyTorch's libuv server allows as many.
inline constexpr std::size_t store_keys_per_request = 131'072;
/// One request to a store server, all of its keys and values together.
inline constexpr std::size_t store_request_bytes = 64 * 1024 * 1024;
/// Replies that wait for a client that does not read; above this its connection is closed.
inline constexpr std::size_t store_reply_bytes = 64 * 1024 * 1024;
/// Replies above which a server executes no further request of that client until they are sent.
inline constexpr std::size_t store_reply_pause_bytes = 64 * 1024;
/// Everything that a store holds, keys and values together.
inline constexpr std::size_t store_total_bytes = std::size_t{4} * 1024 * 1024 * 1024;
/// The memory that a store server holds for one client: replies that it has not read, incomplete
/// requests, its waits and watches. Above this its connection is closed.
inline constexpr std::size_t store_client_bytes = 160 * 1024 * 1024;
/// The same for all clients of a server; above this, those that use most are disconnected.
inline constexpr std::size_t store_clients_bytes = 1024 * 1024 * 1024;
/// The memory of a wait or a watch, besides the name of each key.
inline constexpr std::size_t store_wait_bytes = 160;
/// A TCP connection that was idle for this long is probed, again after each interval, and closed
/// after this many unanswered probes: within 60 s.
inline constexpr std::chrono::seconds tcp_keep_alive_idle{30};
inline constexpr std::chrono::seconds tcp_keep_alive_interval{10};
inline constexpr int tcp_keep_alive_probes = 3;
/// The same for a client's bytes that are not acknowledged.
inline constexpr std::chrono::seconds tcp_unacknowledged{60};
/// A store's client opens a new connection instead of one that was idle for longer: a firewall in
/// between may have dropped it silently.
inline constexpr std::chrono::seconds store_idle_connection{10};
/// How long a stopping server waits until its clients have read their replies.
inline constexpr std::chrono::milliseconds store_farewell{100};
/// Keys and queued items that a store holds.
inline constexpr std::size_t store_entries = 16 * 1024 * 1024;
/// Keys that one client of a store server watches.
inline constexpr std::size_t store_watches_per_client = 1024;
/// The most file descriptors that a store server leaves for other uses, beside those that agents
/// need for their workers.
inline constexpr std::size_t store_spared_descriptors = 256;
/// File descriptors that an agent needs for a worker: its process, pipes, files and standby, and
/// its connections to the control channel.
inline constexpr std::size_t worker_descriptors = 24;
/// How long the start of workers waits for descriptors that servers release.
inline constexpr std::chrono::milliseconds descriptor_patience{2000};
/// The most open files to which a program raises its limit, since each connection takes memory,
/// too.
inline constexpr std::size_t open_files = 65'536;
/// The state of a rendezvous as agents of PyTorch write it: some 13,000 nodes.
inline constexpr std::size_t rendezvous_state_bytes = 1024 * 1024;
/// The lines before the body of an HTTP response, and those between its chunks.
inline constexpr std::size_t http_head_bytes = 64 * 1024;
/// The unread part of an HTTP response's body: a value of a store, as encoded by etcd in base64.
inline constexpr std::size_t http_body_bytes = 16 * 1024 * 1024;
/// What an inspection reads from a worker: the text of its stacks, its flight recorder, and the
/// number of its threads and descriptors.
inline constexpr std::size_t stack_text_bytes = 256 * 1024;
inline constexpr std::size_t recorder_bytes = 8 * 1024 * 1024;
inline constexpr std::size_t inspected_threads = 256;
inline constexpr std::size_t inspected_descriptors = 65'536;
/// How many operations a worker's flight recorder keeps.
inline constexpr int recorded_operations = 2000;
/// A node's answer to an inspection, and how long the others wait for it.
inline constexpr std::size_t inspection_answer_bytes = 1024 * 1024;
inline constexpr std::chrono::milliseconds inspection_answer{2500};
/// How long the inspection of a node's workers may take.
inline constexpr std::chrono::milliseconds inspection_time{2000};
/// The name of the role of an agent's workers.
inline constexpr std::size_t worker_role_bytes = 1024;
/// What a node sends the others about its workers.
inline constexpr std::size_t rank_exchange_bytes = 16 * 1024;
/// One message of the rendezvous.
inline constexpr std::size_t rendezvous_message_bytes = 64 * 1024;
/// A job's secret: too short ones could be guessed.
inline constexpr std::size_t job_secret_least_bytes = 16;
inline constexpr std::size_t job_secret_bytes = 4096;
/// Clients of a store server that have sent a part of their first message, or have not yet shown
/// that they hold the job's secret: the time that each has, their number, and the memory that all
/// of them may take together. Above a bound the server disconnects the oldest of them.
inline constexpr std::chrono::seconds store_newcomer_time{10};
inline constexpr std::size_t store_newcomers = 1024;
inline constexpr std::size_t store_newcomers_bytes = 16 * 1024 * 1024;
/// The first message of an agent, and the first TLS record of a client.
inline constexpr std::size_t first_message_bytes = 8 * 1024;
/// The server disconnects a newcomer that takes more memory before older ones. A TLS handshake
/// takes less; a store's client may begin with a large value.
inline constexpr std::size_t store_newcomer_share = 64 * 1024;
/// Rejected addresses that a server remembers, so that it logs each only once.
inline constexpr std::size_t store_refused_addresses = 1024;
/// The addresses that a node sends to the others, and their text.
inline constexpr std::size_t node_addresses = 64;
inline constexpr std::size_t node_addresses_bytes = 4096;
/// The largest number of a round, or term of a server, that a node can report: a new server
/// continues from there, and its numbers must fit into messages, too.
inline constexpr std::int64_t rendezvous_told_number = std::int64_t{1} << 61;
/// The largest number of failures of a job that is counted.
inline constexpr int job_restarts = std::numeric_limits<int>::max() - 1;
/// Roles of one job, and the name of one.
inline constexpr std::size_t roles = 64;
inline constexpr std::size_t role_name_bytes = 64;
/// Named ports of one worker, and the name of one.
inline constexpr std::size_t worker_ports = 16;
inline constexpr std::size_t port_name_bytes = 32;
/// The file that shows the workers of a job where the workers of all of its roles are, and the part
/// of it that a node sends the other nodes of a role.
inline constexpr std::size_t roles_file_bytes = 64 * 1024 * 1024;
inline constexpr std::size_t role_places_bytes = 4 * 1024 * 1024;
/// What a node tells the others of a round for the wire-ups of their workers.
inline constexpr std::size_t wire_places_bytes = 256 * 1024;
/// PMI-1: one line of a worker, a key, a value, the lines of a request to start processes; what the
/// workers of a node put between two barriers, and everything that a round's workers have put.
inline constexpr std::size_t pmi_line_bytes = 4096;
inline constexpr std::size_t pmi_key_bytes = 64;
inline constexpr std::size_t pmi_value_bytes = 1024;
inline constexpr int pmi_spawn_lines = 4096;
inline constexpr std::size_t pmi_puts_bytes = 7 * 1024 * 1024;
inline constexpr std::size_t pmi_space_bytes = 1024 * 1024 * 1024;
/// Jobs that meet at one server.
inline constexpr std::size_t rendezvous_jobs = 1024;
/// The run id of a job, by which its nodes find each other.
inline constexpr std::size_t run_id_bytes = 1024;
/// A numeric address, with the name of a network interface if it needs one.
inline constexpr std::size_t numeric_address_bytes = 64;
/// The text about a failure of workers that the other nodes of the job receive.
inline constexpr std::size_t failure_text_bytes = 1024;
/// Any other text for users in an answer of the rendezvous. Longer ones are truncated.
inline constexpr std::size_t rendezvous_sentence_bytes = 4096;
/// Addresses of the nodes of a round in one message.
inline constexpr std::size_t peer_addresses_bytes = 24 * 1024;
/// The network of a host, as candidates compare it.
inline constexpr std::size_t network_identity_bytes = 255;
/// A job's server keeps connections to twice `max_nodes` nodes, and to this many more. Those
/// beyond `max_nodes` stand by.
inline constexpr std::size_t rendezvous_spare_nodes = 256;
/// A job's server remembers `max_nodes` nodes without a connection, and this many more, until they
/// are lost. If there are more, it first forgets those that had no place in a round, and then
/// those that have been gone for longest.
inline constexpr std::size_t rendezvous_gone_nodes = 64;
/// Nodes at a server of all jobs other than that of its own agent.
inline constexpr std::size_t rendezvous_other_nodes = 1024;
/// Answers that a server queues for one connection until a majority has the state that they depend
/// on. Above this it closes the connection; the node connects and asks again. The largest answer
/// has the addresses of all nodes, for the node of rank 0.
inline constexpr std::size_t rendezvous_held_bytes = 8 * 1024 * 1024;
/// The endpoints of one rendezvous at which an agent may lead it, and the nodes of a job that has
/// several endpoints: each of those servers stores the state in one message.
inline constexpr int rendezvous_candidates = 9;
inline constexpr int rendezvous_register_nodes = 16'384;
/// One message between the servers of several endpoints, and a registry's record of the leader.
inline constexpr std::size_t rendezvous_register_bytes = 320 * 1024;
/// The password that nodes show to a leader that a registry names.
inline constexpr std::size_t registry_password_bytes = 64;
/// How long a node tries to reconnect to a rendezvous server.
inline constexpr std::chrono::milliseconds rendezvous_reconnect_timeout{5000};
/// How long the last message of a node that leaves the rendezvous may take.
inline constexpr std::chrono::milliseconds rendezvous_leave_timeout{500};
/// How long a node whose workers failed waits for the workers of torchrun's nodes to fail, too.
inline constexpr std::chrono::milliseconds mixed_failure_patience{10'000};
/// The slots of one process_set.
inline constexpr std::size_t process_slots = 65'536;
/// Workers of one agent.
inline constexpr int local_world_size = 4096;
/// The name of a host.
inline constexpr std::size_t host_name_bytes = 255;
/// Nodes of one job, and how many allowed numbers of nodes a job may list.
inline constexpr int nodes = 100'000;
inline constexpr std::size_t node_counts = 64;
/// An error file written by a worker; larger ones are cut and count as not parsable.
inline constexpr std::size_t error_file_bytes = 4 * 1024 * 1024;
/// The arguments of a function that workers run, as JSON; pass larger values in a file or the
/// store.
inline constexpr std::size_t function_arguments_bytes = 1024 * 1024;
/// What one worker's function returns, as JSON.
inline constexpr std::size_t return_value_bytes = 1024 * 1024;
/// The return values of all workers of a node; with many workers each gets a share of it.
inline constexpr std::size_t return_values_bytes = 16 * 1024 * 1024;
/// The lines of a failed worker's stderr that a report shows if there is no error file.
inline constexpr std::size_t report_stderr_lines = 20;
/// Of those lines, the bytes kept: a longer end of stderr loses its beginning.
inline constexpr std::size_t report_stderr_bytes = 64 * 1024;
/// The buffer of one stream while its output is copied, and the size that its pipe is given.
inline constexpr std::size_t copy_buffer_bytes = 256 * 1024;
/// A line of output that is buffered until it is complete; a longer one is passed on in pieces.
inline constexpr std::size_t copy_line_bytes = 64 * 1024;
/// Files kept of a rotated log.
inline constexpr int log_files = 1000;
/// The least time to wait for a blocked console after the grace period of a stop.
inline constexpr std::chrono::milliseconds console_after_stop{1000};
/// How long to wait for a log file that hangs when nothing else waits for the output.
inline constexpr std::chrono::milliseconds file_after_stop{1000};
/// How long the agent waits at its end for a log directory that may hang: for a failed worker's
/// files, and for the report.
inline constexpr std::chrono::milliseconds log_directory_patience{3000};
/// A journal: the records that an agent keeps in memory, one line, a text and the list of process
/// ids in a line, the size of a file and the number of files, the lines that wait for a file that
/// hangs, and how much of the journal is read.
inline constexpr std::size_t journal_records = 256;
inline constexpr std::size_t journal_line_bytes = 128 * 1024;
inline constexpr std::size_t journal_text_bytes = 2048;
inline constexpr std::size_t journal_pids = 4096;
inline constexpr std::uint64_t journal_file_bytes = 16 * 1024 * 1024;
inline constexpr int journal_files = 4;
inline constexpr std::size_t journal_pending_lines = 1000;
inline constexpr std::uint64_t journal_read_bytes = 256 * 1024 * 1024;
/// How long to wait for the last lines of a journal that hangs.
inline constexpr std::chrono::milliseconds journal_patience{1000};
/// How long a guard has to report whether its worker runs, when the start is cancelled.
inline constexpr std::chrono::milliseconds guard_after_cancel{2000};
/// How long a guard may be silent that has to report an end, before it counts as stopped; and how
/// often that time passes for one that only waits for a processor.
inline constexpr std::chrono::milliseconds guard_silence{2000};
inline constexpr int guard_silences = 10;
/// How long the kernel has to end a killed process before each check of what delays it; a process
/// that is unchanged after that, in uninterruptible sleep, is abandoned.
inline constexpr std::chrono::seconds killed_patience{20};
/// The longest time for which what a worker left behind may linger; how many of these processes are
/// named if they are killed, and what is shown of a command line.
inline constexpr std::chrono::hours linger{1};
inline constexpr std::size_t named_leftovers = 8;
inline constexpr std::size_t shown_command_bytes = 96;
/// How long output is still read after a worker has ended, for a descendant that holds its pipe.
inline constexpr std::chrono::milliseconds drain_after_exit{500};
/// The longest timeout of a node check and of the hook for hung workers.
inline constexpr std::chrono::seconds shell_command_timeout{3600};
/// The kept end of the output of a node check.
inline constexpr std::size_t node_check_bytes = 400;
/// The text that is read from a drain file, and how long to wait for it if the file is empty.
inline constexpr std::size_t drain_text_bytes = 400;
inline constexpr std::chrono::milliseconds drain_text_patience{1000};
/// One message between an agent and a standby.
inline constexpr std::size_t standby_message_bytes = 64 * 1024;
/// The modules that a standby imports, and the name of one.
inline constexpr std::size_t standby_modules = 256;
inline constexpr std::size_t standby_module_bytes = 256;
/// How long a waiting standby may take to become a worker before the worker starts without it. On a
/// busy host, two seconds are less than what the imports of a cold start take.
inline constexpr std::chrono::milliseconds standby_reply{2000};
/// How long an interpreter may take to show that its standby would wait, and how long a standby may
/// take to import.
inline constexpr std::chrono::seconds standby_probe{60};
inline constexpr std::chrono::seconds standby_import{900};
/// Standbys that may end in a row before they are ready.
inline constexpr int standby_deaths = 3;
/// Standbys of a job that may end while they wait.
inline constexpr int standby_losses = 10;
/// How long to wait for a killed standby.
inline constexpr std::chrono::seconds standby_end{5};
/// One line of the control channel, its end included.
inline constexpr std::size_t control_line_bytes = 4096;
/// A name on the control channel (a section, a timer, a metric), and any other text there.
inline constexpr std::size_t control_name_bytes = 128;
inline constexpr std::size_t control_text_bytes = 1024;
/// The metrics of one progress message.
inline constexpr std::size_t control_metrics = 32;
/// The variables of one rejoin message, and the bytes of a value.
inline constexpr std::size_t control_variables = 64;
inline constexpr std::size_t control_value_bytes = 1024;
/// Open sections and armed timers of one worker.
inline constexpr std::size_t worker_sections = 64;
inline constexpr std::size_t worker_timers = 1024;
/// The vault: the header of a slot, the manifest in it, one message of a worker, the workers'
/// connections for each worker, how often a generation is restored without a later one, how much
/// of a slot is allocated before the agent does something else, what a node tells the others, and
/// the longest time that a worker may say a restore took.
inline constexpr std::size_t vault_header_bytes = 4096;
inline constexpr std::uint64_t vault_manifest_bytes = 64 * 1024 * 1024;
inline constexpr std::size_t vault_message_bytes = 4096;
inline constexpr std::size_t vault_connections = 4;
inline constexpr int vault_restores = 3;
inline constexpr std::uint64_t vault_piece_bytes = 64 * 1024 * 1024;
inline constexpr std::size_t vault_report_entries = 16 * 1024;
inline constexpr std::size_t vault_report_bytes = 1024 * 1024;
inline constexpr std::chrono::seconds vault_restore{100'000'000};
/// The shortest time between two records of generations in the journal.
inline constexpr std::chrono::seconds vault_record_interval{10};
/// Connections of all workers of an agent to its control channel, for each worker.
inline constexpr std::size_t control_connections = 8;
/// Lines of one connection that are read within a second; the rest waits in the socket.
inline constexpr int control_lines_per_second = 10'000;
/// Errors of workers on their channels that are logged in one attempt.
inline constexpr int control_complaints = 20;
/// Names of sections for which durations are learned.
inline constexpr std::size_t learned_names = 256;
/// The shortest interval at which workers are sampled; how many files of /proc are read for a
/// sample; and how many suspicions may be reported in one attempt.
inline constexpr std::chrono::milliseconds least_watch_interval{10};
inline constexpr std::size_t watched_files = 20'000;
inline constexpr int worker_suspicions = 64;
/// What is read of a file of /proc: of a small one, of one that lists cgroups or counters, of the
/// table of sockets, and of the memory map of a process.
inline constexpr std::size_t proc_file_bytes = 4096;
inline constexpr std::size_t cgroup_file_bytes = 64 * 1024;
inline constexpr std::size_t socket_table_bytes = 16 * 1024 * 1024;
inline constexpr std::size_t memory_map_bytes = 4 * 1024 * 1024;
/// How late a watch may wake before it concludes that it was suspended itself.
inline constexpr std::chrono::milliseconds watch_lateness{1000};
/// The head of a request to the status server, its headers, and its body.
inline constexpr std::size_t http_request_head_bytes = 8 * 1024;
inline constexpr std::size_t http_request_headers = 64;
inline constexpr std::size_t http_request_body_bytes = 8 * 1024;
/// One answer of the status server.
inline constexpr std::size_t status_answer_bytes = 4 * 1024 * 1024;
/// The shown part of a line that a worker wrote.
inline constexpr std::size_t shown_line_bytes = 2000;
/// How long to wait for a worker's log file when a viewer requests its last lines.
inline constexpr std::chrono::seconds shown_lines_patience{2};
/// Connections to the status server, and how many of them may follow events, so that there is
/// always room for a probe.
inline constexpr std::size_t status_connections = 16;
inline constexpr std::size_t status_followers = 12;
/// How long a client of the status server may take for a request, or to read an answer.
inline constexpr std::chrono::seconds status_request{5};
/// How often clients that follow events get a sign that the server is alive.
inline constexpr std::chrono::seconds status_heartbeat{15};
/// How long a stopping server waits for clients to read the last events.
inline constexpr std::chrono::milliseconds status_farewell{2000};
/// The shortest time between two keep-alives of a node: more would leave no time for anything else.
inline constexpr std::chrono::milliseconds keep_alive_interval{10};
/// Excluded nodes of a job, the length of a name and of the reason, and the longest exclusion: all
/// of them must fit into one message together with everything else.
inline constexpr std::size_t excluded_nodes = 16;
inline constexpr std::size_t node_name_bytes = 64;
inline constexpr std::size_t exclusion_reason_bytes = 128;
inline constexpr std::chrono::hours exclusion_time{24 * 30};
/// How long an agent whose job was closed by another node waits for its own stop request.
inline constexpr std::chrono::milliseconds stop_request_patience{500};
/// Why a job has ended, for all nodes.
inline constexpr std::size_t ending_text_bytes = 1024;
/// Why a job pauses, with the user and the node that paused it.
inline constexpr std::size_t pause_text_bytes = 1024;
/// Commands that the status server carries out at a time, the reason in one, and the time that one
/// may allow.
inline constexpr std::size_t status_commands = 4;
inline constexpr std::size_t command_reason_bytes = 400;
inline constexpr std::chrono::seconds command_time{3600};
/// How long the status server pauses if the system has no resources for a connection.
inline constexpr std::chrono::milliseconds status_pause{200};
/// The token for clients of a status server that is open to other hosts.
inline constexpr std::size_t status_token_least_bytes = 16;
inline constexpr std::size_t status_token_bytes = 256;
/// The shown part of a job: its last attempts, and the ways in which workers ended.
inline constexpr std::size_t viewed_attempts = 64;
inline constexpr std::size_t viewed_exits = 512;
/// The points of a curve of the status page, and the marks of what disturbed the job.
inline constexpr std::size_t curve_points = 256;
inline constexpr std::size_t curve_marks = 64;
/// One report of a node to the node that shows the job (it takes up to twice as much in a message
/// of the rendezvous), how many reports it sends at a time, and how many events per second.
inline constexpr std::size_t node_report_bytes = 30 * 1024;
inline constexpr int node_reports_at_once = 3;
inline constexpr int node_events_per_second = 8;
/// The pause between two reports of a node, and between two rosters of the rendezvous' server.
inline constexpr std::chrono::milliseconds node_report_pause{100};
/// What is accepted from a node in a second: several times what it sends, since the network may
/// delay messages and deliver them together.
inline constexpr int heard_reports_per_second =
    4 * node_reports_at_once * static_cast<int>(std::chrono::seconds(1) / node_report_pause);
inline constexpr int heard_events_per_second = 4 * node_events_per_second;
/// The output of workers that viewers of a job read: a line, whose rest is left out; the last lines
/// with which one begins, and the text of the ranks.
inline constexpr std::size_t read_line_bytes = 8 * 1024;
inline constexpr int read_lines = 10'000;
inline constexpr std::size_t read_ranks_bytes = 1024;
/// How much of the end of a stream is searched for its last lines, and how far behind a reader may
/// be that follows; the text that is read at a time.
inline constexpr std::size_t read_backlog_bytes = 1024 * 1024;
inline constexpr std::size_t read_piece_bytes = 64 * 1024;
/// The readers of a status server, the texts that the other nodes get of them, and the output that
/// waits for one of them.
inline constexpr std::size_t output_readers = 8;
inline constexpr std::size_t output_demand_bytes = 24 * 1024;
inline constexpr std::size_t output_queue_bytes = 4 * 1024 * 1024;
/// How often files of workers are looked at while somebody follows them, and how long a reader
/// waits for the last lines of the other nodes.
inline constexpr std::chrono::milliseconds output_look{50};
inline constexpr std::chrono::milliseconds output_patience{2000};
/// The shown part of other nodes of a job: the nodes, and the workers of all of them.
inline constexpr std::size_t viewed_nodes = 2048;
inline constexpr std::size_t viewed_workers = 4096;
/// The nodes that are remembered as lost.
inline constexpr std::size_t lost_nodes = 64;
/// Faults that a plan of chaos names.
inline constexpr std::size_t chaos_faults = 1000;
/// How long the watch for hung workers pauses after an error.
inline constexpr std::chrono::milliseconds watch_restart{1000};
/// The evidence of one rank, as sent to the node that judges a stall, and the texts in it.
inline constexpr std::size_t rank_digest_bytes = 1024;
inline constexpr std::size_t wait_channel_bytes = 48;
inline constexpr std::size_t failure_digest_bytes = 160;
/// The ranks of one job.
inline constexpr int job_ranks = 1'000'000;
/// A set of ranks as text.
inline constexpr std::size_t rank_set_bytes = 128;
/// What is kept of Python stacks: threads, frames of a thread, the end of a file name, and a
/// function name; and how much text of all stacks of a process is read.
inline constexpr std::size_t stack_threads = 128;
inline constexpr std::size_t stack_frames = 64;
inline constexpr std::size_t stack_file_bytes = 200;
inline constexpr std::size_t stack_function_bytes = 100;
inline constexpr std::size_t traceback_bytes = 1024 * 1024;
/// The dump of PyTorch's recorder: its size, its nesting depth, its entries, the process groups
/// that are kept, and their texts.
inline constexpr std::size_t recorder_dump_bytes = 32 * 1024 * 1024;
inline constexpr std::size_t recorder_depth = 16;
inline constexpr std::size_t recorder_entries = 100'000;
inline constexpr std::size_t recorder_groups = 64;
inline constexpr std::size_t group_name_bytes = 64;
inline constexpr std::size_t collective_name_bytes = 48;
inline constexpr std::size_t collective_sizes_bytes = 64;
inline constexpr std::size_t collective_types_bytes = 32;
/// A verdict on a stall: the ranks that it names, its sentence, and its evidence.
inline constexpr std::size_t blamed_ranks = 64;
inline constexpr std::size_t verdict_sentence_bytes = 1000;
inline constexpr std::size_t verdict_evidence_lines = 16;
inline constexpr std::size_t verdict_evidence_bytes = 400;

}  // namespace elastic::limits
