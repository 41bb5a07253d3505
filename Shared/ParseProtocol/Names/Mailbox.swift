/// The mailbox of an address, as far as the address shows it: different spellings of one mailbox share quotas and rate
/// limits.
public struct Mailbox: Sendable, Hashable {
    /// In lower case, without `+tag`; for Gmail also without dots, which Gmail ignores, and under one of its two
    /// domains.
    public let address: String

    private static let gmail = "gmail.com"
    private static let gmailDomains: Set<Substring> = ["gmail.com", "googlemail.com"]

    /// The mailbox of `address`. An address without an `@` after its first character is only lowercased.
    public init(_ address: String) {
        let lower = address.lowercased()
        guard let at = lower.lastIndex(of: "@"), at != lower.startIndex else {
            self.address = lower
            return
        }
        var local = lower[..<at]
        let domain = lower[lower.index(after: at)...]
        if let plus = local.firstIndex(of: "+"), plus != local.startIndex { local = local[..<plus] }
        let isGmail = Self.gmailDomains.contains(domain)
        self.address =
            isGmail ? "\(local.filter { $0 != "." })@\(Self.gmail)" : "\(local)@\(domain)"
    }
}
