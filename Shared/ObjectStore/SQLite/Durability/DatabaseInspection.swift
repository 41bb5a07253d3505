import Foundation
import Logging
import ParseProtocol

/// Looks at a database before it is opened for writing, while the lock is held: whether it is the one that was left
/// here, whole. What is wrong stops the start, since SQLite would begin an empty shop or go on with what is left, and
/// then overwrite the rest.
struct DatabaseInspection {
    let path: String
    /// With `.normal` a power failure may lose the last commits; then what is missing at the end is only reported.
    let synchronous: Synchronous
    let migrator: Migrator
    let logger: Logger

    private static let headerBytes = 100
    /// `quick_check` reads the whole file: so much takes about a second.
    private static let checkedBytesMax = 128 << 20
    private static let checkTimeMax = Duration.seconds(2)

    /// - Parameter descriptor: of the database file.
    /// - Returns: the certificate to go on with; nil for a database that is new.
    /// - Throws: `DatabaseRefused`.
    func inspect(_ descriptor: Int32) throws -> BirthCertificate? {
        let found = BirthCertificate.read(beside: path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StoreError(resultCode: 10, message: "fstat: \(String(cString: strerror(errno)))")
        }
        guard status.st_size > 0 else {
            try requireNew(found)
            return nil
        }
        try inspectPages(descriptor, bytes: Int(status.st_size))
        return try inspectContent(found, bytes: Int(status.st_size))
    }

    private var acceptance: String {
        "Restore it from a copy; to go on with it as it is, remove \(BirthCertificate.path(of: path))."
    }

    /// An empty file is a new database only where there was none.
    private func requireNew(_ found: BirthCertificate.Found) throws {
        guard found == .none else {
            throw DatabaseRefused(
                path, "is missing or empty, although this service had a database.",
                "Restore it from a copy; to begin with an empty one, remove \(BirthCertificate.path(of: path)).")
        }
        guard WriteAheadLog(path: path + "-wal", filePages: 0).state == .empty else {
            throw DatabaseRefused(path, "is empty, but \(path)-wal is not: the database is missing.")
        }
    }

    // MARK: Past SQLite

    private func inspectPages(_ descriptor: Int32, bytes: Int) throws {
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard pread(descriptor, &header, header.count, 0) == header.count,
            header.prefix(16).elementsEqual("SQLite format 3\0".utf8)
        else { throw DatabaseRefused(path, "is not a database any more: its first bytes are not SQLite's.") }
        let stated = Int(header[16]) << 8 | Int(header[17])
        let pageBytes = stated == 1 ? 65_536 : stated
        guard pageBytes >= 512 else { throw DatabaseRefused(path, "is damaged: its header is not SQLite's.") }
        let filePages = UInt32(clamping: bytes / pageBytes)
        let log = WriteAheadLog(path: path + "-wal", filePages: filePages)
        switch log.state {
        case .empty, .sound: break
        case .torn: logger.warning("store.log.torn", metadata: ["store.path": "\(path)"])
        case .damaged(let what):
            let refusal = DatabaseRefused(
                path, "cannot be opened without losing commits: its log \(path)-wal is damaged (\(what)).",
                """
                Restore both from a copy; to go on without what followed, move \(path)-wal away and remove \
                \(BirthCertificate.path(of: path)).
                """
            )
            guard synchronous == .normal else { throw refusal }
            logger.critical("store.log.damaged", metadata: ["store.problem": "\(refusal)"])
        }
        try requireWhole(log, header, filePages: filePages, pageBytes: pageBytes)
    }

    /// Every page up to the last is in the file or in the log.
    private func requireWhole(_ log: WriteAheadLog, _ header: [UInt8], filePages: UInt32, pageBytes: Int) throws {
        // The header's number counts when it was written with the change counter beside it.
        let stated = header.word(24) == header.word(92) ? header.word(28) : 0
        let wanted = log.pageCount > 0 ? log.pageCount : stated
        guard wanted > filePages else { return }
        // SQLite never writes the page with the byte that it locks.
        let lockPage = UInt32(clamping: 0x4000_0000 / pageBytes + 1)
        let missing = (filePages + 1...wanted).first { $0 != lockPage && !log.laterPages.contains($0) }
        guard missing != nil else { return }
        throw DatabaseRefused(path, "is cut short: \(filePages) of \(wanted) pages are there.")
    }

    // MARK: Through SQLite

    /// Reads with a connection that cannot write: closing it leaves the log as it is.
    private func inspectContent(_ found: BirthCertificate.Found, bytes: Int) throws -> BirthCertificate? {
        let connection: any StoreConnection
        let kept: BirthCertificate?
        do {
            connection = try SQLiteConnection(path: path, writing: nil)
            try migrator.requireKnown(in: connection, path)
            kept = try StoreIdentity.read(connection)
            try check(connection, bytes: bytes)
        } catch let error as StoreError where [11, 26].contains(error.resultCode & 0xFF) {
            throw DatabaseRefused(path, "is damaged: \(error.message).")
        }
        defer { connection.close() }
        guard case .certificate(let certificate) = found else { return kept }
        guard let kept else {
            throw DatabaseRefused(path, "is not the database that this service had: it has no identity.", acceptance)
        }
        guard kept.database == certificate.database else {
            throw DatabaseRefused(path, "is not the database that this service had.", acceptance)
        }
        guard kept.generation >= certificate.generation else {
            let refusal = DatabaseRefused(
                path,
                """
                is older than what this service wrote (\(kept.generation) instead of \(certificate.generation)): \
                commits are lost, or it is an older copy.
                """,
                acceptance)
            guard synchronous == .normal else { throw refusal }
            logger.critical("store.database.behind", metadata: ["store.problem": "\(refusal)"])
            return kept
        }
        return kept
    }

    private func check(_ connection: any StoreConnection, bytes: Int) throws {
        guard bytes <= Self.checkedBytesMax else { return }
        do {
            let answer = try connection.limited(to: Self.checkTimeMax) { try connection.rows("PRAGMA quick_check(1)") }
            guard let text = try answer.first?.text(0), text != "ok" else { return }
            throw DatabaseRefused(path, "is damaged: \(text).")
        } catch let error as ParseError where error.code == .timeout {
            logger.notice("store.check.ended", metadata: ["store.path": "\(path)"])
        }
    }
}
