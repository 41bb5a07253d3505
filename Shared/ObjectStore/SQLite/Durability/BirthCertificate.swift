import Foundation
import ParseProtocol

/// The small file `<service>.born` beside a database: that it exists, which one it is, and up to which generation of
/// commits it was written. A copy of the database alone needs none; it gets a new one where it is started.
struct BirthCertificate: Sendable, Equatable {
    /// The database's identity, which the table `storeIdentity` holds too.
    var database: String
    /// Counts starts and commits. Noted here after the commit and without waiting for the disk, so that a sound
    /// database is never behind, and one that lost its last commits is.
    var generation: Int64

    static func path(of database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(".sqlite".count)) : database) + ".born"
    }

    /// The finding where a certificate should be.
    enum Found: Equatable {
        case none
        /// There is a file, but not one of ours.
        case unreadable
        case certificate(BirthCertificate)
    }

    static func read(beside database: String) -> Found {
        guard let data = FileManager.default.contents(atPath: path(of: database)) else { return .none }
        guard let json = try? JSON(parsing: Array(data)), let id = json["database"]?.stringValue,
            let generation = json["generation"]?.intValue
        else { return .unreadable }
        return .certificate(BirthCertificate(database: id, generation: generation))
    }

    /// Always of one length, so that a later one overwrites an earlier one as a whole: it is far below a sector.
    var bytes: [UInt8] {
        let digits = String(generation)
        let padding = String(repeating: " ", count: max(0, 20 - digits.count))
        return Array("{\"database\":\"\(database)\",\"generation\":\(digits)}\(padding)\n".utf8)
    }
}

/// Keeps a certificate up to date. Used by the writer's thread alone.
final class BirthRegister {
    private(set) var certificate: BirthCertificate
    private let descriptor: Int32

    /// Writes the certificate to the disk.
    /// - Throws: `StoreError` when it cannot be written.
    init(_ certificate: BirthCertificate, beside database: String) throws {
        let path = BirthCertificate.path(of: database)
        self.certificate = certificate
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(resultCode: 14, message: "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        let bytes = certificate.bytes
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, ftruncate(descriptor, off_t(bytes.count)) == 0,
            fsync(descriptor) == 0
        else { throw StoreError(resultCode: 13, message: "cannot write \(path): \(String(cString: strerror(errno)))") }
        try? DurableFile.synchronize(folder: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    deinit { close(descriptor) }

    /// Notes a generation that is committed. A full disk does not matter: the certificate is behind then, as it may be.
    /// - Parameter durably: waits for the disk.
    func note(_ generation: Int64, durably: Bool = false) {
        certificate.generation = generation
        let bytes = certificate.bytes
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, durably else { return }
        _ = fdatasync(descriptor)
    }
}
