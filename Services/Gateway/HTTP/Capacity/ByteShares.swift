import ParseProtocol

/// The shares of the gateway's memory that clients hold, in bytes. No I/O; `ByteBudget` shares one between requests.
///
/// Two rules protect other clients: no network exceeds its share, and unauthenticated clients leave a reserve to
/// authenticated ones.
package struct ByteShares {
    /// A client that holds bytes.
    package struct Holder: Hashable, Sendable {
        let network: ClientNetwork
        /// Whether the client has the session of an account, or a privileged key.
        let isAuthenticated: Bool

        /// - Parameter network: `Network.clientNetwork` of the client's address.
        package init(network: String, isAuthenticated: Bool) {
            self.network = ClientNetwork(network)
            self.isAuthenticated = isAuthenticated
        }
    }

    /// Limit on the bytes of all holders.
    package let max: Int
    /// Limit on the bytes of all unauthenticated clients.
    private let unauthenticatedMax: Int

    private var taken = (unauthenticated: 0, authenticated: 0)
    private var amounts: (unauthenticated: NetworkAmounts, authenticated: NetworkAmounts)

    /// - Parameter shareMax: limits on one IPv4 address or IPv6 /64, the near level of `ClientNetwork`.
    package init(max: Int, unauthenticatedMax: Int, shareMax: (unauthenticated: Int, authenticated: Int)) {
        self.max = max
        self.unauthenticatedMax = unauthenticatedMax
        amounts = (
            NetworkAmounts(nearLimit: shareMax.unauthenticated, total: unauthenticatedMax),
            NetworkAmounts(nearLimit: shareMax.authenticated, total: max)
        )
    }

    /// Takes all of the bytes, or none.
    package mutating func take(_ bytes: Int, for holder: Holder) -> Bool {
        guard hasRoom(for: bytes, holder) else { return false }
        add(bytes, of: holder)
        return true
    }

    /// Whether `take` would take so many bytes.
    package func hasRoom(for bytes: Int, _ holder: Holder) -> Bool {
        (holder.isAuthenticated ? amounts.authenticated : amounts.unauthenticated).hasRoom(for: bytes, holder.network)
            && taken.unauthenticated + taken.authenticated + bytes <= max
            && (holder.isAuthenticated || taken.unauthenticated + bytes <= unauthenticatedMax)
    }

    /// Counts bytes that are in memory already and cannot be refused.
    package mutating func force(_ bytes: Int, for holder: Holder) { add(bytes, of: holder) }

    package mutating func giveBack(_ bytes: Int, of holder: Holder) { add(-bytes, of: holder) }

    private mutating func add(_ bytes: Int, of holder: Holder) {
        if holder.isAuthenticated {
            amounts.authenticated.add(bytes, of: holder.network)
            taken.authenticated += bytes
        } else {
            amounts.unauthenticated.add(bytes, of: holder.network)
            taken.unauthenticated += bytes
        }
    }

    /// Bytes that are held now.
    package var held: Int { taken.unauthenticated + taken.authenticated }
}
