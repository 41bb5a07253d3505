import ParseProtocol

/// Why bytes are not a document, and the offset in them.
struct BSONError: Error, Equatable {
    var offset: Int
    var reason: String
}

extension BSONDocument {
    /// The limits of MongoDB: 16 MB, and 16 KB for what its tools add.
    static let bytesMax = (16 << 20) + (16 << 10)
    static let depthMax = 100

    /// Parses one document, which must fill the bytes. Lengths must be exact, texts valid UTF-8; a repeated name is
    /// refused, and so are texts whose runs of combining marks are too long to hash.
    /// - Throws: `BSONError`; never traps, for any bytes.
    init(parsing bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBufferPointer { bytes in
            var cursor = BSONCursor(bytes: bytes)
            let document = try cursor.document(limit: bytes.count, depth: 1)
            guard cursor.position == bytes.count else {
                throw BSONError(offset: cursor.position, reason: "Bytes follow the document.")
            }
            return document
        }
    }
}

private struct BSONCursor {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func document(limit: Int, depth: Int) throws -> BSONDocument {
        let last = try last(limit: limit, depth: depth)
        var document = BSONDocument()
        var names: Set<String> = []
        while position < last {
            let start = position
            position += 1
            let name = try name(limit: last)
            guard names.insert(name).inserted else {
                throw BSONError(offset: start, reason: "The name \(name.debugDescription) is there twice.")
            }
            document.elements.append(.init(name: name, value: try value(bytes[start], limit: last, depth: depth)))
        }
        position = last + 1
        return document
    }

    /// An array is a document whose names have no use.
    private mutating func array(limit: Int, depth: Int) throws -> [BSON] {
        let last = try last(limit: limit, depth: depth)
        var elements: [BSON] = []
        while position < last {
            let type = bytes[position]
            position += 1
            _ = try name(limit: last)
            elements.append(try value(type, limit: last, depth: depth))
        }
        position = last + 1
        return elements
    }

    /// Reads the length of a document and returns the position of its last byte.
    private mutating func last(limit: Int, depth: Int) throws -> Int {
        let start = position
        guard depth <= BSONDocument.depthMax else {
            throw BSONError(offset: start, reason: "It is nested deeper than \(BSONDocument.depthMax) levels.")
        }
        let length = Int(try int32(limit))
        guard length >= 5, length <= limit - start, bytes[start + length - 1] == 0 else {
            throw BSONError(offset: start, reason: "The length of a document is wrong.")
        }
        return start + length - 1
    }

    private mutating func value(_ type: UInt8, limit: Int, depth: Int) throws -> BSON {
        switch type {
        case 0x01: return .double(Double(bitPattern: try uint64(limit)))
        case 0x02, 0x0E: return .string(try string(limit))
        case 0x03: return .document(try document(limit: limit, depth: depth + 1))
        case 0x04: return .array(try array(limit: limit, depth: depth + 1))
        case 0x05: return .binary(try binary(limit))
        case 0x06: return .undefined
        case 0x07: return .objectId(try take(12, limit).hex)
        case 0x08: return .bool(try bool(limit))
        case 0x09: return .date(Int64(bitPattern: try uint64(limit)))
        case 0x0A: return .null
        case 0x0B:
            _ = try name(limit: limit)
            _ = try name(limit: limit)
            return .other("a regular expression")
        case 0x0C:
            _ = try string(limit)
            _ = try take(12, limit)
            return .other("a database pointer")
        case 0x0D:
            _ = try string(limit)
            return .other("code")
        case 0x0F:
            try passCodeWithScope(limit, depth: depth)
            return .other("code")
        case 0x10: return .int32(try int32(limit))
        case 0x11:
            _ = try uint64(limit)
            return .other("an internal timestamp")
        case 0x12: return .int64(Int64(bitPattern: try uint64(limit)))
        case 0x13:
            let low = try uint64(limit)
            return .decimal(BSON.decimalText(low: low, high: try uint64(limit)))
        case 0x7F, 0xFF: return .other("a smallest or largest key")
        default: throw BSONError(offset: position, reason: "There is no type \(type).")
        }
    }

    private mutating func bool(_ limit: Int) throws -> Bool {
        let byte = try take(1, limit)[0]
        guard byte <= 1 else { throw BSONError(offset: position - 1, reason: "A Boolean is neither 0 nor 1.") }
        return byte == 1
    }

    private mutating func binary(_ limit: Int) throws -> [UInt8] {
        let start = position
        let wrong = BSONError(offset: start, reason: "The length of binary data is wrong.")
        let length = Int(try int32(limit))
        guard length >= 0, length <= limit - position - 1 else { throw wrong }
        let subtype = try take(1, limit)[0]
        // The old form repeats the length inside.
        guard subtype == 2 else { return Array(try take(length, limit)) }
        guard length >= 4, Int(try int32(limit)) == length - 4 else { throw wrong }
        return Array(try take(length - 4, limit))
    }

    private mutating func passCodeWithScope(_ limit: Int, depth: Int) throws {
        let start = position
        let wrong = BSONError(offset: start, reason: "The length of code is wrong.")
        let length = Int(try int32(limit))
        guard length >= 14, length <= limit - start else { throw wrong }
        _ = try string(start + length)
        _ = try document(limit: start + length, depth: depth + 1)
        guard position == start + length else { throw wrong }
    }

    /// A text with its length before it.
    private mutating func string(_ limit: Int) throws -> String {
        let start = position
        let length = Int(try int32(limit))
        guard length >= 1, length <= limit - position, bytes[position + length - 1] == 0 else {
            throw BSONError(offset: start, reason: "The length of a text is wrong.")
        }
        let text = try text(position..<(position + length - 1))
        position += length
        return text
    }

    /// A text that ends at the first zero byte.
    private mutating func name(limit: Int) throws -> String {
        guard let end = bytes[position..<limit].firstIndex(of: 0) else {
            throw BSONError(offset: position, reason: "A name does not end.")
        }
        let text = try text(position..<end)
        position = end + 1
        return text
    }

    private func text(_ range: Range<Int>) throws -> String {
        guard let text = String(validating: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self) else {
            throw BSONError(offset: range.lowerBound, reason: "A text is not valid UTF-8.")
        }
        guard !text.exceedsMarkLimit else {
            throw BSONError(
                offset: range.lowerBound,
                reason: "A text has more than \(CombiningMarks.runLimit) combining marks in a row.")
        }
        return text
    }

    private mutating func int32(_ limit: Int) throws -> Int32 {
        let four = try take(4, limit)
        return Int32(littleEndian: UnsafeRawBufferPointer(four).loadUnaligned(as: Int32.self))
    }

    private mutating func uint64(_ limit: Int) throws -> UInt64 {
        let eight = try take(8, limit)
        return UInt64(littleEndian: UnsafeRawBufferPointer(eight).loadUnaligned(as: UInt64.self))
    }

    private mutating func take(_ count: Int, _ limit: Int) throws -> UnsafeBufferPointer<UInt8> {
        guard count <= limit - position else {
            throw BSONError(offset: position, reason: "A value is longer than its document.")
        }
        defer { position += count }
        return UnsafeBufferPointer(rebasing: bytes[position..<(position + count)])
    }
}
