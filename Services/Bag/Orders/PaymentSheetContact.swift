import ParseProtocol

/// The contact that a payment sheet such as Apple Pay's collected, as the shipping address of an order.
///
/// Reads the members of `PKContact` (`name` or its parts, `phoneNumber`, `emailAddress`, `postalAddress` as
/// `CNPostalAddress` or the older `ABAddress` dictionary) and those of Apple Pay on the web (`addressLines`,
/// `locality`, `administrativeArea`, `postalCode`).
package struct PaymentSheetContact: Sendable, Equatable {
    package let address: ShippingAddress
    /// As sent by the sheet; not validated yet.
    package let email: JSON?

    /// The names under which an address member may appear; the first present one counts.
    private static let sources: [(member: String, names: [String])] = [
        ("firstName", ["givenName", "firstName"]), ("lastName", ["familyName", "lastName"]),
        ("phone", ["phoneNumber", "phone"]), ("address1", ["street", "Street", "address1"]),
        ("address2", ["subLocality", "address2"]), ("city", ["city", "City", "locality"]),
        ("state", ["state", "State", "administrativeArea"]), ("zipcode", ["postalCode", "ZIP", "zipcode"]),
        ("country", ["country", "Country", "countryCode"]),
    ]

    /// - Throws: `.validationError` (142) for anything other than an object of short texts.
    package init(_ value: JSON) throws {
        guard value.objectValue != nil, value["__op"] == nil else {
            throw ParseError(.validationError, "shippingContact must be an object.")
        }
        // A person's name and postal address may be nested objects.
        let parts = [value, value["name"], value["postalAddress"]].compactMap(\.self)
        func first(_ names: [String]) -> JSON? {
            names.lazy.compactMap { name in parts.lazy.compactMap { Self.filled($0[name]) }.first }.first
        }
        var members: [String: JSON] = [:]
        for (member, names) in Self.sources { members[member] = first(names) }
        let lines = (first(["addressLines"])?.arrayValue ?? []).filter { $0 != "" }
        if members["address1"] == nil { members["address1"] = lines.first }
        if members["address2"] == nil { members["address2"] = lines.dropFirst().first }
        if members["firstName"] == nil, members["lastName"] == nil {
            members["lastName"] = value["name"]?.stringValue.map(JSON.string)
        }
        address = try ShippingAddress(.object(members))
        email = first(["emailAddress", "email"])
    }

    private static func filled(_ value: JSON?) -> JSON? { value == nil || value == .null || value == "" ? nil : value }
}
