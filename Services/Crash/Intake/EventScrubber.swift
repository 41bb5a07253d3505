import ParseProtocol
import ServiceKit

/// Removes data from an event that must not be stored: addresses, secrets (by field name), card numbers; and U+0000,
/// which PostgreSQL stores in no text.
package enum EventScrubber {
    package static let filtered: JSON = "[Filtered]"

    /// Parts of field names, in lower case without separators.
    private static let secretNames: [StaticString] = [
        "password", "passwd", "passphrase", "secret", "token", "authorization", "cookie", "apikey", "masterkey",
        "privatekey",
        "credential", "cardnumber", "cvc", "cvv",
    ]
    /// Field names for addresses of people.
    private static let addressNames: Set<[UInt8]> = Set(
        ["ipaddress", "remoteaddr", "xforwardedfor", "xrealip", "forwarded"].map { Array($0.utf8) })

    package static func scrubbed(_ event: JSON) -> JSON {
        switch event {
        case .object(let members):
            var kept: [String: JSON] = [:]
            for (name, value) in members {
                let plain = plain(name)
                if addressNames.contains(plain) { continue }
                kept[name] = isSecret(plain) && !value.isNull ? filtered : scrubbed(value)
            }
            return .object(kept)
        case .array(let elements):
            // Headers may be encoded as pairs.
            if elements.count == 2, let name = elements[0].stringValue, elements[1].stringValue != nil {
                let plain = plain(name)
                if isSecret(plain) || addressNames.contains(plain) { return [elements[0], filtered] }
            }
            return .array(elements.map(scrubbed))
        case .string(let text) where text.utf8.contains(0):
            return scrubbed(.string(String(text.unicodeScalars.filter { $0 != "\0" })))
        default:
            return CardNumber.isPresent(in: event) ? filtered : event
        }
    }

    /// A field's name in lower case without separators, as bytes: a report may have a hundred thousand names.
    private static func plain(_ name: String) -> [UInt8] {
        name.utf8.prefix(200).compactMap { byte in
            switch byte {
            case UInt8(ascii: "_"), UInt8(ascii: "-"), 0: nil
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            default: byte
            }
        }
    }

    private static func isSecret(_ plain: [UInt8]) -> Bool { secretNames.contains { plain.contains(text: $0) } }

    /// Maximum members of a user, and their maximum length. SDKs send an id, a name, an address and a few of the app's
    /// own.
    private static let namesMax = 32
    private static let nameBytesMax = 500

    /// The event without its user, and without the user's names and addresses anywhere else in it.
    package static func anonymized(_ event: JSON) -> JSON {
        let user = (event["user"]?.objectValue ?? [:]).values.compactMap(\.stringValue)
        // No SDK sends such a user, and searching for its values would be slow: nothing of the event is kept.
        guard user.count <= namesMax, user.allSatisfy({ $0.utf8.count <= nameBytesMax }) else {
            return ["event_id": event["event_id"] ?? .null]
        }
        let names = user.filter { $0.count >= 4 }.map { SequenceMatcher(Array($0.utf8)) }
        var event = event
        event["user"] = nil
        return names.isEmpty ? event : without(names, event)
    }

    private static func without(_ names: [SequenceMatcher<UInt8>], _ value: JSON) -> JSON {
        switch value {
        case .string(let text): holds(text, names) ? filtered : value
        case .array(let elements): .array(elements.map { without(names, $0) })
        case .object(let members): .object(members.mapValues { without(names, $0) })
        default: value
        }
    }

    private static func holds(_ text: String, _ names: [SequenceMatcher<UInt8>]) -> Bool {
        var text = text
        return text.withUTF8 { bytes in names.contains { $0.isIn(bytes) } }
    }
}
