import ParseProtocol

/// The notes that `scripts/backup` leaves beside the shop's data, one line of JSON for each backup.
struct BackupLog: Sendable {
    let path: String

    /// More than anybody looks at.
    private static let entriesMax = 20
    /// Bytes from the end of the file: far more than so many lines have.
    private static let bytesMax: UInt64 = 64 << 10
    private static let disk = BlockingQueue("backups")

    /// The newest first; none where no backup was made, or where its notes are not on the gateway's disk.
    func entries() async -> [JSON] {
        let path = path
        return await Self.disk.run { Self.entries(in: FileTail.text(of: path, bytes: Self.bytesMax)) }
    }

    /// A line that cannot be read is left out.
    static func entries(in text: String) -> [JSON] {
        let lines = text.split(separator: "\n").compactMap { try? JSON(parsing: Array($0.utf8)) }
        return Array(lines.filter { $0["at"]?.stringValue != nil }.suffix(entriesMax).reversed())
    }
}
