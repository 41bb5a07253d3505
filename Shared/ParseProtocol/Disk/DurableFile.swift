import Foundation
import Glibc

/// Files that are complete or absent, even after a power failure. A file is written under a draft name, synced, and
/// renamed; then the folder is synced. This is how Satchel creates every small file that must last. Files that are
/// overwritten in place (`CertificateFile`, the bag's highest number) document their own reasons.
public enum DurableFile {
    /// What happens when the name is taken.
    public enum Taken: Sendable {
        /// The new file replaces the existing one atomically: a reader finds either of them.
        case replace
        /// The existing file remains: if several processes create the same file, one of them wins, and all read that
        /// file.
        case keep
    }

    /// A failed system call.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// The function's name, such as `fsync`.
        public let call: String
        /// The file or folder of the call.
        public let path: String
        /// The system's error number.
        public let code: Int32

        fileprivate init(_ call: String, _ path: String) {
            (self.call, self.path, code) = (call, path, errno)
        }

        /// The call and the system's message, without the path.
        public var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    /// Returns when the file is on the disk. Only its owner can read it.
    /// - Parameters:
    ///   - draft: the draft name, on the same disk; by default `.<name>.tmp` next to the file, which a retry after a
    ///     crash overwrites. Concurrent writers must use different drafts.
    /// - Throws: `Failure`. The draft is then removed, and an existing file with the name remains, unless only the sync
    ///   of the folder failed.
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

    /// Writes the bytes under a draft name, for `place`. Returns when they are on the disk.
    /// - Throws: `Failure`; the draft is then removed.
    public static func draft(_ bytes: [UInt8], as path: String) throws(Failure) {
        do throws(Failure) {
            try fill(path, with: bytes)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Writes files of one folder and syncs the folder once for all of them. Each replaces an existing file of its
    /// name.
    ///
    /// The disk begins to write all drafts before the first is synced, and all are synced before the first gets its
    /// name: the files then share the blocks of their inodes and of the folder.
    /// - Parameter files: their names, without `/`, and contents; not more than the process may open at the same time.
    /// - Returns: the results in the same order. A file that fails does not prevent the others from being written.
    public static func write(
        _ files: [(name: String, bytes: [UInt8])], in folder: String
    ) -> [Result<Void, Failure>] {
        let drafts = files.map { "\(folder)/.\($0.name).tmp" }
        let opened = zip(drafts, files).map { draft, file in
            Result { () throws(Failure) -> Int32 in
                let descriptor = try filled(draft, with: file.bytes)
                _ = beginWriteback?(descriptor, 0, 0, writebackBegins)
                return descriptor
            }
        }
        let synced = zip(drafts, opened).map { draft, file in
            Result { () throws(Failure) in try synchronize(file.get(), of: draft) }
        }
        let placed = files.indices.map { index in
            Result { () throws(Failure) in
                do throws(Failure) {
                    try synced[index].get()
                    try rename(drafts[index], to: "\(folder)/\(files[index].name)")
                } catch {
                    unlink(drafts[index])
                    throw error
                }
            }
        }
        let kept = Result { () throws(Failure) in try synchronize(folder: folder) }
        return placed.map { $0.flatMap { kept } }
    }

    /// `sync_file_range`, which Swift's module of the C library leaves out; nil in a C library without it.
    private static let beginWriteback =
        dlsym(nil, "sync_file_range").map {
            unsafeBitCast($0, to: (@Sendable @convention(c) (Int32, Int64, Int64, UInt32) -> Int32).self)
        }
    /// `SYNC_FILE_RANGE_WRITE`: begins to write the dirty pages and does not wait.
    private static let writebackBegins: UInt32 = 2

    /// Gives a complete, synced draft its final name.
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

    /// Syncs a folder, which makes new names in it durable.
    /// - Throws: `Failure`.
    public static func synchronize(folder: String) throws(Failure) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Failure("fsync", folder) }
    }

    private static func fill(_ path: String, with bytes: [UInt8]) throws(Failure) {
        try synchronize(filled(path, with: bytes), of: path)
    }

    /// Writes a file.
    /// - Returns: its descriptor, for `synchronize`.
    private static func filled(_ path: String, with bytes: [UInt8]) throws(Failure) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("open", path) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                let failure = Failure("write", path)
                close(file)
                throw failure
            }
            written += count
        }
        return file
    }

    /// Syncs a file and closes it.
    private static func synchronize(_ file: Int32, of path: String) throws(Failure) {
        defer { close(file) }
        guard fsync(file) == 0 else { throw Failure("fsync", path) }
    }
}
