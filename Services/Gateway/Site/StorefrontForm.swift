import HTTPTypes
import ParseProtocol

/// A form of the storefront: its texts, and the file of a form that uploads one (multipart/form-data).
struct StorefrontForm: Sendable {
    private(set) var fields: [String: String] = [:]
    private(set) var file: [UInt8] = []
    /// The type that the browser states; empty without a file.
    private(set) var fileType = ""

    private static let textBytesMax = 32 << 10
    private static let fileBytesMax = 8 << 20
    private static let partsMax = 16
    /// Of the head of a part; browsers send some hundred.
    private static let headBytesMax = 1 << 10

    init() {}

    /// - Throws: `.invalidJSON` (107) for another body, `.fileTooLarge` (129) for a longer one.
    init(_ request: ParseRequest) throws(ParseError) {
        if let boundary = Self.boundary(request.headers[.contentType] ?? "") {
            guard request.body.count <= Self.fileBytesMax else { throw .fileTooLarge(Self.fileBytesMax) }
            try read(request.body, boundary)
        } else {
            guard request.body.count <= Self.textBytesMax else { throw .fileTooLarge(Self.textBytesMax) }
            fields = try request.pageForm(bytesMax: Self.textBytesMax)
        }
        for value in fields.values { try value.checkMarks() }
    }

    /// - Returns: nil for another type.
    private static func boundary(_ type: String) -> [UInt8]? {
        guard type.lowercased().hasPrefix("multipart/form-data"), let start = type.firstRange(of: "boundary=") else {
            return nil
        }
        let text = type[start.upperBound...].prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
        return (1...70).contains(text.utf8.count) ? Array("--\(text)".utf8) : nil
    }

    private mutating func read(_ body: [UInt8], _ boundary: [UInt8]) throws(ParseError) {
        var rest = body[...]
        guard rest.starts(with: boundary) else { throw Self.malformed }
        rest = rest.dropFirst(boundary.count)
        let end = Array("\r\n".utf8) + boundary
        for _ in 0..<Self.partsMax {
            if rest.starts(with: Array("--".utf8)) { return }
            guard rest.starts(with: Array("\r\n".utf8)),
                let head = Self.range(of: Array("\r\n\r\n".utf8), in: rest),
                let next = Self.range(of: end, in: rest[head.upperBound...])
            else { throw Self.malformed }
            try take(rest[..<head.lowerBound], rest[head.upperBound..<next.lowerBound])
            rest = rest[next.upperBound...]
        }
        throw Self.malformed
    }

    private static func range(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        let found = bytes.withUnsafeBufferPointer { bytes -> Int? in
            guard text.count <= bytes.count else { return nil }
            return (0...(bytes.count - text.count)).first { start in
                bytes[start] == text[0] && text.indices.allSatisfy { bytes[start + $0] == text[$0] }
            }
        }
        return found.map { bytes.startIndex + $0..<bytes.startIndex + $0 + text.count }
    }

    private mutating func take(_ head: ArraySlice<UInt8>, _ content: ArraySlice<UInt8>) throws(ParseError) {
        guard head.count <= Self.headBytesMax, let head = String(validating: head, as: UTF8.self) else {
            throw Self.malformed
        }
        // Before a part of it is compared or hashed.
        try head.checkMarks()
        guard let name = Self.value(of: "name", in: head) else { throw Self.malformed }
        if Self.value(of: "filename", in: head) != nil {
            guard !content.isEmpty else { return }
            file = Array(content)
            let line = head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("content-type:") }
            fileType = line.map { $0.dropFirst("content-type:".count).lowercased().filter { $0 != " " } } ?? ""
        } else {
            guard content.count <= Self.textBytesMax, let text = String(validating: content, as: UTF8.self) else {
                throw Self.malformed
            }
            fields[name] = text
        }
    }

    private static func value(of name: String, in head: String) -> String? {
        guard let start = head.firstRange(of: "; \(name)=\"") else { return nil }
        return String(head[start.upperBound...].prefix { $0 != "\"" })
    }

    private static let malformed = ParseError(.invalidJSON, "The form is not valid.")
}
