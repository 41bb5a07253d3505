/// The hosts that cloud code may reach, from `SATCHEL_CLOUD_NETWORK`. No I/O.
package struct AllowedHosts: Sendable, Equatable {
    /// The destination of a connection.
    package struct Destination: Sendable, Hashable {
        /// A lower-case name without a trailing dot, or an address as text.
        package let host: String
        package let port: Int

        /// Nil for an invalid name, address or port.
        package init?(_ host: String, _ port: Int) {
            guard (1...65_535).contains(port) else { return nil }
            if let address = NetworkAddress(host) {
                self.host = "\(address)"
            } else {
                let name = (host.hasSuffix(".") ? host.dropLast() : host[...]).lowercased()
                guard Self.isName(name) else { return nil }
                self.host = name
            }
            self.port = port
        }

        /// Rejects other notations of addresses that resolvers accept, such as a single number for four.
        private static func isName(_ text: String) -> Bool {
            let labels = text.split(separator: ".", omittingEmptySubsequences: false)
            guard text.utf8.count <= 253, let last = labels.last, !last.allSatisfy(\.isNumber), !last.hasPrefix("0x")
            else { return false }
            return labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                            || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    }
            }
        }
    }

    private struct Rule: Equatable {
        /// The parent name, in a rule for all names below it.
        let host: String
        let isBelow: Bool
        let ports: Set<Int>

        func names(_ destination: Destination) -> Bool {
            guard ports.contains(destination.port) else { return false }
            return isBelow ? destination.host.hasSuffix(".\(host)") : destination.host == host
        }
    }

    /// The ports of http and https.
    private static let portsByDefault: Set<Int> = [80, 443]
    private let rules: [Rule]

    /// - Parameter parts: `host`, `host:port`, `*.host`, `*.host:port`; a host is a name or an address, IPv6 in
    ///   brackets. The default ports are 80 and 443.
    /// - Returns: nil when the list is empty or a part is invalid.
    package init?(_ parts: [String]) {
        var rules: [Rule] = []
        for part in parts {
            guard let rule = Self.rule(part) else { return nil }
            rules.append(rule)
        }
        guard !rules.isEmpty else { return nil }
        self.rules = rules
    }

    private static func rule(_ part: String) -> Rule? {
        let isBelow = part.hasPrefix("*.")
        guard let (host, port) = split(isBelow ? String(part.dropFirst(2)) : part),
            let destination = Destination(host, port ?? 443), !isBelow || NetworkAddress(host) == nil
        else { return nil }
        return Rule(host: destination.host, isBelow: isBelow, ports: port.map { [$0] } ?? portsByDefault)
    }

    /// A host and its optional port. Only IPv6 addresses have brackets.
    static func split(_ text: String) -> (host: String, port: Int?)? {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = String(text[text.index(after: text.startIndex)..<end])
            let rest = text[text.index(after: end)...]
            guard host.contains(":"), rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if rest.isEmpty { return (host, nil) }
            return number(rest.dropFirst()).map { (host, $0) }
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return (text, nil)
        case 2: return number(parts[1]).map { (String(parts[0]), $0) }
        default: return nil
        }
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    /// Whether any rule names the destination.
    package func allows(_ destination: Destination) -> Bool { rules.contains { $0.names(destination) } }

    /// Whether the connection may go to an address of the destination's host. A non-public address is admitted only
    /// when a rule names the address itself, because a name's owner can let it resolve to any address.
    package func admits(_ address: NetworkAddress, for destination: Destination) -> Bool {
        guard allows(destination) else { return false }
        guard !address.isPublic else { return true }
        return Destination("\(address)", destination.port).map(allows) ?? false
    }
}
