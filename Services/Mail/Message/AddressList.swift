import Foundation

/// Addresses as people write them one after the other: `ann@shop.example, "Long, Ada" <ada@shop.example>`.
package enum AddressList {
    /// The addresses in their order; nil in the place of what is none. A comma in quotation marks or angle brackets
    /// separates nothing, and nothing between two commas is no address.
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

    /// `ann@shop.example`, `<ann@shop.example>` or `Ann <ann@shop.example>`; no bracket is in an address.
    private static func address(_ part: String) -> MailAddress? {
        guard part.hasSuffix(">"), let bracket = part.lastIndex(of: "<") else { return MailAddress(part, name: "") }
        let address = part[part.index(after: bracket)...].dropLast()
        return name(part[..<bracket].trimmingCharacters(in: .whitespacesAndNewlines)).flatMap {
            MailAddress(address.trimmingCharacters(in: .whitespacesAndNewlines), name: $0)
        }
    }

    /// A name without its quotation marks, and without the backslashes that stand in them. Nil for what may be the rest
    /// of another address, of which a quotation mark is missing: nobody is left out in silence.
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
