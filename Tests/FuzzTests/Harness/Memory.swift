import Foundation

enum Memory {
    /// The resident memory of a process in bytes; 0 when the process does not exist.
    static func ofProcess(_ id: String) -> Int {
        guard let bytes = FileManager.default.contents(atPath: "/proc/\(id)/statm") else { return 0 }
        let pages = String(decoding: bytes, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    static func text(_ bytes: Int) -> String { "\((Double(bytes) / 104_857.6).rounded() / 10) MB" }
}
