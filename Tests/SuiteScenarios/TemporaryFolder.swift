import Foundation
import ParseProtocol

/// A temporary folder for a scenario's files; its creator removes it.
struct TemporaryFolder: Sendable {
    private let root: String

    init() throws {
        // Short, because paths of unix sockets have at most 107 bytes.
        root = "/tmp/satchel-backup-\(Names.random(8))"
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    /// The names in one of its folders, unordered; an empty name means the folder itself.
    func names(_ name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name))
    }

    /// Copies one of its folders to a new name.
    func copy(_ name: String) throws -> String {
        let target = path("\(name)-\(Names.random(6))")
        try FileManager.default.copyItem(atPath: path(name), toPath: target)
        return target
    }
}
