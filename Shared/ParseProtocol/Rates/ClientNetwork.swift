/// The network of a client, at the two levels for scheduling, quotas and connection limits.
///
/// The near level is the IPv4 address, or the /64 of an IPv6 address. The wide level is its /24 or /48: one customer of
/// a provider often has a /48 and thus 65,536 near networks, and a carrier's NAT has thousands of customers behind the
/// addresses of a /24. Therefore a wide network may have `wideFactor` times as much as a near one.
public struct ClientNetwork: Hashable, Sendable {
    /// The limit of a wide network as a multiple of the limit of a near one.
    public static let wideFactor = 4

    /// A number for the IPv4 address or the /64.
    public let near: UInt64
    /// A number for the /24 or the /48.
    public let wide: UInt64

    /// - Parameter name: as in `Principal.network`: 8 hexadecimal digits for an IPv4 address, or 16 for a /64. Any
    ///   other text, including an empty one, is a separate network.
    public init(_ name: String) {
        let digits = name.utf8.count
        guard digits == 8 || digits == 16, let number = UInt64(name, radix: 16) else {
            near = UInt64(bitPattern: Int64(name.hashValue))
            wide = near
            return
        }
        // IPv4 numbers have the upper half of unassigned ::/64 prefixes, so they differ from IPv6 numbers.
        near = digits == 8 ? number | 1 << 32 : number
        wide = digits == 8 ? near & ~0xFF : number & ~0xFFFF
    }
}

/// The amounts of something that networks hold at the same time, such as connections or bytes, with a limit for each
/// near and each wide network. Does no I/O.
public struct NetworkAmounts: Sendable {
    private let limit: (near: Int, wide: Int)
    private var near: [UInt64: Int] = [:]
    private var wide: [UInt64: Int] = [:]

    /// - Parameters:
    ///   - nearLimit: the limit of a near network.
    ///   - total: the limit of all networks together. A wide network may have at most three quarters of it, unless
    ///     `nearLimit` is higher.
    public init(nearLimit: Int, total: Int) {
        limit = (nearLimit, max(nearLimit, min(nearLimit * ClientNetwork.wideFactor, total / 4 * 3)))
    }

    /// The network's amount, or a quarter of its wide network's amount if that is more.
    public func amount(of network: ClientNetwork) -> Int {
        max(near[network.near] ?? 0, (wide[network.wide] ?? 0) / ClientNetwork.wideFactor)
    }

    /// Whether both levels have room for this amount.
    public func hasRoom(for amount: Int = 1, _ network: ClientNetwork) -> Bool {
        (near[network.near] ?? 0) + amount <= limit.near && (wide[network.wide] ?? 0) + amount <= limit.wide
    }

    /// Adds an amount, which may be negative. A network with an amount of 0 is not stored.
    public mutating func add(_ amount: Int, of network: ClientNetwork) {
        Self.add(amount, &near, network.near)
        Self.add(amount, &wide, network.wide)
    }

    private static func add(_ amount: Int, _ amounts: inout [UInt64: Int], _ key: UInt64) {
        let sum = (amounts[key] ?? 0) + amount
        amounts[key] = sum > 0 ? sum : nil
    }
}

/// The recent use of something by networks (`DecayingUse`); the network with the least use comes next. Does no I/O.
package struct NetworkUse: Sendable {
    private var near = DecayingUse<UInt64>()
    private var wide = DecayingUse<UInt64>()

    package init() {}

    /// The network's use, or a quarter of its wide network's use if that is more.
    package func amount(of network: ClientNetwork, at now: UInt64) -> Double {
        max(
            near.amount(of: network.near, at: now),
            wide.amount(of: network.wide, at: now) / Double(ClientNetwork.wideFactor))
    }

    package mutating func add(_ amount: UInt64, to network: ClientNetwork, at now: UInt64) {
        near.add(amount, to: network.near, at: now)
        wide.add(amount, to: network.wide, at: now)
    }
}
