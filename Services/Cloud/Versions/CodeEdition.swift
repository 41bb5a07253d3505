import Foundation
import Glibc
import ParseProtocol

/// The number by which the gateway recognises replicas with the same code.
package enum CodeEdition {
    /// File extensions that count: files that Node loads. Other files may change while the code runs.
    private static let endings: Set<String> = ["js", "cjs", "mjs", "json", "node", "wasm"]
    /// Maximum bytes read per file; for a larger file only the size counts.
    private static let readMax = 1 << 20

    /// Changes when a file of code is added, removed or changed; never 0. Equal files give the same number elsewhere,
    /// for example in containers with separate copies. Of modules, only the sizes and `package.json` count. Files and
    /// folders whose names begin with a dot are ignored, and so are linked folders.
    ///
    /// A version that scripts/cloud stores has its own folder and never changes, so its path counts, and of its files
    /// only `main.js`.
    /// - Parameter folder: an absolute path without links.
    package static func of(folder: String) -> UInt64 {
        if isVersion(folder) { return max(digest(folder, content(of: "main.js", in: folder)), 1) }
        // A sum, because the order of the files is arbitrary.
        return max(files(in: folder).reduce(0) { $0 &+ digest($1, content(of: $1, in: folder)) }, 1)
    }

    private static func isVersion(_ folder: String) -> Bool {
        let parts = folder.split(separator: "/").suffix(2)
        return parts.count == 2 && parts.first?.hasSuffix(".versions") == true && UInt(parts.last ?? "") != nil
    }

    private static func files(in folder: String) -> [String] {
        let paths = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        return paths.compactMap { $0 as? String }.filter { path in
            endings.contains((path as NSString).pathExtension) && !path.hasPrefix(".") && !path.contains("/.")
        }
    }

    private static func content(of path: String, in folder: String) -> [UInt8] {
        var found = stat()
        guard stat("\(folder)/\(path)", &found) == 0 else { return [] }
        let isModule = "/\(path)".contains("/node_modules/") && !path.hasSuffix("/package.json")
        if isModule || found.st_size > readMax { return Array("\(found.st_size)".utf8) }
        return FileManager.default.contents(atPath: "\(folder)/\(path)").map { Array($0) } ?? []
    }

    private static func digest(_ path: String, _ content: [UInt8]) -> UInt64 {
        var hash = FNV1a()
        hash.add(path.utf8, content)
        return hash.hash
    }
}
