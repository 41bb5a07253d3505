import Glibc

/// An IPv4 or IPv6 address. An IPv4 address embedded in IPv6 counts as the IPv4 address.
package struct NetworkAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes.
    package let bytes: [UInt8]

    /// - Parameter text: four decimal numbers with dots, or IPv6 in the form of RFC 4291 without a zone; nil for
    ///   anything else.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(bytes: withUnsafeBytes(of: &four) { Array($0) })
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(bytes: withUnsafeBytes(of: &six) { Array($0) })
        } else {
            return nil
        }
    }

    /// - Parameter bytes: 4 or 16.
    package init(bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10...11] == [255, 255]
        self.bytes = isMapped ? Array(bytes[12...]) : bytes
    }

    /// In the form that resolvers use.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Networks outside the public internet: loopback, link-local, private, multicast, documentation and reserved ones
    /// (IANA's registries of special-purpose addresses), each with its prefix length in bits.
    private static let fourNotPublic: [([UInt8], Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24), ([203, 0, 113], 24), ([224], 3),
    ]
    /// Everything outside 2000::/3 is reserved or local. Within it, Teredo, 6to4 and NAT64 lead to addresses that
    /// cannot be checked.
    private static let sixNotPublic: [([UInt8], Int)] = [
        ([0x20, 0x01, 0x00], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x20, 0x02], 16), ([0x3F, 0xFF], 20),
    ]

    /// Whether the address belongs to the public internet.
    package var isPublic: Bool {
        if bytes.count == 4 { return !Self.fourNotPublic.contains { begins($0.0, $0.1) } }
        return begins([0x20], 3) && !Self.sixNotPublic.contains { begins($0.0, $0.1) }
    }

    private func begins(_ network: [UInt8], _ bits: Int) -> Bool {
        (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            let wanted = bit / 8 < network.count ? network[bit / 8] : 0
            return bytes[bit / 8] & mask == wanted & mask
        }
    }
}
