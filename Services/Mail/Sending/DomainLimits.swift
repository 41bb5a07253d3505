/// Limits the concurrent mails to the mailboxes of one domain, so that a hanging server leaves connections for others.
/// No I/O; `MailSender` acts.
package struct DomainLimits: Sendable {
    /// A mail that takes this long marks its domain as slow: the domain gets one connection until a mail to it takes
    /// less.
    package static let slowAfter = Duration.seconds(5)
    /// Maximum domains remembered as slow.
    private static let slowMax = 1000

    private let perDomain: Int
    private var underWay: [String: Int] = [:]
    private var slow: Set<String> = []

    /// - Parameter perDomain: concurrent mails to one domain, 1 or more.
    package init(perDomain: Int) { self.perDomain = max(1, perDomain) }

    /// The domain of an address, in lower case.
    package static func domain(of address: String) -> String {
        String(address.split(separator: "@", omittingEmptySubsequences: false).last ?? "").lowercased()
    }

    private func limit(_ domain: String) -> Int { slow.contains(domain) ? 1 : perDomain }

    /// - Returns: false when the domain has reached its limit; then nothing begins.
    package mutating func begin(_ domain: String) -> Bool {
        let count = underWay[domain] ?? 0
        guard count < limit(domain) else { return false }
        underWay[domain] = count + 1
        return true
    }

    /// - Parameter time: the duration of the attempt; nil when it says nothing about the domain.
    package mutating func end(_ domain: String, after time: Duration?) {
        let count = (underWay[domain] ?? 1) - 1
        underWay[domain] = count > 0 ? count : nil
        guard let time else { return }
        if time < Self.slowAfter {
            slow.remove(domain)
        } else if slow.count < Self.slowMax {
            slow.insert(domain)
        }
    }

    /// The domains that have reached their limit.
    package var full: [String] { underWay.filter { $0.value >= limit($0.key) }.map(\.key).sorted() }
}
