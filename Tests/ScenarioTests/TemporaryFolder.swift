import Foundation
import ParseProtocol

/// A folder of its own for a scenario's files; whoever makes it removes it.
struct TemporaryFolder: Sendable {
    private let root: String

    init() throws {
        // Short, because of the unix sockets below a data directory.
        root = "/tmp/satchel-backup-\(Names.random(8))"
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    /// The names in one of its folders, in no order; of the folder itself for an empty name.
    func names(_ name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name))
    }

    /// A copy of one of its folders, under a name of its own.
    func copy(_ name: String) throws -> String {
        let target = path("\(name)-\(Names.random(6))")
        try FileManager.default.copyItem(atPath: path(name), toPath: target)
        return target
    }
}
