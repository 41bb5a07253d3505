import Foundation
import ParseProtocol

/// Parses lists of addresses: `ann@shop.example, "Long, Ada" <ada@shop.example>`.
package enum AddressList {
    /// The addresses in order, with nil for an invalid one. A comma in quotation marks or angle brackets does not
    /// separate, and an empty entry between two commas is skipped.
    package static func addresses(in text: String) -> [MailAddress?] {
        parts(of: text).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }.map(address)
    }

    private static func parts(of text: String) -> [String] {
        var parts: [String] = []
        var part = ""
        var (isQuoted, isEscaped, isInBrackets) = (false, false, false)
        for character in text {
            if character == ",", !isQuoted, !isInBrackets {
                parts.append(part)
                part = ""
                continue
            }
            part.append(character)
            switch character {
            case _ where isEscaped: isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case "<" where !isQuoted: isInBrackets = true
            case ">" where !isQuoted: isInBrackets = false
            default: break
            }
        }
        return parts + [part]
    }

    /// Parses `ann@shop.example`, `<ann@shop.example>` or `Ann <ann@shop.example>`. An address contains no angle
    /// bracket.
    private static func address(_ part: String) -> MailAddress? {
        guard part.hasSuffix(">"), let bracket = part.lastIndex(of: "<") else { return address(part, name: "") }
        let inBrackets = part[part.index(after: bracket)...].dropLast()
        return name(part[..<bracket].trimmingCharacters(in: .whitespacesAndNewlines)).flatMap {
            address(inBrackets.trimmingCharacters(in: .whitespacesAndNewlines), name: $0)
        }
    }

    private static func address(_ text: String, name: String) -> MailAddress? {
        Mailbox.isAddress(text) ? MailAddress(text, name: name) : nil
    }

    /// A name without its quotation marks and backslashes. Nil for a text that may hide another address, because a
    /// quotation mark or comma is missing: no recipient may be dropped silently.
    private static func name(_ text: String) -> String? {
        guard text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") else {
            return text.contains { "\"<>,".contains($0) } ? nil : text
        }
        var plain = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if !isEscaped, character == "\"" { return nil }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { plain.append(character) }
        }
        return isEscaped ? nil : plain
    }
}
