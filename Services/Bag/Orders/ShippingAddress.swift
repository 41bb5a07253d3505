import Foundation
import ParseProtocol
import ProcessKit

/// The shipping address of an order. Unknown members are kept for apps that have more.
package struct ShippingAddress: Sendable, Equatable {
    /// The members stored with an account, in the order of an address form.
    static let names = ["firstName", "lastName", "phone", "address1", "address2", "city", "state", "zipcode"]
    /// Members that an order requires unless `SATCHEL_ADDRESS_REQUIRED` names others. The reference app asks for no
    /// phone.
    package static let required = names.filter { $0 != "phone" && $0 != "address2" }

    private static let membersMax = 20
    private static let lengthMax = 200

    package let members: [String: String]

    /// An address sent by a client.
    /// - Throws: `.validationError` (142) for anything other than an object of short texts. The address may be
    ///   incomplete.
    package init(_ value: JSON) throws {
        guard let object = value.objectValue, value.wireType == nil, value["__op"] == nil else {
            throw ParseError(.validationError, "shippingAddress must be an object.")
        }
        guard object.count <= Self.membersMax, object.keys.allSatisfy(Names.isFieldName) else {
            throw ParseError(.validationError, "shippingAddress has too many members or an invalid member name.")
        }
        var members: [String: String] = [:]
        for (name, member) in object where !member.isNull {
            guard let text = member.stringValue ?? member.intValue.map(String.init) else {
                throw ParseError(.validationError, "shippingAddress.\(name) must be a string.")
            }
            guard text.utf8.count <= Self.lengthMax else {
                throw ParseError(.validationError, "shippingAddress.\(name) is longer than \(Self.lengthMax) bytes.")
            }
            guard !text.utf8.contains(0) else {
                throw ParseError(.validationError, "shippingAddress.\(name) contains U+0000.")
            }
            members[name] = text.trimmed
        }
        self.members = members
    }

    /// The address in a `_User`'s profile.
    package init(profile: JSON) {
        members = Self.names.reduce(into: [:]) { members, name in
            guard let text = profile[name]?.stringValue ?? profile[name]?.intValue.map(String.init) else { return }
            // A character may have any number of bytes.
            var bytes = 0
            let short = text.unicodeScalars.prefix {
                bytes += UTF8.width($0)
                return bytes <= Self.lengthMax
            }
            members[name] = String(short).trimmed
        }
    }

    /// - Throws: `.validationError` (142) with the missing members in its text and in `details.missing`.
    package func requireComplete(_ required: [String] = ShippingAddress.required) throws { try require(required) }

    /// Whether it is complete enough for an order paid by payment sheet.
    var isDeliverable: Bool { (try? requireDeliverable()) != nil }

    /// Requires the minimum that a payment sheet provides in any country: many countries have no states, and a shop may
    /// not ask for a phone number.
    /// - Throws: `.validationError` (142) as above.
    package func requireDeliverable() throws {
        try require(["address1", "city"] + (fullName.isEmpty ? ["lastName"] : []))
    }

    private func require(_ names: [String]) throws {
        let missing = names.filter { members[$0, default: ""].isEmpty }
        guard !missing.isEmpty else { return }
        throw ParseError(
            .validationError,
            """
            The shipping address is incomplete: \(missing.joined(separator: ", ")) \
            \(missing.count == 1 ? "is" : "are") missing.
            """,
            details: ["missing": .array(missing.map(JSON.string))])
    }

    /// `SATCHEL_ADDRESS_REQUIRED`: member names separated by commas.
    /// - Throws: `StartupProblem` for an invalid member name.
    static func requiredMembers(_ settings: Settings) throws(StartupProblem) -> [String] {
        let key = "satchel.address.required"
        let names = settings.text(key, default: required.joined(separator: ","))
            .split(separator: ",").map { String($0).trimmed }
        guard !names.isEmpty, names.allSatisfy(Names.isFieldName) else {
            throw settings.wrong(key, "must be member names of an address, separated by commas.")
        }
        return names
    }

    package var json: JSON { .object(members.mapValues(JSON.string)) }

    var fullName: String {
        ["firstName", "lastName"].compactMap { members[$0] }.filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension String {
    private static let visible: ClosedRange<UInt8> = 0x21...0x7E

    /// Removes spaces and line breaks at both ends. If the first and last byte are visible ASCII, as in most texts,
    /// there are none.
    fileprivate var trimmed: String {
        guard let first = utf8.first, let last = utf8.last, Self.visible.contains(first), Self.visible.contains(last)
        else { return trimmingCharacters(in: .whitespacesAndNewlines) }
        return self
    }
}
