import Glibc
import ParseProtocol

/// The URLs of files, and the `url` member that every File value in a response gets. Only the name is stored. A client
/// therefore cannot point a File to another address, and a shop can move to a new one.
package struct FileLinks: Sendable {
    private let base: String
    /// The text that follows a file's name: from the comma behind the name to the beginning of the URL.
    private let member: [UInt8]

    /// The beginning of a File as `JSON.serialized` writes it and the services store it. JSON escapes quotes inside
    /// texts, so these bytes never occur within one.
    private static let opening = Array(#"{"__type":"File","name":""#.utf8)

    package init(publicURL: String, applicationId: String) {
        let id = applicationId.utf8.reduce(into: "") { text, byte in
            text +=
                FileNames.isNameByte(byte) && byte != UInt8(ascii: " ")
                ? String(UnicodeScalar(byte)) : Self.escaped(byte)
        }
        base = "\(publicURL)/files/\(id)/"
        member = Array(#","url":"#.utf8) + JSON.string(base).serialized.dropLast()
    }

    /// The URL of a file.
    func url(of name: String) -> String { base + name.replacing(" ", with: "%20") }

    /// The working URL of a file: for a private file with a signature and an expiry.
    func url(of name: String, signedBy signer: FileSigner, seconds: Int64? = nil) -> String {
        guard FileNames.isPrivate(name) else { return url(of: name) }
        return url(of: name) + "?" + signer.query(for: name, now: .now, seconds: seconds)
    }

    private static func escaped(_ byte: UInt8) -> String {
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// A File without a `url` in a body: the bounds of its name, and the number of spaces in it.
    private struct FileName {
        let start: Int
        let end: Int
        let spaces: Int
    }

    /// The body with a `url` in every File that has none. It scans bytes and decodes nothing, because most responses
    /// have no File.
    package func linked(_ body: [UInt8]) -> [UInt8] {
        body.withUnsafeBytes { bytes in
            let names = Self.fileNames(in: bytes)
            guard !names.isEmpty, let source = bytes.baseAddress else { return body }
            let count = names.reduce(bytes.count) { $0 + member.count + ($1.end - $1.start) + 2 * $1.spaces + 1 }
            return Array(unsafeUninitializedCapacity: count) { output, filled in
                guard let target = UnsafeMutableRawPointer(output.baseAddress) else { return }
                var copied = 0
                func copy(_ from: UnsafeRawPointer, _ count: Int) {
                    memcpy(target + filled, from, count)
                    filled += count
                }
                for name in names {
                    // The name with its closing quote.
                    copy(source + copied, name.end + 1 - copied)
                    member.withUnsafeBytes { if let member = $0.baseAddress { copy(member, $0.count) } }
                    if name.spaces == 0 {
                        copy(source + name.start, name.end - name.start)
                    } else {
                        for byte in bytes[name.start..<name.end] {
                            let isSpace = byte == UInt8(ascii: " ")
                            for byte in isSpace ? Array("%20".utf8) : [byte] {
                                output[filled] = byte
                                filled += 1
                            }
                        }
                    }
                    output[filled] = UInt8(ascii: "\"")
                    filled += 1
                    copied = name.end + 1
                }
                copy(source + copied, bytes.count - copied)
            }
        }
    }

    private static func fileNames(in bytes: UnsafeRawBufferPointer) -> [FileName] {
        var names: [FileName] = []
        var position = 0
        while let found = find(in: bytes, from: position) {
            let start = found + opening.count
            var (end, spaces) = (start, 0)
            while end < bytes.count, FileNames.isNameByte(bytes[end]) {
                if bytes[end] == UInt8(ascii: " ") { spaces += 1 }
                end += 1
            }
            // Skips names that Satchel did not give, and Files that already have a `url`.
            if end + 1 < bytes.count, bytes[end] == UInt8(ascii: "\""), bytes[end + 1] == UInt8(ascii: "}") {
                names.append(FileName(start: start, end: end, spaces: spaces))
            }
            position = end
        }
        return names
    }

    /// The position of the F in `opening`. Capital letters are rare in JSON, so `memchr` skips most of a body.
    private static let anchor = 11

    private static func find(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        return opening.withUnsafeBytes { opening in
            var position = start + anchor
            while position < bytes.count {
                guard let found = memchr(base + position, Int32(opening[anchor]), bytes.count - position) else {
                    return nil
                }
                position = UnsafeRawPointer(found) - base
                let first = position - anchor
                if bytes.count - first >= opening.count, let wanted = opening.baseAddress,
                    memcmp(base + first, wanted, opening.count) == 0
                {
                    return first
                }
                position += 1
            }
            return nil
        }
    }
}
