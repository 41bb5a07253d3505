/// A metric for operators' monitoring (`GET /metrics`): all of its samples have the same meaning, unit and kind.
public struct Metric: Sendable, Hashable {
    /// How its values change.
    public enum Kind: String, Sendable {
        /// Grows from the start of its process.
        case counter
        case gauge
        case histogram
    }

    /// The name, with its unit; the samples of a counter have `_total` behind it.
    public let name: String
    /// How its values change.
    public let kind: Kind
    /// One sentence.
    public let help: String

    /// - Parameters:
    ///   - name: of lower-case words and underscores.
    ///   - help: one sentence.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}

/// The metrics of each process. A figure of any other name is dropped, so that each metric has one help text.
extension Metric {
    /// The memory of a process.
    public static let residentMemory = Metric(
        "satchel_process_resident_memory_bytes", .gauge, "Memory that the process occupies.")
    /// The open files, sockets and pipes of a process.
    public static let openFiles = Metric("satchel_process_open_fds", .gauge, "Open file descriptors.")
    /// The limit of these.
    public static let openFilesMax = Metric("satchel_process_max_fds", .gauge, "Limit of open file descriptors.")
    /// The processor time of a process.
    public static let processorTime = Metric(
        "satchel_process_cpu_seconds", .counter, "Processor time of the process.")
    /// The start of a process.
    public static let startTime = Metric(
        "satchel_process_start_time_seconds", .gauge, "Start of the process, since 1970.")
    /// The clock of a process.
    public static let clock = Metric(
        "satchel_process_clock_seconds", .gauge, "The wall clock of the process, in seconds since 1970.")
    /// The room on the disk.
    public static let diskFree = Metric(
        "satchel_disk_free_bytes", .gauge, "Free space of the disk that has the data folder.")
    /// The transactions of a store.
    public static let storeCommits = Metric(
        "satchel_store_commits", .counter, "Commits that changed something; each is one fsync for a group of writes.")
    /// The writes of a store, several of which share a commit.
    public static let storeWrites = Metric("satchel_store_writes", .counter, "Writes in these commits.")
    /// The time that these transactions took to end.
    public static let storeCommitTime = Metric(
        "satchel_store_commit_seconds", .counter, "Time that these commits took, most of it for the disk.")
    /// The transactions that were retried.
    public static let storeRepeats = Metric(
        "satchel_store_repeated_groups", .counter, "Commits that were retried after a conflict or a failure.")
    /// The reads and writes that wait in a process.
    public static let storeQueue = Metric(
        "satchel_store_queued_jobs", .gauge, "Reads and writes that wait for a thread of the store.")
    /// The size of a write-ahead log.
    public static let storeLog = Metric("satchel_store_wal_bytes", .gauge, "Size of SQLite's write-ahead log.")
    /// The size of a database file.
    public static let storeFile = Metric(
        "satchel_store_database_bytes", .gauge, "Size of the SQLite file, without its log.")
    /// The messages of an outbox.
    public static let outboxMessages = Metric(
        "satchel_outbox_messages", .gauge, "Messages to other services that wait, or are parked after refusals.")
    /// The age of an outbox.
    public static let outboxAge = Metric(
        "satchel_outbox_oldest_age_seconds", .gauge, "Time since the oldest waiting message was first seen waiting.")
    /// The refusals by quotas.
    public static let quotaRefusals = Metric(
        "satchel_quota_refusals", .counter, "Requests that a quota of clients refused.")
    /// The mails to send.
    public static let mailsQueued = Metric("satchel_mails_queued", .gauge, "Mails that are not sent yet.")
    /// The mails that left the queue.
    public static let mails = Metric("satchel_mails", .counter, "Mails that left the queue, by outcome.")
    /// The notifications to send.
    public static let pushesQueued = Metric(
        "satchel_push_deliveries_queued", .gauge, "Notifications to devices that are not sent yet.")
    /// The finished notifications.
    public static let pushes = Metric(
        "satchel_push_deliveries", .counter, "Notifications to devices that left the queue, by outcome.")
    /// The undecided charges and refunds.
    public static let paymentsOpen = Metric(
        "satchel_payments_open", .gauge, "Charges and refunds that the provider has not decided in five minutes.")
    /// The decided charges and refunds.
    public static let payments = Metric(
        "satchel_payments", .counter, "Charges and refunds that the payment provider decided, by outcome.")
    /// The calls of cloud code.
    public static let codeCalls = Metric(
        "satchel_cloud_code_calls", .counter, "Calls of functions and triggers of cloud code, by outcome.")

    private static let ofProcesses: [String: Metric] = Dictionary(
        [
            residentMemory, openFiles, openFilesMax, processorTime, startTime, clock, diskFree, storeCommits,
            storeWrites, storeCommitTime, storeRepeats, storeQueue, storeLog, storeFile, outboxMessages, outboxAge,
            quotaRefusals, mailsQueued, mails, pushesQueued, pushes, paymentsOpen, payments, codeCalls,
        ].map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// The metric of processes with that name; nil when there is none.
    public static func named(_ name: String) -> Metric? { ofProcesses[name] }
}
