import Foundation
import Glibc

/// Files that are complete or not there, also after the power failed: written under another name, brought to the disk,
/// then given their name, which is brought to the disk with the folder. The only way in which Satchel makes a small
/// file that must last; files that are overwritten in place (`BirthRegister`, the bag's highest number) say themselves
/// why.
public enum DurableFile {
    /// The choice of what happens when the name is taken.
    public enum Taken: Sendable {
        /// The new file replaces the other in one step: a reader finds the one or the other.
        case replace
        /// The other stays: of several processes that make the same file one makes it, and all read that one.
        case keep
    }

    /// A call of the system that failed.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// The function's name, such as `fsync`.
        public let call: String
        /// The file or folder that the call was about.
        public let path: String
        /// The system's error number.
        public let code: Int32

        fileprivate init(_ call: String, _ path: String) {
            (self.call, self.path, code) = (call, path, errno)
        }

        /// The call and the system's words; holds no path.
        public var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    /// Returns when the file is on the disk. Only its user can read it.
    /// - Parameters:
    ///   - draft: the other name, on the same disk; by default `.<name>.tmp` beside the file, which a repetition after
    ///     a crash writes anew. Who may be one of several writers at a time gives each a name of its own.
    /// - Throws: `Failure`; then nothing is left of the draft, and what had the name still has it, unless the folder
    ///   alone could not be brought to the disk.
    public static func write(
        _ bytes: [UInt8], to path: String, draft: String? = nil, taken: Taken = .replace
    ) throws(Failure) {
        let url = URL(fileURLWithPath: path)
        let draft = draft ?? url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).tmp"
        try self.draft(bytes, as: draft)
        do throws(Failure) {
            try place(draft, as: path, taken: taken)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Writes the bytes under another name than their own, for `place`. Returns when they are on the disk.
    /// - Throws: `Failure`; then nothing is left of them.
    public static func draft(_ bytes: [UInt8], as path: String) throws(Failure) {
        do throws(Failure) {
            try fill(path, with: bytes)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Writes files of one folder, which is brought to the disk once for all of them. Each replaces what had its name.
    /// - Parameter files: their names, without `/`, and contents.
    /// - Returns: how each ended, in the same order. A file that cannot be written keeps no other from being written.
    public static func write(
        _ files: [(name: String, bytes: [UInt8])], in folder: String
    ) -> [Result<Void, Failure>] {
        let written = files.map { file in
            Result { () throws(Failure) in
                let draft = "\(folder)/.\(file.name).tmp"
                try self.draft(file.bytes, as: draft)
                do throws(Failure) {
                    try rename(draft, to: "\(folder)/\(file.name)")
                } catch {
                    unlink(draft)
                    throw error
                }
            }
        }
        let kept = Result { () throws(Failure) in try synchronize(folder: folder) }
        return written.map { $0.flatMap { kept } }
    }

    /// Gives a complete file that is on the disk its name.
    /// - Throws: `Failure`.
    public static func place(_ draft: String, as path: String, taken: Taken = .replace) throws(Failure) {
        switch taken {
        case .replace: try rename(draft, to: path)
        case .keep:
            guard link(draft, path) == 0 || errno == EEXIST else { throw Failure("link", path) }
            unlink(draft)
        }
        try synchronize(folder: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    private static func rename(_ draft: String, to path: String) throws(Failure) {
        guard Glibc.rename(draft, path) == 0 else { throw Failure("rename", path) }
    }

    /// A new name is durable only when its folder is.
    /// - Throws: `Failure`.
    public static func synchronize(folder: String) throws(Failure) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Failure("fsync", folder) }
    }

    private static func fill(_ path: String, with bytes: [UInt8]) throws(Failure) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("open", path) }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure("write", path) }
            written += count
        }
        guard fsync(file) == 0 else { throw Failure("fsync", path) }
    }
}
