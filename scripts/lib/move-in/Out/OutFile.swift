import Foundation
import ParseProtocol

/// A new file, written in pieces. It is on the disk when `close` returns.
final class OutFile {
    private let path: String
    private let file: FileHandle
    private var buffer: [UInt8] = []

    private static let bufferBytes = 1 << 20

    /// - Throws: `MoveInError` when the file exists, or cannot be made.
    init(_ path: String) throws {
        self.path = path
        guard !FileManager.default.fileExists(atPath: path) else { throw MoveInError("\(path) exists already.") }
        // The file has password hashes.
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: path)
        else { throw MoveInError("Cannot write \(path).") }
        self.file = file
    }

    func write(_ bytes: [UInt8]) throws {
        buffer += bytes
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    func close() throws {
        try flush()
        do {
            try file.synchronize()
            try file.close()
            try DurableFile.synchronize(folder: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        } catch { throw MoveInError("Cannot write \(path): \(error)") }
    }

    private func flush() throws {
        do { try file.write(contentsOf: Data(buffer)) } catch { throw MoveInError("Cannot write \(path): \(error)") }
        buffer.removeAll(keepingCapacity: true)
    }
}
