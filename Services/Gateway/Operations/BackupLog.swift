import ParseProtocol

/// The log that `scripts/backup` writes beside the shop's data, one line of JSON per backup.
struct BackupLog: Sendable {
    let path: String

    /// Entries in the response.
    private static let entriesMax = 20
    /// Bytes read from the end of the file: far more than that many lines have.
    private static let bytesMax: UInt64 = 64 << 10
    private static let disk = BlockingQueue("backups")

    /// The entries, newest first; empty when there is no backup, or when the log is not on the gateway's disk.
    func entries() async -> [JSON] {
        let path = path
        return await Self.disk.run { Self.entries(in: FileTail.text(of: path, bytes: Self.bytesMax)) }
    }

    /// Skips lines that cannot be parsed.
    static func entries(in text: String) -> [JSON] {
        let lines = text.split(separator: "\n").compactMap { try? JSON(parsing: Array($0.utf8)) }
        return Array(lines.filter { $0["at"]?.stringValue != nil }.suffix(entriesMax).reversed())
    }
}
