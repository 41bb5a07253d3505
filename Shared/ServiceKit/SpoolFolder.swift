import Foundation
import ParseProtocol

/// A folder in which a substitute for a provider writes one file per item, for development and for shops that collect
/// the files themselves.
///
/// A file appears completely or not at all (`DurableFile`). A file written again after a crash has the same name and
/// replaces the first one.
public struct SpoolFolder: Sendable {
    private let directory: String

    /// - Throws: `CocoaError` when the folder cannot be created.
    public init(_ directory: String) throws {
        self.directory = directory
        try make()
    }

    /// Creates the folder if it is missing; an operator may have removed it.
    private func make() throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Returns when the file is on the disk.
    /// - Parameter name: a file name without `/`, chosen by the service and never by a client.
    public func write(_ bytes: [UInt8], name: String) throws(DurableFile.Failure) {
        precondition(!name.contains("/"), "A spool's file names are made by the service.")
        // If the folder cannot be created, the write fails.
        try? make()
        try DurableFile.write(bytes, to: "\(directory)/\(name)")
    }

    /// Returns when all files are on the disk; faster than writing them one by one.
    /// - Parameter files: names as above, and contents.
    /// - Returns: the outcomes, in the same order.
    public func write(_ files: [(name: String, bytes: [UInt8])]) -> [Result<Void, DurableFile.Failure>] {
        precondition(files.allSatisfy { !$0.name.contains("/") }, "A spool's file names are made by the service.")
        try? make()
        return DurableFile.write(files, in: directory)
    }
}
