import Compression
import Glibc

/// A source of bytes in pieces.
protocol PieceSource: AnyObject {
    /// The next bytes; none at the end.
    func next() throws -> [UInt8]
    /// Passes over bytes without reading them.
    /// - Returns: whether the source can.
    func jump(_ count: Int) throws -> Bool
}

extension PieceSource {
    func jump(_ count: Int) throws -> Bool { false }
}

/// Reads a file from its beginning to its end in bounded memory. A gzip file is read as its content, whatever its name
/// is; offsets are then those of the content.
final class ByteReader {
    let file: String
    /// The offset of the next byte.
    private(set) var offset = 0
    private let source: any PieceSource
    private var piece: [UInt8] = []
    private var position = 0

    init(_ source: any PieceSource, file: String) {
        self.source = source
        self.file = file
    }

    convenience init(path: String) throws {
        let isGzip = try FilePieces(path).next().starts(with: [0x1F, 0x8B])
        let pieces = try FilePieces(path)
        let source: any PieceSource = try isGzip ? GunzipPieces(pieces, file: path) : pieces
        self.init(source, file: path)
    }

    var place: SourcePlace { SourcePlace(file: file, offset: offset) }

    /// Takes the next bytes; fewer at the end.
    func take(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try take(count, onto: &bytes)
        return bytes
    }

    /// Appends the next bytes to others; fewer at the end.
    func take(_ count: Int, onto bytes: inout [UInt8]) throws {
        bytes.reserveCapacity(bytes.count + count)
        var rest = count
        while rest > 0, try fill() {
            let end = min(piece.count, position + rest)
            bytes += piece[position..<end]
            rest -= end - position
            pass(end - position)
        }
    }

    /// Takes the next byte; nil at the end.
    func takeByte() throws -> UInt8? {
        guard try fill() else { return nil }
        let byte = piece[position]
        pass(1)
        return byte
    }

    /// Shows the next bytes, as many as are in memory, and takes as many of them as `body` returns.
    /// - Returns: false at the end.
    func scan(_ body: (UnsafeBufferPointer<UInt8>) -> Int) throws -> Bool {
        guard try fill() else { return false }
        let taken = piece.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[position...])) }
        pass(taken)
        return true
    }

    /// Passes over the bytes before an offset.
    func skip(to target: Int) throws {
        pass(min(max(0, target - offset), piece.count - position))
        let rest = target - offset
        if rest > 0, try source.jump(rest) {
            offset = target
            return
        }
        while offset < target, try fill() { pass(min(target - offset, piece.count - position)) }
    }

    private func pass(_ count: Int) {
        position += count
        offset += count
    }

    /// Gets the next piece when all bytes are taken.
    /// - Returns: false at the end.
    private func fill() throws -> Bool {
        if position < piece.count { return true }
        piece = try source.next()
        position = 0
        return !piece.isEmpty
    }
}

/// The bytes of a file.
final class FilePieces: PieceSource {
    private let path: String
    private let descriptor: Int32

    private static let pieceBytes = 256 << 10

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw problem }
    }

    deinit { close(descriptor) }

    private var problem: MoveInError {
        MoveInError(SourcePlace(file: path, offset: nil), "It cannot be read: \(String(cString: strerror(errno))).")
    }

    func next() throws -> [UInt8] {
        var result = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, count in
            result = Glibc.read(descriptor, buffer.baseAddress, Self.pieceBytes)
            count = max(0, result)
        }
        if result < 0 { throw problem }
        return piece
    }

    func jump(_ count: Int) throws -> Bool { lseek(descriptor, count, SEEK_CUR) >= 0 }
}

/// The content of a gzip file.
final class GunzipPieces: PieceSource {
    private let pieces: any PieceSource
    private let file: String
    private let stream: GunzipStream

    init(_ pieces: any PieceSource, file: String) throws {
        self.pieces = pieces
        self.file = file
        stream = try GunzipStream()
    }

    func next() throws -> [UInt8] {
        do {
            return try stream.next { try pieces.next() }
        } catch is Inflater.Problem {
            throw MoveInError(SourcePlace(file: file, offset: nil), "The gzip file is damaged or cut off.")
        }
    }
}

/// Bytes in memory.
final class MemoryPieces: PieceSource {
    private var bytes: ArraySlice<UInt8>
    private let pieceBytes: Int

    init(_ bytes: [UInt8], pieceBytes: Int = 4096) {
        self.bytes = bytes[...]
        self.pieceBytes = pieceBytes
    }

    func next() throws -> [UInt8] {
        defer { bytes = bytes.dropFirst(pieceBytes) }
        return Array(bytes.prefix(pieceBytes))
    }
}
