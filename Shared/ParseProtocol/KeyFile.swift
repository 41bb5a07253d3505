import Foundation

/// A file that holds a key of random bytes, made at the first start. Only its user can read it.
public struct KeyFile: Sendable {
    public static let bytes = 32

    private let path: String

    public init(path: String) { self.path = path }

    public struct Problem: Error, CustomStringConvertible {
        /// For the operator, who finds it in the log.
        public let description: String
    }

    /// The key in the file. Of replicas that start together one makes the file and all read it: it appears under its name with all its
    /// bytes, or not at all.
    /// - Throws: `Problem` when it can be neither read nor made, or is no key.
    public func key() throws -> [UInt8] {
        if let known = try read() { return known }
        try make()
        guard let made = try read() else { throw Problem(description: "\(path) could not be made.") }
        return made
    }

    private func read() throws -> [UInt8]? {
        guard let data = FileManager.default.contents(atPath: path) else {
            // A file that is there and cannot be read must not be taken for none: another key would end what the first one opened.
            guard access(path, F_OK) != 0 else { throw Problem(description: "\(path) cannot be read.") }
            return nil
        }
        let digits = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).utf8
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { offset in
            UInt8(String(decoding: Array(digits.dropFirst(offset).prefix(2)), as: UTF8.self), radix: 16)
        }
        guard digits.count == Self.bytes * 2, bytes.count == Self.bytes else {
            throw Problem(description: "\(path) holds no key. Put the file back from a copy of the data directory.")
        }
        return bytes
    }

    private func make() throws {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<Self.bytes * 2).map { _ in
            String(UInt8.random(in: 0..<16, using: &generator), radix: 16)
        }.joined()
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let draft = "\(path).\(Names.random(12))"
        let file = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Problem(description: "\(path) cannot be written: \(Self.reason(errno)).") }
        let bytes = Array(text.utf8)
        let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        let problem = errno
        let isClosed = close(file) == 0
        defer { unlink(draft) }
        guard isWritten, isClosed else {
            throw Problem(description: "\(path) cannot be written: \(Self.reason(problem)).")
        }
        // A name that is taken is another replica's key, which counts.
        guard link(draft, path) == 0 || errno == EEXIST else {
            throw Problem(description: "\(path) cannot be written: \(Self.reason(errno)).")
        }
        try sync(folder)
    }

    private func sync(_ folder: String) throws {
        let directory = open(folder, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { throw Problem(description: "\(folder): \(Self.reason(errno)).") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Problem(description: "\(folder): \(Self.reason(errno)).") }
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
