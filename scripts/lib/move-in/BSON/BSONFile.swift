/// The next item in a file of documents.
enum BSONPart {
    case document([UInt8], SourcePlace)
    /// The end of a block of an archive.
    case terminator
    case end
}

extension ByteReader {
    private static let terminator: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]

    /// Reads the bytes of the next document.
    /// - Throws: `MoveInError` when its length cannot be right: nothing shows where the next one begins.
    func nextPart() throws -> BSONPart {
        let place = place
        var bytes = try take(4)
        if bytes.isEmpty { return .end }
        guard bytes.count == 4 else { throw MoveInError(place, "The file ends inside of a document.") }
        if bytes == Self.terminator { return .terminator }
        let length = bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard (5...BSONDocument.bytesMax).contains(length) else {
            throw MoveInError(place, "A document cannot have \(length) bytes. The file is damaged: dump it again.")
        }
        try take(length - 4, onto: &bytes)
        guard bytes.count == length else { throw MoveInError(place, "The file ends inside of a document.") }
        guard bytes.last == 0 else {
            throw MoveInError(place, "A document does not end where it should. The file is damaged: dump it again.")
        }
        return .document(bytes, place)
    }

    /// Reads the next document of a file without blocks; nil at the end.
    func nextDocument() throws -> (bytes: [UInt8], place: SourcePlace)? {
        let start = place
        switch try nextPart() {
        case .document(let bytes, let place): return (bytes, place)
        case .terminator: throw MoveInError(start, "The file is damaged: dump it again.")
        case .end: return nil
        }
    }
}
