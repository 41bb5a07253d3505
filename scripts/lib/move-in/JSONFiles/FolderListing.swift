import Foundation
import Glibc
import ParseProtocol

/// The files of a folder, and the meaning of their names.
enum FolderListing {
    static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// Sorted; none of a folder that does not exist.
    static func names(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// The paths of a folder's files and folders, sorted.
    /// - Throws: `MoveInError` when the folder cannot be read.
    static func paths(_ folder: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { "\(folder)/\($0)" }
        } catch { throw MoveInError("The folder \(folder) cannot be read: \(error.localizedDescription)") }
    }

    /// The paths of the files in a folder.
    /// - Throws: `MoveInError` when the folder cannot be read.
    static func files(_ folder: String) throws -> [String] { try paths(folder).filter { !isFolder($0) } }

    /// The size of a file; nil for a compressed one, whose content is larger.
    /// - Throws: `MoveInError`.
    static func rawBytes(_ path: String) throws -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw MoveInError(SourcePlace(file: path, offset: nil), "It cannot be read.")
        }
        return path.hasSuffix(".gz") ? nil : Int(status.st_size)
    }

    /// The name of a file without an extension, and `.gz` after it; nil if it has another one.
    static func stem(_ path: String, _ ending: String) -> String? {
        var name = URL(fileURLWithPath: path).lastPathComponent
        if name.hasSuffix(".gz") { name.removeLast(3) }
        return name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : nil
    }

    /// The name of a collection in the name of a file: mongodump encodes signs as in a URL's query.
    static func decoded(_ stem: String) -> String {
        stem.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? stem
    }

    /// The first object of a JSON export, if it can be read.
    static func firstRow(_ path: String) -> JSON? {
        guard let row = try? JSONRows(ByteReader(path: path)).next() else { return nil }
        return try? JSON(parsing: row.text)
    }
}
