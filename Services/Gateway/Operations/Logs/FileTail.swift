import Foundation

/// Reads the end of a file that other processes write.
enum FileTail {
    /// The last lines of a file, at most `bytes`; empty when it does not exist. Blocks.
    static func text(of path: String, bytes: UInt64) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd() else { return "" }
        let start = end > bytes ? end - bytes : 0
        guard (try? file.seek(toOffset: start)) != nil, let data = try? file.read(upToCount: Int(bytes)) else {
            return ""
        }
        let text = String(decoding: data, as: UTF8.self)
        // The first line of the part is usually incomplete.
        return start == 0 ? text : String(text.drop { $0 != "\n" })
    }
}
