import Glibc
import ParseProtocol

/// Where files are: their URLs, and the url that every File value in an answer gets. Stored is only its name, so that no client can
/// point a File anywhere, and so that a shop can move to another address.
struct FileLinks: Sendable {
    private let base: String
    private let baseInJSON: [UInt8]

    /// How a File is written by `JSON.serialized` and kept by the services. Within a JSON text a quote is escaped, so that these bytes
    /// are never a part of one.
    private static let opening = Array(#"{"__type":"File","name":""#.utf8)

    init(publicURL: String, applicationId: String) {
        let id = applicationId.utf8.reduce(into: "") { text, byte in
            text +=
                FileNames.isNameByte(byte) && byte != UInt8(ascii: " ")
                ? String(UnicodeScalar(byte)) : Self.escaped(byte)
        }
        base = "\(publicURL)/files/\(id)/"
        baseInJSON = Array(JSON.string(base).serialized.dropLast())
    }

    /// The URL of a file.
    func url(of name: String) -> String { base + name.replacing(" ", with: "%20") }

    /// The URL of a file that works: of a private one it is signed and has an end.
    func url(of name: String, signedBy signer: FileSigner, seconds: Int64? = nil, now: Timestamp = .now) -> String {
        guard FileNames.isPrivate(name) else { return url(of: name) }
        return url(of: name) + "?" + signer.query(for: name, now: now, seconds: seconds)
    }

    private static func escaped(_ byte: UInt8) -> String {
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// The body with a url in every File that has none. Looks at bytes and decodes nothing: most answers have no File.
    func linked(_ body: [UInt8]) -> [UInt8] {
        guard var found = Self.find(in: body, from: 0) else { return body }
        var output: [UInt8] = []
        output.reserveCapacity(body.count + 1024)
        var copied = 0
        while true {
            let start = found + Self.opening.count
            var end = start
            while end < body.count, FileNames.isNameByte(body[end]) { end += 1 }
            // Other names are not those of our files, or the File has a url already.
            if end + 1 < body.count, body[end] == UInt8(ascii: "\""), body[end + 1] == UInt8(ascii: "}") {
                output.append(contentsOf: body[copied...end])
                output.append(contentsOf: #","url":"#.utf8)
                output.append(contentsOf: baseInJSON)
                for byte in body[start..<end] {
                    if byte == UInt8(ascii: " ") { output.append(contentsOf: "%20".utf8) } else { output.append(byte) }
                }
                output.append(UInt8(ascii: "\""))
                copied = end + 1
            }
            guard let next = Self.find(in: body, from: end) else { break }
            found = next
        }
        output.append(contentsOf: body[copied...])
        return output
    }

    /// The position of the F in `opening`. Capital letters are rare in JSON, so that `memchr` passes over most of a body at its speed.
    private static let anchor = 11

    private static func find(in body: [UInt8], from start: Int) -> Int? {
        body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var position = start + anchor
            while position < bytes.count {
                guard let found = memchr(base + position, Int32(opening[anchor]), bytes.count - position) else {
                    return nil
                }
                position = UnsafeRawPointer(found) - base
                let first = position - anchor
                if bytes.count - first >= opening.count, memcmp(base + first, opening, opening.count) == 0 {
                    return first
                }
                position += 1
            }
            return nil
        }
    }
}
