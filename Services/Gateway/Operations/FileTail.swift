import Foundation

/// The end of a file that others write.
enum FileTail {
    /// The last lines of a file, at most so many bytes of them; empty where there is none. Blocks.
    static func text(of path: String, bytes: UInt64) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd() else { return "" }
        let start = end > bytes ? end - bytes : 0
        guard (try? file.seek(toOffset: start)) != nil, let data = try? file.read(upToCount: Int(bytes)) else {
            return ""
        }
        let text = String(decoding: data, as: UTF8.self)
        // The first line of a part is seldom whole.
        return start == 0 ? text : String(text.drop { $0 != "\n" })
    }
}
