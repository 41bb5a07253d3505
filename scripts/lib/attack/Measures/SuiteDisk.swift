import Foundation

/// The disk space of the attacked suite: databases, files, spools and logs.
enum SuiteDisk {
    /// In bytes.
    static func bytes(dataDirectory: String) -> Int {
        let keys: [URLResourceKey] = [.fileSizeKey, .isRegularFileKey]
        let folder = URL(fileURLWithPath: dataDirectory)
        guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: keys) else { return 0 }
        return files.reduce(0) { sum, file in
            let values = try? (file as? URL)?.resourceValues(forKeys: Set(keys))
            return sum + (values?.isRegularFile == true ? values?.fileSize ?? 0 : 0)
        }
    }
}
