import Compression
import Foundation

/// The bytes of a dump's text, forwards.
protocol DumpBytes: AnyObject {
    /// The next bytes; none at the end.
    func next() throws -> [UInt8]
}

/// The bytes of a file.
final class FileBytes: DumpBytes {
    private let path: String
    private let descriptor: Int32
    private let pieceBytes: Int
    private(set) var offset: Int

    init(_ path: String, from offset: Int = 0, pieceBytes: Int = 1 << 20) throws {
        self.path = path
        self.offset = offset
        self.pieceBytes = pieceBytes
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.problem(path, nil) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func next() throws -> [UInt8] {
        var got = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: pieceBytes) { buffer, count in
            repeat {
                got = pread(descriptor, buffer.baseAddress, pieceBytes, off_t(offset))
            } while got < 0 && errno == EINTR
            count = max(0, got)
        }
        guard got >= 0 else { throw Self.problem(path, offset) }
        offset += got
        return chunk
    }

    private static func problem(_ path: String, _ offset: Int?) -> MoveInError {
        MoveInError(
            SourcePlace(file: path, offset: offset), "The file cannot be read (\(String(cString: strerror(errno)))).")
    }
}

/// Bytes in memory.
final class MemoryBytes: DumpBytes {
    private var bytes: [UInt8]

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

    func next() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}

/// Places in a gzip file from which unpacking can begin.
///
/// Unchecked: a place is only copied, which does not change it.
struct GzipMarks: @unchecked Sendable {
    fileprivate struct Mark {
        let unpacked, packed: Int
        let stream: GunzipStream
    }

    fileprivate var marks: [Mark] = []
}

/// The unpacked bytes of a gzip file.
final class GzipBytes: DumpBytes {
    private let path: String
    /// Bytes between two marks.
    private let markBytes: Int
    private let file: FileBytes
    private let stream: GunzipStream
    private var unpacked: Int
    private var skipped: Int
    private(set) var marks: GzipMarks

    /// - Parameter offset: in the unpacked text.
    init(
        _ path: String, from offset: Int = 0, marks: GzipMarks = GzipMarks(), markBytes: Int = 64 << 20
    ) throws {
        self.path = path
        self.markBytes = markBytes
        self.marks = marks
        let mark = marks.marks.last { $0.unpacked <= offset }
        unpacked = mark?.unpacked ?? 0
        skipped = offset - unpacked
        // Small pieces, because each mark keeps one.
        file = try FileBytes(path, from: mark?.packed ?? 0, pieceBytes: 64 << 10)
        stream = try mark.map { try GunzipStream(copying: $0.stream) } ?? GunzipStream()
    }

    func next() throws -> [UInt8] {
        while true {
            let output = try step()
            guard skipped > 0, !output.isEmpty else { return output }
            let left = output.dropFirst(skipped)
            skipped = max(0, skipped - output.count)
            if !left.isEmpty { return Array(left) }
        }
    }

    private func step() throws -> [UInt8] {
        let output: [UInt8]
        do {
            output = try stream.next(from: { try file.next() })
        } catch is Inflater.Problem {
            throw MoveInError(
                SourcePlace(file: path, offset: file.offset), "The gzip data is damaged or cut off before this place.")
        }
        unpacked += output.count
        if unpacked - (marks.marks.last?.unpacked ?? 0) >= markBytes {
            let mark = GzipMarks.Mark(
                unpacked: unpacked, packed: file.offset, stream: try GunzipStream(copying: stream))
            marks.marks.append(mark)
        }
        return output
    }
}

/// The text of a dump in pg_dump's custom, tar or directory format.
final class RestoredBytes: DumpBytes {
    private static let pieceBytes = 64 << 10

    private let path: String
    private let process = Process()
    private let pipe = Pipe()

    /// - Parameter table: only this table's rows; nil for everything.
    init(_ path: String, table: TableName?) throws {
        self.path = path
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        let programs = folders.split(separator: ":").map { "\($0)/pg_restore" }
        guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw MoveInError(
                """
                \(path) is in a format that needs pg_restore, which is not installed. Install postgresql-client, or \
                dump in plain format (pg_dump --format=plain).
                """)
        }
        process.executableURL = URL(fileURLWithPath: program)
        let selection = table.map { ["--data-only", "--schema=\($0.schema)", "--table=\($0.name)"] } ?? []
        process.arguments = ["--file=-"] + selection + ["--", path]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        // Otherwise another child could keep the pipe open.
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        do {
            try process.run()
        } catch {
            throw MoveInError("pg_restore does not start: \(error)")
        }
    }

    deinit { if process.isRunning { process.terminate() } }

    func next() throws -> [UInt8] {
        var got = 0
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        let chunk = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, count in
            repeat { got = read(descriptor, buffer.baseAddress, Self.pieceBytes) } while got < 0 && errno == EINTR
            count = max(0, got)
        }
        guard chunk.isEmpty else { return chunk }
        process.waitUntilExit()
        guard process.terminationStatus == 0, got == 0 else {
            throw MoveInError(
                "\(path): pg_restore cannot read it (status \(process.terminationStatus)); see its message.")
        }
        return []
    }
}
