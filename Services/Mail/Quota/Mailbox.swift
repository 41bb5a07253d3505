/// The mailbox behind an address: the different spellings of one share a quota.
package struct Mailbox: Sendable, Hashable {
    /// In lower case, without `+tag`; for Gmail also without dots, which it does not look at.
    package let address: String

    private static let withoutDots: Set<Substring> = ["gmail.com", "googlemail.com"]

    package init(_ address: String) {
        let lower = address.lowercased()
        guard let at = lower.lastIndex(of: "@"), at != lower.startIndex else {
            self.address = lower
            return
        }
        var local = lower[..<at]
        let domain = lower[lower.index(after: at)...]
        if let plus = local.firstIndex(of: "+"), plus != local.startIndex { local = local[..<plus] }
        let name = Self.withoutDots.contains(domain) ? local.filter { $0 != "." } : String(local)
        self.address = "\(name)@\(domain)"
    }

    /// 128 bits of FNV-1a in hexadecimal digits: short rows of one length, whatever somebody calls an address. Who finds two
    /// mailboxes of one digest can use up one's quota through the other's, which he could do directly.
    package var digest: String {
        [UInt64(14_695_981_039_346_656_037), 7_809_847_782_465_536_322].map { seed in
            let hash = address.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
            let digits = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
