import Foundation
import Glibc

/// The number by which the gateway knows which replicas run the same code.
package enum CodeEdition {
    /// The ends of the names of files that count: what Node loads. Others may be written while the code runs.
    private static let endings: Set<String> = ["js", "cjs", "mjs", "json", "node", "wasm"]

    /// It is another one for another folder, and when a file of code is added, removed or written; never 0. Files are
    /// not read: their paths, sizes and times count, and those of links but not of what they lead to. Of a version that
    /// scripts/cloud keeps, which is another folder each time, `main.js` alone counts.
    /// - Parameter folder: an absolute path without links.
    package static func of(folder: String) -> UInt64 {
        var edition = digest(Array(folder.utf8))
        for path in isVersion(folder) ? ["main.js"] : files(in: folder) {
            var found = stat()
            guard lstat("\(folder)/\(path)", &found) == 0 else { continue }
            let time = found.st_mtim
            // A sum, since files come in any order.
            edition &+= digest(Array("\(path)\n\(found.st_size) \(time.tv_sec) \(time.tv_nsec)".utf8))
        }
        return max(edition, 1)
    }

    private static func files(in folder: String) -> [String] {
        let paths = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        return paths.compactMap { $0 as? String }.filter { endings.contains(($0 as NSString).pathExtension) }
    }

    private static func isVersion(_ folder: String) -> Bool {
        let parts = folder.split(separator: "/").suffix(2)
        return parts.count == 2 && parts.first?.hasSuffix(".versions") == true && UInt(parts.last ?? "") != nil
    }

    /// FNV-1a; Swift's own hashes differ from process to process.
    private static func digest(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
