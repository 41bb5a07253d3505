import Dispatch
import Foundation
import Glibc
import ParseProtocol

/// The content of files on the disk: `files/<first two digits of the name>/<name>` below the data directory. A file is
/// complete or absent: it is written under another name in `files/incoming`, flushed to disk and then renamed.
///
/// Clients see only files with a row in `FileTable`. Replicas read the same folder; only the writer changes it.
package final class FileFolder: Sendable {
    /// Maximum bytes of one read.
    package static let partBytesMax = 1 << 20

    private let path: String
    private let dataDirectory: String
    /// Runs all blocking disk work, off the threads of the cooperative pool. Serial, because there is one disk.
    private let queue = DispatchQueue(label: "files")

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        /// Whether the file does not exist.
        package let isMissing: Bool

        init(_ operation: String, _ path: String, code: Int32 = errno) {
            isMissing = code == ENOENT
            description = "\(operation) of \(path) failed: \(String(cString: strerror(code)))."
        }

        init(_ failure: DurableFile.Failure) { self.init(failure.call, failure.path, code: failure.code) }
    }

    /// - Parameter dataDirectory: the suite's directory; the first file creates the folder in it.
    package init(dataDirectory: String) {
        path = dataDirectory + "/files"
        self.dataDirectory = dataDirectory
        // A write past the operator's limit (`ulimit -f`) must fail instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Stores a file permanently.
    /// - Throws: `Failure`; then nothing remains of it.
    package func save(_ content: [UInt8], as name: String) async throws {
        try await onDisk { [self] in try saveNow(content, as: name) }
    }

    /// Moves a finished file from a work folder to permanent storage. Blocks.
    /// - Returns: its size in bytes.
    package func adopt(_ file: String, as name: String) throws -> Int {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", file) }
        defer { close(descriptor) }
        var status = stat()
        guard fsync(descriptor) == 0, fstat(descriptor, &status) == 0 else { throw Failure("fsync", file) }
        try place(file, as: name)
        return Int(status.st_size)
    }

    /// Runs blocking disk work.
    package func onDisk<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    /// A folder for temporary files, with a unique name. The caller removes it; `sweep` removes it after a crash.
    package func makeWorkFolder() throws -> String {
        try makeFolder(path + "/incoming")
        let folder = "\(path)/incoming/\(Names.random(20))"
        guard mkdir(folder, 0o700) == 0 else { throw Failure("mkdir", folder) }
        return folder
    }

    /// A work folder that contains one file with this content.
    package func workCopy(of content: [UInt8]) async throws -> (folder: String, file: String) {
        try await onDisk { [self] in
            let folder = try makeWorkFolder()
            do throws(DurableFile.Failure) {
                try DurableFile.draft(content, as: "\(folder)/original")
            } catch {
                throw Failure(error)
            }
            return (folder, "\(folder)/original")
        }
    }

    private func saveNow(_ content: [UInt8], as name: String) throws {
        try makeFolder(path + "/incoming")
        let unfinished = "\(path)/incoming/\(Names.random(20))"
        do throws(DurableFile.Failure) {
            try DurableFile.draft(content, as: unfinished)
        } catch {
            throw Failure(error)
        }
        defer { unlink(unfinished) }
        try place(unfinished, as: name)
    }

    /// Renames a complete file to its final name, durably when this returns.
    private func place(_ file: String, as name: String) throws {
        try named(name) { shard throws(DurableFile.Failure) in
            try DurableFile.place(file, as: "\(shard)/\(name)")
        }
    }

    /// Runs the work that gives a file its name in the target folder. When it fails, no file has the name.
    private func named(_ name: String, _ work: (_ shard: String) throws(DurableFile.Failure) -> Void) throws {
        let shard = "\(path)/\(name.prefix(2))"
        try makeFolder(shard)
        do throws(DurableFile.Failure) {
            try work(shard)
        } catch {
            unlink("\(shard)/\(name)")
            throw Failure(error)
        }
    }

    private func makeFolder(_ folder: String) throws {
        guard access(folder, F_OK) != 0 else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        do throws(DurableFile.Failure) {
            try DurableFile.synchronize(folder: path)
        } catch {
            throw Failure(error)
        }
    }

    // MARK: - Reading and removing

    /// The path of a file.
    package func location(of name: String) -> String { "\(path)/\(name.prefix(2))/\(name)" }

    /// A part of a file; shorter than requested at the end of the file. Blocks.
    package func read(_ name: String, offset: UInt64, length: Int) throws -> [UInt8] {
        try read(file: location(of: name), offset: offset, length: length)
    }

    /// As above, for a file at a path.
    package func read(file: String, offset: UInt64, length: Int) throws -> [UInt8] {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", file) }
        defer { close(descriptor) }
        guard let start = off_t(exactly: offset) else { return [] }
        let wanted = min(max(length, 0), Self.partBytesMax)
        var problem: Failure?
        let part = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            while count < wanted {
                let got = pread(
                    descriptor, buffer.baseAddress?.advanced(by: count), wanted - count, start + off_t(count))
                if got < 0, errno == EINTR { continue }
                if got < 0 { problem = Failure("read", file) }
                guard got > 0 else { break }
                count += got
            }
        }
        if let problem { throw problem }
        return part
    }

    /// The size of a file in bytes; nil when it does not exist. Blocks.
    package func size(of name: String) -> Int? {
        var status = stat()
        return lstat(location(of: name), &status) == 0 ? Int(status.st_size) : nil
    }

    /// Removes a file that no longer has a row, and the pictures made from it.
    package func remove(_ name: String) {
        queue.async { [self] in removeNow(name) }
    }

    func removeNow(_ name: String) {
        unlink(location(of: name))
        PictureFolder.remove(name, dataDirectory: dataDirectory)
    }

    // MARK: - Sweeping

    /// The names of all folders with finished files.
    func shards() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0.utf8.count == 2 }
    }

    /// Names in a folder that were last changed before `time`. Blocks.
    func names(in folder: String, before time: Date) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)")) ?? []
        return names.filter { name in
            var status = stat()
            guard lstat("\(path)/\(folder)/\(name)", &status) == 0 else { return false }
            return Double(status.st_mtim.tv_sec) < time.timeIntervalSince1970
        }
    }

    /// Removes files in `incoming` that are older than `time`.
    func sweepUnfinished(before time: Date) -> Int {
        let names = names(in: "incoming", before: time)
        for name in names { try? FileManager.default.removeItem(atPath: "\(path)/incoming/\(name)") }
        return names.count
    }
}
