import Foundation
import ParseProtocol

/// A folder into which a stand-in for a provider writes one file for each thing it was given, for development and for
/// shops that collect the files themselves.
///
/// A file appears complete or not at all (`DurableFile`). What a crash makes us write again has the same name and
/// replaces the first.
public struct SpoolFolder: Sendable {
    private let directory: String

    /// - Throws: `CocoaError` when the folder cannot be made.
    public init(_ directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Returns when the file is on the disk.
    /// - Parameter name: a file name without `/`, made by us and never by a client.
    public func write(_ bytes: [UInt8], name: String) throws(DurableFile.Failure) {
        precondition(!name.contains("/"), "A spool's file names are made by the service.")
        try DurableFile.write(bytes, to: "\(directory)/\(name)")
    }

    /// Returns when the files are on the disk, which costs less than one after the other.
    /// - Parameter files: names as above, and contents.
    /// - Returns: how each ended, in the same order.
    public func write(_ files: [(name: String, bytes: [UInt8])]) -> [Result<Void, DurableFile.Failure>] {
        precondition(files.allSatisfy { !$0.name.contains("/") }, "A spool's file names are made by the service.")
        return DurableFile.write(files, in: directory)
    }
}
