import Cryptography
import ParseProtocol

/// A row as the suite stages it: `<id>\t<updatedAt in ms, or 0>\t<JSON>\n`.
struct RowLine: Sendable, Equatable {
    var idHash: UInt64
    /// The lower 64 bits of SHA-256 of the JSON text, as the suite computes it.
    var checksum: UInt64
    var bytes: [UInt8]

    /// The suite's limit of a text: rows of users have secrets besides the 128 KB of an object.
    static let textBytesMax = 256 << 10

    /// Nil for an id that Satchel does not take.
    init?(_ row: MovedRow) {
        guard Self.isId(row.objectId, of: row.className) else { return nil }
        let text = JSON.object(row.fields).serialized
        idHash = IdHash.of(row.objectId.utf8)
        checksum = Self.checksum(text)
        bytes = []
        bytes.reserveCapacity(text.count + row.objectId.utf8.count + 24)
        bytes += row.objectId.utf8
        bytes.append(UInt8(ascii: "\t"))
        bytes += String(max(0, row.updatedAt ?? 0)).utf8
        bytes.append(UInt8(ascii: "\t"))
        bytes += text
        bytes.append(UInt8(ascii: "\n"))
    }

    static func checksum(_ text: [UInt8]) -> UInt64 {
        SHA256.hash(data: text).suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Whether Satchel takes the id of an object, or the two of a relation's row.
    static func isId(_ id: String, of className: String) -> Bool {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false)
        let count = RelationName(className) == nil ? 1 : 2
        return parts.count == count && parts.allSatisfy { Names.isObjectId(String($0)) }
    }
}

/// Rows that one request stages.
struct Batch: Sendable, Equatable {
    var rows = 0
    var bytes: [UInt8] = []

    /// Its rows in two batches; nil for a single row.
    var halves: (Batch, Batch)? {
        guard rows > 1 else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard lines.count == rows else { return nil }
        return (Batch(lines.prefix(rows / 2)), Batch(lines.dropFirst(rows / 2)))
    }

    /// The id of the first row.
    var firstId: String { String(decoding: bytes.prefix { $0 != UInt8(ascii: "\t") }, as: UTF8.self) }
}

extension Batch {
    private init(_ lines: ArraySlice<ArraySlice<UInt8>>) {
        self.init(rows: lines.count, bytes: lines.flatMap { $0 + [UInt8(ascii: "\n")] })
    }
}

/// Collects rows into requests within the suite's limits.
struct Batches: Sendable {
    static let bytesMax = 4_000_000
    static let rowsMax = 5_000

    private var next = Batch()

    /// Adds a row, which must have at most `bytesMax`, and returns the batch that it did not fit into.
    mutating func add(_ line: RowLine) -> Batch? {
        let isFull = next.rows == Self.rowsMax || next.bytes.count + line.bytes.count > Self.bytesMax
        let full = isFull ? take() : nil
        next.rows += 1
        next.bytes += line.bytes
        return full
    }

    /// The last batch; nil when it is empty.
    mutating func take() -> Batch? {
        guard next.rows > 0 else { return nil }
        defer { next = Batch() }
        return next
    }
}
