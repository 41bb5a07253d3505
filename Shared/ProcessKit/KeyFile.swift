import Cryptography
import Foundation
import ParseProtocol

/// A file with a random key, created at the first start. Only the process's user can read it.
public struct KeyFile: Sendable {
    /// Length of a key in bytes.
    public static let bytes = 32

    private let path: String
    private let record: String?

    /// The file at `path`; it is neither read nor created yet.
    /// - Parameter record: the file in which the suite records the key's fingerprint (`memberRecord`), so that a start
    ///   without the key is refused.
    public init(path: String, record: String? = nil) {
        self.path = path
        self.record = record
    }

    /// The file in which the suite records that a database or key exists. `name` is the argument of
    /// `scripts/accept-loss`.
    public static func memberRecord(_ name: String, in dataDirectory: String) -> String {
        "\(dataDirectory)/members/\(name)"
    }

    /// The key in the file. When replicas start together, one creates the file and all read it; the file appears
    /// atomically.
    /// - Throws: `StartupProblem` when it can be neither read nor created, is not a key, or is not the suite's recorded
    ///   key.
    public func key() throws -> [UInt8] {
        let recorded = record.flatMap { FileManager.default.contents(atPath: $0) }
            .map { String(decoding: $0, as: UTF8.self) }
        let known = try read()
        if known == nil {
            guard recorded == nil else { throw lost("is missing, although this suite had it") }
            try make()
        }
        guard let key = try known ?? read() else { throw StartupProblem("\(path) could not be made.") }
        let fingerprint = Self.fingerprint(key)
        guard let recorded else {
            note(fingerprint)
            return key
        }
        guard recorded == fingerprint else { throw lost("is not the key that this suite had") }
        return key
    }

    private func lost(_ what: String) -> StartupProblem {
        let name = URL(fileURLWithPath: record ?? path).lastPathComponent
        return StartupProblem(
            """
            \(path) \(what). Restore it from a backup (docs/guides/backup.md). To start with a new key and \
            lose what this key encrypted: scripts/accept-loss \(name)
            """)
    }

    /// Distinguishes keys without revealing them: a key is random.
    private static func fingerprint(_ key: [UInt8]) -> String {
        Array(SHA256.hash(data: Array("satchel key fingerprint".utf8) + key)).prefix(8).hex
    }

    /// If writing the record fails, the next start writes it.
    private func note(_ fingerprint: String) {
        guard let record else { return }
        let folder = URL(fileURLWithPath: record).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? DurableFile.write(Array(fingerprint.utf8), to: record, draft: "\(record).\(Names.random(12))")
    }

    private func read() throws -> [UInt8]? {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch {
            // An existing but unreadable file must not count as missing: a new key could not open what the existing key
            // encrypted.
            throw StartupProblem("\(path) cannot be read.")
        }
        let digits = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let bytes = [UInt8](hex: digits), bytes.count == Self.bytes else {
            throw StartupProblem("\(path) holds no key. Put the file back from a copy of the data directory.")
        }
        return bytes
    }

    private func make() throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        do throws(DurableFile.Failure) {
            // If the name is taken, another replica has created the key, and that key is used.
            try DurableFile.write(
                Array(Hex.random(bytes: Self.bytes).utf8), to: path, draft: "\(path).\(Names.random(12))", taken: .keep)
        } catch {
            throw StartupProblem("\(path) cannot be written: \(error).")
        }
    }
}
