import NIOHTTP1
import ParseProtocol

/// The requests of file scenarios: uploads as SDKs send them, and downloads.
extension ParseClient {
    /// A raw upload: the bytes with their content type.
    package func upload(_ content: [UInt8], as name: String, type: String?) async throws -> Answer {
        try await send(
            .POST, "/files/\(name)", headers: credentials + (type.map { [("Content-Type", $0)] } ?? []), body: content)
    }

    /// Downloads without keys. `path` is relative to the mount.
    package func download(_ path: String, _ headers: [(String, String)] = []) async throws -> Answer {
        try await send(.GET, path, headers: headers)
    }

    /// The path of a file's URL below the mount.
    package func path(of name: String) -> String { "/files/satchel/\(name)" }
}

extension JSON {
    package static func file(_ name: String) -> JSON { ["__type": "File", "name": .string(name)] }
}
