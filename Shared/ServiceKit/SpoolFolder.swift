import Foundation
import Glibc

/// A folder into which a stand-in for a provider writes one file for each thing it was given, for development and for shops
/// that collect the files themselves.
///
/// A file appears complete or not at all: it is written under another name, synchronised, then renamed, and the folder is
/// synchronised. What a crash makes us write again has the same name and replaces the first.
public struct SpoolFolder: Sendable {
    private let directory: String

    /// A file that could not be written.
    public struct Failure: Error, CustomStringConvertible {
        let call: String
        let code: Int32
        /// The call that failed and the system's words; holds no path.
        public var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    /// - Throws: when the folder cannot be made.
    public init(_ directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Returns when the file is on the disk.
    /// - Parameter name: a file name without `/`, made by us and never by a client.
    public func write(_ bytes: [UInt8], name: String) throws {
        precondition(!name.contains("/"), "A spool's file names are made by the service.")
        let unfinished = "\(directory)/.\(name).tmp"
        try Self.write(bytes, to: unfinished)
        guard rename(unfinished, "\(directory)/\(name)") == 0 else { throw Failure(call: "rename", code: errno) }
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw Failure(call: "open", code: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw Failure(call: "fsync", code: errno) }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure(call: "open", code: errno) }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure(call: "write", code: errno) }
            written += count
        }
        guard fsync(file) == 0 else { throw Failure(call: "fsync", code: errno) }
    }
}
