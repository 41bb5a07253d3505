import Foundation
import Logging
import ParseProtocol

/// Checks a database before `SQLiteWriter` opens it for writing, while the lock is held: whether it is the database
/// that the service left, and complete. An error aborts the start. Otherwise SQLite would begin an empty shop, or
/// continue with the remains and overwrite the rest.
struct DatabaseInspection {
    let path: String
    /// See `ClassStore.init`.
    let memberRecord: String?
    /// With `.normal` a power failure may lose the last commits, so missing commits at the end are only logged.
    let synchronous: Synchronous
    let migrator: Migrator
    let logger: Logger

    private static let headerBytes = 100
    /// Smaller files are checked at each start, others after an unclean stop: a file of this size takes about a second.
    private static let alwaysCheckedBytesMax = 128 << 20
    /// Writes wait for the check. A larger file than can be read in this time goes on partly unchecked.
    private static let checkTimeMax = Duration.seconds(2)

    /// - Parameter descriptor: of the database file.
    /// - Returns: the certificate to continue with; nil for a new database.
    /// - Throws: `DatabaseRefused`.
    func inspect(_ descriptor: Int32) throws -> DatabaseCertificate? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StoreError(resultCode: 10, message: "fstat: \(String(cString: strerror(errno)))")
        }
        let found = expected(isEmpty: status.st_size == 0)
        guard status.st_size > 0 else {
            try requireNew(found)
            return nil
        }
        let log = try inspectPages(descriptor, bytes: Int(status.st_size))
        return try inspectContent(found, log, bytes: Int(status.st_size))
    }

    /// The certificate that the database must match: the one next to it, or the one in the suite's record of members if
    /// that names another database or a later generation. An operator who removes the certificate next to a database
    /// accepts that database as it is. A missing database remains refused.
    private func expected(isEmpty: Bool) -> DatabaseCertificate.Found {
        let beside = DatabaseCertificate.read(beside: path)
        guard let memberRecord, isEmpty || beside != .none else { return beside }
        switch DatabaseCertificate.read(at: memberRecord) {
        case .none: return beside
        case .unreadable: return isEmpty && beside == .none ? .unreadable : beside
        // `scripts/move` brought the data back from a server.
        case .certificate(.ofServer) where !isEmpty: return beside
        case .certificate(let recorded):
            guard case .certificate(let found) = beside, found.database == recorded.database else {
                return .certificate(recorded)
            }
            return .certificate(found.generation < recorded.generation ? recorded : found)
        }
    }

    /// - Parameter purpose: the operator's alternative to a restore.
    private func acceptance(to purpose: String = "go on with what SQLite reads of it") -> String {
        let certificate = DatabaseCertificate.path(of: path)
        let service = URL(fileURLWithPath: certificate).deletingPathExtension().lastPathComponent
        return """
            Restore it from a copy (scripts/restore). To \(purpose): scripts/accept-loss \(service), \
            which keeps copies of all its files and removes \(certificate).
            """
    }

    /// An empty file counts as a new database only if the service had none before.
    private func requireNew(_ found: DatabaseCertificate.Found) throws {
        guard found == .none else {
            throw DatabaseRefused(
                path, "is missing or empty, although this service had a database.",
                acceptance(to: "begin with an empty one"))
        }
        guard WriteAheadLog(path: path + "-wal", filePages: 0).state == .empty else {
            throw DatabaseRefused(path, "is empty, but \(path)-wal is not: the database is missing.")
        }
    }

    // MARK: Past SQLite

    private func inspectPages(_ descriptor: Int32, bytes: Int) throws -> WriteAheadLog {
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard pread(descriptor, &header, header.count, 0) == header.count,
            header.prefix(16).elementsEqual("SQLite format 3\0".utf8)
        else { throw DatabaseRefused(path, "is not a database any more: its first bytes are not SQLite's.") }
        let stated = Int(header[16]) << 8 | Int(header[17])
        let pageBytes = stated == 1 ? 65_536 : stated
        guard pageBytes >= 512 else { throw DatabaseRefused(path, "is damaged: its header is not SQLite's.") }
        let filePages = UInt32(clamping: bytes / pageBytes)
        let log = WriteAheadLog(path: path + "-wal", filePages: filePages)
        if log.state == .torn { logger.warning("store.log.torn", metadata: ["store.path": "\(path)"]) }
        try requireWhole(log, header, filePages: filePages, pageBytes: pageBytes)
        return log
    }

    /// Checks that every page up to the last is in the file or in the log.
    private func requireWhole(_ log: WriteAheadLog, _ header: [UInt8], filePages: UInt32, pageBytes: Int) throws {
        // The page count in the header is valid only if it was written with the same change counter.
        let stated = header.word(24) == header.word(92) ? header.word(28) : 0
        let wanted = log.pageCount > 0 ? log.pageCount : stated
        guard wanted > filePages else { return }
        // SQLite never writes the page that contains its lock bytes.
        let lockPage = UInt32(clamping: 0x4000_0000 / pageBytes + 1)
        let missing = (filePages + 1...wanted).first { $0 != lockPage && !log.laterPages.contains($0) }
        guard missing != nil else { return }
        throw DatabaseRefused(path, "is cut short: \(filePages) of \(wanted) pages are there.")
    }

    // MARK: Through SQLite

    /// Reads with a read-only connection: closing it leaves the log unchanged.
    private func inspectContent(
        _ found: DatabaseCertificate.Found, _ log: WriteAheadLog, bytes: Int
    ) throws -> DatabaseCertificate? {
        let connection: SQLiteConnection
        let kept: DatabaseCertificate?
        do {
            connection = try SQLiteConnection(path: path, writing: nil)
            // A bad sector is then an error. Reading a mapped file would end the process.
            try connection.executeOnce("PRAGMA mmap_size = 0")
            kept = try StoreIdentity.read(connection)
            // Another service's database would count as one of a newer release.
            if let kept, case .certificate(let certificate) = found, kept.database != certificate.database {
                throw DatabaseRefused(path, "is not the database that this service had.", acceptance())
            }
            try migrator.requireKnown(in: connection, path)
            // A clean stop empties the log.
            if bytes <= Self.alwaysCheckedBytesMax || log.state != .empty { try check(connection) }
        } catch let error as StoreError where [11, 26].contains(error.resultCode & 0xFF) {
            throw DatabaseRefused(path, "is damaged: \(error.message).")
        }
        defer { connection.close() }
        try requireLog(log, found, kept)
        guard case .certificate(let certificate) = found else { return kept }
        guard let kept else {
            throw DatabaseRefused(path, "is not the database that this service had: it has no identity.", acceptance())
        }
        guard kept.generation >= certificate.generation else {
            try refuse(
                """
                is older than what this service wrote (\(kept.generation) instead of \(certificate.generation)): \
                commits are lost, or it is an older copy.
                """)
            return kept
        }
        return kept
    }

    /// A log with frames that SQLite does not read is accepted if none of them proves a later commit, and if the
    /// readable part reaches the certificate's generation.
    private func requireLog(
        _ log: WriteAheadLog, _ found: DatabaseCertificate.Found, _ kept: DatabaseCertificate?
    ) throws {
        guard case .broken(let what) = log.state else { return }
        if let kept, log.isReadable {
            let confirmed = max(certified(found, kept), (log.latestGeneration(of: kept.database) ?? 0) - 1)
            if kept.generation >= confirmed {
                logger.notice("store.log.leftovers", metadata: ["store.path": "\(path)", "store.log": "\(what)"])
                return
            }
        }
        try refuse("cannot be opened without losing commits: its log \(path)-wal is damaged (\(what)).")
    }

    /// The generation that the certificate of this database confirms; 0 without one.
    private func certified(_ found: DatabaseCertificate.Found, _ kept: DatabaseCertificate) -> Int64 {
        guard case .certificate(let certificate) = found, certificate.database == kept.database else { return 0 }
        return certificate.generation
    }

    /// - Throws: the refusal. With `.normal`, where a power failure may lose commits, it is only logged.
    private func refuse(_ what: String) throws {
        let refusal = DatabaseRefused(path, what, acceptance())
        guard synchronous == .normal else { throw refusal }
        logger.critical("store.commits.lost", metadata: ["store.problem": "\(refusal)"])
    }

    private func check(_ connection: SQLiteConnection) throws {
        switch try QuickCheck.run(connection, within: Self.checkTimeMax) {
        case .sound: return
        case .damaged(let text): throw DatabaseRefused(path, "is damaged: \(text).")
        case .unfinished:
            logger.notice(
                "The check of the database takes too long. It goes on unchecked.", metadata: ["store.path": "\(path)"])
        }
    }
}
