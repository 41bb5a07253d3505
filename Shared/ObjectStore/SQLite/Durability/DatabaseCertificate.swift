import Foundation
import ParseProtocol

/// The small file `<service>.born` next to a database. It records that the database exists, its identity, and the
/// generation of commits up to which it was written. A copy of the database needs no certificate: it gets a new one
/// when a service is started with it.
struct DatabaseCertificate: Sendable, Equatable {
    /// The database's identity, as in the table `storeIdentity`.
    var database: String
    /// Counts starts and commits. It is written here after the commit, without waiting for the disk. A sound database
    /// therefore has at least this generation; a database that lost its last commits has a lower one.
    var generation: Int64

    static func path(of database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(".sqlite".count)) : database) + ".born"
    }

    /// The result of reading a certificate.
    enum Found: Equatable {
        case none
        /// The file exists but is not a certificate, or cannot be read.
        case unreadable
        case certificate(DatabaseCertificate)
    }

    static func read(beside database: String) -> Found { read(at: path(of: database)) }

    static func read(at path: String) -> Found {
        guard let data = FileManager.default.contents(atPath: path) else {
            // A file that cannot be read is not a missing one: an empty database would count as new.
            return access(path, F_OK) == 0 || errno != ENOENT ? .unreadable : .none
        }
        guard let json = try? JSON(parsing: Array(data)), let id = json["database"]?.stringValue,
            let generation = json["generation"]?.intValue
        else { return .unreadable }
        return .certificate(DatabaseCertificate(database: id, generation: generation))
    }

    /// The entry in the suite's record of members for a service with its data on a server, which has no identity.
    static let ofServer = DatabaseCertificate(database: "postgresql", generation: 0)

    /// Always the same length, far below a disk sector, so that each version replaces the former one completely.
    var bytes: [UInt8] {
        let digits = String(generation)
        let padding = String(repeating: " ", count: max(0, 20 - digits.count))
        return Array("{\"database\":\"\(database)\",\"generation\":\(digits)}\(padding)\n".utf8)
    }
}

/// Keeps a certificate file up to date. Only the writer's thread uses it.
final class CertificateFile {
    private(set) var certificate: DatabaseCertificate
    private let descriptor: Int32

    /// Writes the certificate to the disk.
    /// - Throws: `StoreError` when it cannot be written.
    init(_ certificate: DatabaseCertificate, at path: String) throws {
        self.certificate = certificate
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(systemError: errno, "cannot open \(path)")
        }
        let bytes = certificate.bytes
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, ftruncate(descriptor, off_t(bytes.count)) == 0,
            fsync(descriptor) == 0
        else { throw StoreError(resultCode: 13, message: "cannot write \(path): \(String(cString: strerror(errno)))") }
        try? DurableFile.synchronize(folder: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    deinit { close(descriptor) }

    /// Records a committed generation. A failure, such as a full disk, is harmless: the certificate may be behind the
    /// database.
    /// - Parameter durably: waits for the disk.
    func note(_ generation: Int64, durably: Bool = false) {
        certificate.generation = generation
        let bytes = certificate.bytes
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, durably else { return }
        _ = fdatasync(descriptor)
    }
}
