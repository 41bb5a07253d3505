/// The objects of a JSON export, one after another and as text: those of an array, of lines, or of the array `results`
/// in an object.
final class JSONRows {
    enum Form {
        case lines, array, results
    }

    private let reader: ByteReader
    private(set) var form: Form?
    /// Whether an object must follow, after a comma.
    private var isAfterComma = false
    /// Whether an object has ended without a comma.
    private var isAfterRow = false
    private var isClosed = false
    private var isFinished = false

    /// A document of 16 MB, with the escapes and types of Extended JSON.
    private static let rowBytesMax = 128 << 20
    private static let wrapper = Array("\"results\":[".utf8)

    init(_ reader: ByteReader) { self.reader = reader }

    /// - Returns: the text of the next object and its place; nil at the end.
    /// - Throws: `MoveInError` for anything between the objects that does not belong there, and for a file that is cut
    ///   off.
    func next() throws -> (text: [UInt8], place: SourcePlace)? {
        guard !isFinished else { return nil }
        if form == nil, let first = try begin() { return first }
        while let (byte, place) = try nextSign() {
            switch byte {
            case UInt8(ascii: "{") where !isClosed && (form == .lines || !isAfterRow): return try row(place)
            case UInt8(ascii: ",") where form != .lines && isAfterRow && !isClosed:
                isAfterComma = true
                isAfterRow = false
            case UInt8(ascii: "]") where form != .lines && !isAfterComma && !isClosed: isClosed = true
            case _ where isClosed && form == .results:
                try finishWrapper(byte)
                return nil
            default: throw MoveInError(place, "An object was expected here. The file is damaged: export it again.")
            }
        }
        guard form != .results, form != .array || isClosed else { throw cutOff }
        return nil
    }

    private var cutOff: MoveInError { MoveInError(reader.place, "The file is cut off: export it again.") }

    /// Finds the form of the file.
    /// - Returns: the first object of lines.
    private func begin() throws -> (text: [UInt8], place: SourcePlace)? {
        guard var (byte, place) = try nextSign() else {
            form = .lines
            return nil
        }
        // A byte order mark.
        if byte == 0xEF, try reader.take(2) == [0xBB, 0xBF], let next = try nextSign() { (byte, place) = next }
        switch byte {
        case UInt8(ascii: "["): form = .array
        case UInt8(ascii: "{"):
            var start: [UInt8] = [byte]
            if try isWrapper(&start) {
                form = .results
            } else {
                form = .lines
                return try row(place, start: start)
            }
        default: throw MoveInError(place, "This is no JSON export: an array or an object was expected.")
        }
        return nil
    }

    /// Reads the name of an object's first member.
    /// - Parameter start: gets the bytes, as far as they were read.
    private func isWrapper(_ start: inout [UInt8]) throws -> Bool {
        for (index, expected) in Self.wrapper.enumerated() {
            let isToken = index == 0 || expected == UInt8(ascii: ":") || expected == UInt8(ascii: "[")
            repeat {
                guard let byte = try reader.takeByte() else { throw cutOff }
                start.append(byte)
            } while isToken && Self.isSpace(start.last)
            guard start.last == expected else { return false }
        }
        return true
    }

    /// Passes over the members after the results. It must end as an object does.
    private func finishWrapper(_ first: UInt8) throws {
        var last = first
        while let (byte, _) = try nextSign() { last = byte }
        guard last == UInt8(ascii: "}") else { throw cutOff }
        isFinished = true
    }

    /// The next byte that is no white space; nil at the end.
    private func nextSign() throws -> (UInt8, SourcePlace)? {
        while true {
            let place = reader.place
            guard let byte = try reader.takeByte() else { return nil }
            if !Self.isSpace(byte) { return (byte, place) }
        }
    }

    private static func isSpace(_ byte: UInt8?) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Reads an object to its end, which is where its brackets are even.
    /// - Parameter start: its first bytes.
    private func row(
        _ place: SourcePlace, start: [UInt8] = [UInt8(ascii: "{")]
    ) throws -> (text: [UInt8], place: SourcePlace) {
        var brackets = Brackets()
        var text = start
        let end = start.withUnsafeBufferPointer { brackets.end(in: $0) }
        var isWhole = end != nil
        while !isWhole {
            let goesOn = try reader.scan { bytes in
                let end = brackets.end(in: bytes)
                isWhole = end != nil
                text.append(contentsOf: bytes[..<(end ?? bytes.count)])
                return end ?? bytes.count
            }
            guard goesOn else { throw cutOff }
            guard text.count <= Self.rowBytesMax else {
                throw MoveInError(place, "An object has more than \(Self.rowBytesMax >> 20) MB, or never ends.")
            }
        }
        isAfterRow = true
        isAfterComma = false
        return (text, place)
    }
}

/// Finds the end of an object in pieces of its text.
private struct Brackets {
    private var depth = 0
    private var isInText = false
    private var isEscaped = false

    /// - Returns: the offset after the last bracket; nil when the object goes on.
    mutating func end(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for (offset, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isInText {
                if byte == UInt8(ascii: "\"") { isInText = false }
                if byte == UInt8(ascii: "\\") { isEscaped = true }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInText = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    if depth == 0 { return offset + 1 }
                default: break
                }
            }
        }
        return nil
    }
}
