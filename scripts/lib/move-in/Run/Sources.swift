import Foundation

/// Opens the old server that SOURCE names. Each kind of source decides whether it can read the path.
enum Sources {
    static func open(_ source: String, prefix: String) async throws -> any OldServer {
        if source.hasPrefix("postgresql://") || source.hasPrefix("postgres://") {
            return try await PostgreSQLServer.open(source)
        }
        if source.hasPrefix("https://") || source.hasPrefix("http://") {
            let variables = ProcessInfo.processInfo.environment
            guard let id = variables["SATCHEL_OLD_APP_ID"], let key = variables["SATCHEL_OLD_MASTER_KEY"] else {
                throw MoveInError(
                    "Set SATCHEL_OLD_APP_ID and SATCHEL_OLD_MASTER_KEY to the old server's app id and master key."
                )
            }
            return try await ParseServer.open(url: source, applicationId: id, masterKey: key)
        }
        guard !source.contains("://") else { throw MoveInError("\(scheme(source)) is no kind of source. \(forms)") }
        guard FileManager.default.fileExists(atPath: source) else { throw MoveInError("\(source) does not exist.") }
        if let dump = try PostgreSQLDump.open(source) { return dump }
        // Before MongoDB's: mongoexport writes JSON files too, but without `results`.
        if let folder = try ExportFolder.open(source) { return folder }
        if let dump = try MongoDump.open(source, prefix: prefix) { return dump }
        throw MoveInError("\(source) is nothing that can be read. \(forms)")
    }

    private static let forms = """
        SOURCE is postgresql://…, https://… of a server, a file of pg_dump, a folder or archive of mongodump, files of \
        mongoexport, or a hosted Parse's folder of JSON files.
        """

    /// The part of a URL that has no password.
    private static func scheme(_ source: String) -> String { source.prefix { $0 != ":" } + "://" }
}
