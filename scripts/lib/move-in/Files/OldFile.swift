import Cryptography
import Foundation
import ParseProtocol

/// A File value of the old server.
struct OldFile: Hashable, Sendable {
    var name: String
    /// Where the old server shows it; nil where the source has no address.
    var url: String?

    /// Nil for any other value, and for a File with neither a name nor an address.
    init?(_ value: JSON) {
        guard value.wireType == "File" else { return nil }
        url = value["url"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        if let name = value["name"]?.stringValue, !name.isEmpty {
            self.name = name
        } else {
            guard let last = url?.prefix(while: { $0 != "?" && $0 != "#" }).split(separator: "/").last else {
                return nil
            }
            name = last.removingPercentEncoding ?? String(last)
        }
    }

    init(name: String, url: String? = nil) { (self.name, self.url) = (name, url) }

    /// Whether the name has a random part, so that the old server never stored another content under it.
    var isUnique: Bool { Self.random(of: name) != nil }

    /// The name under which Satchel stores the file: the old one if Satchel could have given it. A UUID in the old name
    /// becomes the random digits, other names get digits of their checksum.
    var storedName: String {
        if let (digits, rest) = Self.random(of: name) {
            let kept = "\(digits)_\(rest)"
            return kept == name && FileNames.isStoredName(kept) && Self.isPlain(rest)
                ? kept : "\(digits)_\(Self.plain(rest))"
        }
        return Self.named(after: name, title: name)
    }

    /// The name for another content than the one that `storedName` has.
    func storedName(checksum: String) -> String { Self.named(after: "\(checksum) \(name)", title: storedTitle) }

    private var storedTitle: String { FileNames.original(storedName) }

    private static func named(after text: String, title: String) -> String {
        "\(SHA256.hash(data: text.utf8).prefix(16).hex)_\(plain(title))"
    }

    /// The random digits and the rest of a name: `<32 digits>_<rest>` of Parse Server, `tfss-<UUID>-<rest>` of hosted
    /// Parse.
    private static func random(of name: String) -> (digits: String, rest: String)? {
        if let match = name.wholeMatch(of: #/([0-9a-f]{32})_([^\/]+)/#) {
            return (String(match.1), String(match.2))
        }
        guard
            let match = name.wholeMatch(
                of: #/(?:tfss-)?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})[-_]([^\/]+)/#)
        else { return nil }
        return ("\(match.1)\(match.2)\(match.3)\(match.4)\(match.5)", String(match.6))
    }

    private static func isPlain(_ title: some StringProtocol) -> Bool {
        do throws(ParseError) {
            try FileNames.check(title)
            return true
        } catch {
            return false
        }
    }

    /// A client's name of a file: the last part of the path, with `_` for what Satchel does not take, and its end if it
    /// is too long.
    private static func plain(_ title: String) -> String {
        let last = title.split(separator: "/").last.map(String.init) ?? ""
        if isPlain(last) { return last }
        let bytes = (last.removingPercentEncoding ?? last).utf8.suffix(titleBytesMax).map {
            FileNames.isNameByte($0) ? $0 : UInt8(ascii: "_")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return isPlain(text) ? text : "_\(text)"
    }

    private static let titleBytesMax = 120
}

/// The Files in a row's values: in columns, arrays and nested objects.
enum FileValues {
    static func all(in fields: [String: JSON]) -> [OldFile] {
        var found: [OldFile] = []
        for value in fields.values { visit(value, &found) }
        return found
    }

    private static func visit(_ value: JSON, _ found: inout [OldFile]) {
        switch value {
        case .array(let elements): for element in elements { visit(element, &found) }
        case .object(let members):
            if let file = OldFile(value) {
                found.append(file)
            } else {
                for member in members.values { visit(member, &found) }
            }
        default: break
        }
    }

    /// The fields with other names of Files, and without their addresses.
    static func renamed(_ fields: [String: JSON], _ name: (OldFile) -> String) -> [String: JSON] {
        fields.mapValues { renamed($0, name) }
    }

    private static func renamed(_ value: JSON, _ name: (OldFile) -> String) -> JSON {
        switch value {
        case .array(let elements): return .array(elements.map { renamed($0, name) })
        case .object(let members):
            guard let file = OldFile(value) else { return .object(members.mapValues { renamed($0, name) }) }
            return ["__type": "File", "name": .string(name(file))]
        default: return value
        }
    }
}
