import ParseProtocol

/// The part of a file that a client requests (RFC 9110, section 14).
enum ByteRange: Equatable {
    case whole
    case part(Range<Int>)
    /// 416: the file has none of the requested bytes.
    case unsatisfiable

    /// - Parameters:
    ///   - header: the `Range` header; nil when there is none.
    ///   - condition: the `If-Range` header. Unless it names exactly this version of the file, the range is ignored;
    ///     a date never matches.
    ///   - size: the file's size in bytes.
    init(_ header: String?, if condition: String?, etag: String, size: Int) {
        guard let header, condition == nil || condition == etag else {
            self = .whole
            return
        }
        let text = header.filter { $0 != " " && $0 != "\t" }
        // RFC 9110 allows the whole file as the response to another unit and to several ranges.
        guard text.lowercased().hasPrefix("bytes="), !text.contains(",") else {
            self = .whole
            return
        }
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else {
            self = .unsatisfiable
            return
        }
        self = Self.range(from: ends[0], to: ends[1], size: size).map(ByteRange.part) ?? .unsatisfiable
    }

    private static func range(from first: Substring, to last: Substring, size: Int) -> Range<Int>? {
        if first.isEmpty {
            guard let count = position(last), count > 0, size > 0 else { return nil }
            return max(0, size - count)..<size
        }
        guard let start = position(first), start < size else { return nil }
        if last.isEmpty { return start..<size }
        guard let end = position(last), end >= start else { return nil }
        return start..<(min(end, size - 1) + 1)
    }

    /// Accepts digits only, without a sign. A number that overflows is past the end of any file.
    private static func position(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int(text) ?? .max - 1
    }
}
