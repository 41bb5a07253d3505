/// An address with a display name. Neither can break out of its header.
package struct MailAddress: Sendable, Equatable {
    /// `local@domain`, ASCII.
    package let address: String
    /// Without control characters; may be empty.
    package let name: String

    private static let addressBytesMax = 254  // RFC 5321 section 4.5.3.1.3, less the angle brackets.
    private static let nameMax = 100

    /// Nil for an address that is not `local@domain` of unquoted atoms (RFC 5322 section 3.2.3). Line breaks and other
    /// control characters of the name become spaces: an unusual name must not prevent an order's mail.
    package init?(_ address: String, name: String) {
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, address.utf8.count <= Self.addressBytesMax, Self.areAtoms(parts[0]),
            Self.areAtoms(parts[1])
        else { return nil }
        self.address = address
        self.name = HeaderText.singleLine(String(name.prefix(Self.nameMax)))
    }

    var domain: String { address.split(separator: "@").last.map(String.init) ?? "" }

    /// The form in a header: `Ann Example <ann@shop.example>`.
    package var header: String {
        name.isEmpty ? "<\(address)>" : "\(HeaderText.phrase(name)) <\(address)>"
    }

    private static func areAtoms(_ text: Substring.UTF8View) -> Bool {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(HeaderText.isAtomText) }
    }
}
