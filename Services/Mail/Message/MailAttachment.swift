import Foundation
import ParseProtocol

/// A file attached to a mail.
package struct MailAttachment: Sendable, Equatable {
    /// Without path, quotation marks and control characters.
    let name: String
    /// `type/subtype`, without parameters.
    let contentType: String
    let content: [UInt8]

    private static let nameBytesMax = 200
    private static let typeBytesMax = 100

    /// An element of the parameter `attachments`: `{name, contentType?, base64}`.
    /// - Throws: `.validationError` (142) for anything else.
    init(_ parameters: JSON) throws {
        guard let name = parameters["name"]?.stringValue, Self.isName(name) else {
            throw ParseError(.validationError, "An attachment needs a name of 1 to \(Self.nameBytesMax) bytes.")
        }
        let type = parameters["contentType"]?.stringValue ?? "application/octet-stream"
        guard Self.isType(type) else {
            throw ParseError(.validationError, "The contentType of an attachment must be like application/pdf.")
        }
        guard let base64 = parameters["base64"]?.stringValue, let content = Data(base64Encoded: base64) else {
            throw ParseError(.validationError, "An attachment needs its content as base64.")
        }
        self.name = name
        contentType = type
        self.content = Array(content)
    }

    /// Decodes the form stored in the queue.
    init?(stored: JSON) {
        guard let attachment = try? MailAttachment(stored) else { return nil }
        self = attachment
    }

    var stored: JSON {
        [
            "name": .string(name), "contentType": .string(contentType),
            "base64": .string(Data(content).base64EncodedString()),
        ]
    }

    private static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count) && !name.utf8.contains { "/\\\"".utf8.contains($0) }
            && HeaderText.singleLine(name) == name
    }

    /// Multipart and message types are refused: readers would parse the file as nested parts.
    private static func isType(_ type: String) -> Bool {
        let parts = type.lowercased().utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard type.utf8.count <= typeBytesMax, parts.count == 2,
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { HeaderText.isAtomText($0) || $0 == UInt8(ascii: ".") } })
        else { return false }
        return !["multipart", "message"].contains(String(parts[0]))
    }

    /// The lines of the part.
    var part: [String] {
        let base64 = Data(content).base64EncodedString(options: [.lineLength76Characters, .endLineWithCarriageReturn])
        return [
            "Content-Type: \(contentType)", "Content-Disposition: attachment;\r\n \(fileName)",
            "Content-Transfer-Encoding: base64", "",
        ] + base64.split(whereSeparator: \.isNewline).map(String.init)
    }

    /// RFC 2231: a name beyond ASCII is percent-encoded.
    private var fileName: String {
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return "filename=\"\(name)\"" }
        let encoded = name.utf8.map { byte -> String in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return "filename*=UTF-8''\(encoded.joined())"
    }
}
