import Foundation
import Logging
import ParseProtocol

/// The writer of a SQLite file: the process that holds the file's lock (`WriterLock`). `WriterThread` drives it.
final class SQLiteWriter: StoreWriter {
    private let settings: WriterThread.Settings
    private let path: String
    private let logger: Logger
    private let lock: WriterLock
    private var register: CertificateFile?
    private var memberRegister: CertificateFile?
    private var board: ChangeBoard?
    private var connection: SQLiteConnection?

    init(path: String, settings: WriterThread.Settings, logger: Logger) {
        self.path = path
        self.settings = settings
        self.logger = logger
        lock = WriterLock(path: path)
    }

    var boardIdentity: UInt64 { board?.identity ?? 0 }
    let retryInterval = 0.025
    var isInPlace: Bool { lock.isFileCurrent }

    /// The file was removed or replaced: further writes would be lost, and another process may write the new file.
    var refusal: DatabaseRefused? { DatabaseRefused(path, "was removed or replaced while it was written.") }

    func take() throws -> Bool { try lock.take() }
    func release() { lock.release() }

    func open() throws -> (connection: any StoreConnection, schema: Schema) {
        do {
            return try opened()
        } catch let error as StoreError where StorageTrouble(error) == .damaged {
            throw DatabaseRefused(path, "is damaged: \(error.message).")
        } catch let error as StoreError where StorageTrouble(error) == .readOnly {
            // The lock opened the file for writing. A reader of this process opened the log's index, which all of its
            // connections share, while the disk was read-only: only a new process can write.
            throw DatabaseRefused(
                path, "can be read but not written by this process (\(error.message)).",
                """
                The next start writes it, unless its -wal and -shm are read-only: \
                \(StorageTrouble.forbidden.remedy(for: path))
                """)
        }
    }

    private func opened() throws -> (connection: any StoreConnection, schema: Schema) {
        // Before the file is opened: a log that is read again may contain commits that no other process has seen yet.
        board = try settings.announcement.board(beside: path, logger)
        let kept = try DatabaseInspection(
            path: path, memberRecord: settings.memberRecord, synchronous: settings.synchronous,
            migrator: settings.migrator, logger: logger
        ).inspect(lock.descriptor)
        let connection = try SQLiteConnection(path: path, writing: settings.synchronous)
        try settings.migrator.migrate(connection, settings, logger)
        var certificate: DatabaseCertificate?
        let schema = try settings.prepare(connection) { certificate = try StoreIdentity.begin(kept, $0) }
        if let certificate {
            register = try CertificateFile(certificate, at: DatabaseCertificate.path(of: path))
            memberRegister = settings.memberRegister(certificate, logger)
        }
        self.connection = connection
        return (connection, schema)
    }

    func ready() { board?.settle() }

    func commit(_ changes: ChangeSet, hasChanged: Bool) throws {
        guard let connection else { throw ParseError.internalError }
        var noted: Int64?
        if hasChanged { noted = try noteGeneration(connection) }
        board?.begin(changes)
        try connection.execute("COMMIT")
        if let noted { register?.note(noted) }
    }

    func ended(_ changes: ChangeSet) { board?.end(changes) }

    /// Counts a group with changes. This adds one page to the log and does not wait for the disk.
    private func noteGeneration(_ connection: SQLiteConnection) throws -> Int64? {
        guard let register else { return nil }
        let generation = register.certificate.generation + 1
        try StoreIdentity.note(generation, connection)
        return generation
    }

    func answered() {
        guard let connection, connection.log.copying.isDue else { return }
        copyLog(connection)
    }

    func doIdleWork(staysIdle: () -> Bool) {
        guard let connection else { return }
        var hasCopied = false
        while connection.log.copying.isWorthwhile, staysIdle(), lock.isFileCurrent {
            copyLog(connection)
            hasCopied = true
        }
        // The pages of a burst are seldom needed again, and the system's cache has them too. Failure changes nothing.
        if hasCopied { try? connection.executeOnce("PRAGMA shrink_memory") }
    }

    private func copyLog(_ connection: SQLiteConnection) {
        do {
            try connection.copyLog()
        } catch {
            logger.error("store.checkpoint.failed", metadata: ["store.error": "\(error)"])
        }
    }

    /// Copies the whole log into the database file, so that the file alone is a valid copy. While replicas are reading,
    /// a part may remain in the log, which is equally safe.
    func close() {
        defer {
            connection?.close()
            connection = nil
            board?.unsettle()
            board = nil
        }
        guard let connection, isInPlace else { return }
        do {
            let answer = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            if try answer.first?.int(0) != 0 { logger.notice("store.checkpoint.busy") }
        } catch {
            logger.error("store.checkpoint.failed", metadata: ["store.error": "\(error)"])
        }
        guard let register else { return }
        register.note(register.certificate.generation, durably: true)
        memberRegister?.note(register.certificate.generation, durably: true)
    }
}
