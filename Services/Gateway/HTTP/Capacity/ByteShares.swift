import ParseProtocol

/// The shares of the gateway's memory that clients hold, in bytes. Pure; `ByteBudget` shares one between requests.
///
/// Two rules protect other clients: no network exceeds its share, and unknown clients leave a reserve to known ones.
package struct ByteShares {
    /// A client that holds bytes.
    package struct Holder: Hashable, Sendable {
        let network: ClientNetwork
        /// Whether the client has a session, or a key beyond a client's.
        let isKnown: Bool

        /// - Parameter network: `Network.customerName` of the client's address.
        package init(network: String, isKnown: Bool) {
            self.network = ClientNetwork(network)
            self.isKnown = isKnown
        }
    }

    /// Limit on the bytes of all holders.
    package let max: Int
    /// Limit on the bytes of all unknown clients.
    private let strangersMax: Int

    private var taken = (strangers: 0, known: 0)
    private var amounts: (strangers: NetworkAmounts, known: NetworkAmounts)

    /// - Parameters:
    ///   - max: limit on the bytes of all holders.
    ///   - strangersMax: limit on the bytes of unknown clients.
    ///   - shareMax: limits on a near network (`ClientNetwork`), for its unknown and for its known clients.
    package init(max: Int, strangersMax: Int, shareMax: (strangers: Int, known: Int)) {
        self.max = max
        self.strangersMax = strangersMax
        amounts = (
            NetworkAmounts(nearLimit: shareMax.strangers, total: strangersMax),
            NetworkAmounts(nearLimit: shareMax.known, total: max)
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
        (holder.isKnown ? amounts.known : amounts.strangers).hasRoom(for: bytes, holder.network)
            && taken.strangers + taken.known + bytes <= max
            && (holder.isKnown || taken.strangers + bytes <= strangersMax)
    }

    /// Counts bytes that are in memory already and cannot be refused.
    package mutating func force(_ bytes: Int, for holder: Holder) { add(bytes, of: holder) }

    package mutating func giveBack(_ bytes: Int, of holder: Holder) { add(-bytes, of: holder) }

    private mutating func add(_ bytes: Int, of holder: Holder) {
        if holder.isKnown {
            amounts.known.add(bytes, of: holder.network)
            taken.known += bytes
        } else {
            amounts.strangers.add(bytes, of: holder.network)
            taken.strangers += bytes
        }
    }

    /// Bytes that are held now.
    package var held: Int { taken.strangers + taken.known }
}
