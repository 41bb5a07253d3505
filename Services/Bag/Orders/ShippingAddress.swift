import Foundation
import ParseProtocol

/// The address that an order goes to. Members beyond the known ones are kept, for apps that have more.
package struct ShippingAddress: Sendable, Equatable {
    /// In the order in which a form asks for them. `address2` is optional.
    package static let required = ["firstName", "lastName", "phone", "address1", "city", "state", "zipcode"]

    private static let membersMax = 20
    private static let lengthMax = 200

    package let members: [String: String]

    /// An address as a client sent it.
    /// - Throws: `.validationError` (142) for anything but an object of short texts. It may be incomplete.
    package init(_ value: JSON) throws {
        guard let object = value.objectValue, value.wireType == nil, value["__op"] == nil else {
            throw ParseError(.validationError, "shippingAddress must be an object.")
        }
        guard object.count <= Self.membersMax, object.keys.allSatisfy(Names.isFieldName) else {
            throw ParseError(.validationError, "shippingAddress has a member that is not possible.")
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
        members = (Self.required + ["address2"]).reduce(into: [:]) { members, name in
            guard let text = profile[name]?.stringValue ?? profile[name]?.intValue.map(String.init) else { return }
            members[name] = String(text.prefix(Self.lengthMax)).trimmed
        }
    }

    /// - Throws: `.validationError` (142) that names what is missing, in its text and in `details.missing`.
    package func requireComplete() throws { try require(Self.required) }

    /// Requires the least that a payment sheet brings, wherever it is used: many countries have no states, and a phone
    /// number need not be asked for.
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

    package var json: JSON { .object(members.mapValues(JSON.string)) }

    var fullName: String {
        ["firstName", "lastName"].compactMap { members[$0] }.filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension String {
    private static let visible: ClosedRange<UInt8> = 0x21...0x7E

    /// Without spaces and line breaks at its ends. Most texts have none, which their first and last byte tell.
    fileprivate var trimmed: String {
        guard let first = utf8.first, let last = utf8.last, Self.visible.contains(first), Self.visible.contains(last)
        else { return trimmingCharacters(in: .whitespacesAndNewlines) }
        return self
    }
}
