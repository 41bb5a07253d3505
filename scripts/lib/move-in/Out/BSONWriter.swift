/// Why a value cannot be stored in the form of another database, in a sentence.
struct UnstorableValue: Error, Equatable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

extension BSONDocument {
    /// The limit of MongoDB.
    static let storedBytesMax = 16 << 20

    /// The document in BSON 1.1 (bsonspec.org).
    /// - Throws: `UnstorableValue` for a name with NUL, a document that is too deep or too large for MongoDB, and types
    ///   that Parse Server never stores.
    func serialized() throws(UnstorableValue) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(512)
        try append(to: &output, depth: 1)
        guard output.count <= Self.storedBytesMax else {
            throw UnstorableValue("It has \(output.count) bytes; MongoDB takes at most 16 MB.")
        }
        return output
    }

    fileprivate func append(to output: inout [UInt8], depth: Int) throws(UnstorableValue) {
        guard depth <= Self.depthMax else {
            throw UnstorableValue("It is nested deeper than \(Self.depthMax) levels.")
        }
        let start = output.count
        BSON.append(Int32(0), to: &output)
        for element in elements { try element.value.append(element.name, to: &output, depth: depth) }
        output.append(0)
        let length = UInt32(truncatingIfNeeded: output.count - start)
        for byte in 0..<4 { output[start + byte] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(byte))) }
    }
}

extension BSON {
    fileprivate func append(_ name: String, to output: inout [UInt8], depth: Int) throws(UnstorableValue) {
        guard !name.utf8.contains(0) else { throw UnstorableValue("The name \(name.debugDescription) has NUL.") }
        output.append(try typeNumber())
        output += name.utf8
        output.append(0)
        switch self {
        case .null, .undefined, .decimal, .other: break
        case .bool(let flag): output.append(flag ? 1 : 0)
        case .int32(let number): Self.append(number, to: &output)
        case .int64(let number), .date(let number): Self.append(number, to: &output)
        case .double(let number): Self.append(number.bitPattern, to: &output)
        case .string(let text):
            Self.append(Int32(clamping: text.utf8.count + 1), to: &output)
            output += text.utf8
            output.append(0)
        case .objectId(let digits):
            guard let bytes = [UInt8](hex: digits), bytes.count == 12 else {
                throw UnstorableValue("\(digits.debugDescription) is no ObjectId.")
            }
            output += bytes
        case .binary(let bytes):
            Self.append(Int32(clamping: bytes.count), to: &output)
            output.append(0)
            output += bytes
        case .array(let values):
            let elements = values.enumerated().map { BSONDocument.Element(name: "\($0.offset)", value: $0.element) }
            try BSONDocument(elements: elements).append(to: &output, depth: depth + 1)
        case .document(let document): try document.append(to: &output, depth: depth + 1)
        }
    }

    private func typeNumber() throws(UnstorableValue) -> UInt8 {
        switch self {
        case .double: 0x01
        case .string: 0x02
        case .document: 0x03
        case .array: 0x04
        case .binary: 0x05
        case .objectId: 0x07
        case .bool: 0x08
        case .date: 0x09
        case .null: 0x0A
        case .int32: 0x10
        case .int64: 0x12
        case .undefined, .decimal, .other: throw UnstorableValue("Parse Server stores no such type.")
        }
    }

    fileprivate static func append(_ number: some FixedWidthInteger, to output: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { output += $0 }
    }
}
