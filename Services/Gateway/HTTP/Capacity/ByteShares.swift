/// The shares of the gateway's memory that clients may have at once, in bytes. Pure; `ByteBudget` shares one between
/// requests.
///
/// Two rules keep room for others: no customer's network has more than its share, and whoever is not signed in leaves a
/// reserve to those who are.
package struct ByteShares {
    /// A client that holds bytes.
    package struct Holder: Hashable, Sendable {
        /// `Network.customerName` of where the request comes from.
        let network: String
        /// Came with a session or a key that is not a client's.
        let isKnown: Bool

        package init(network: String, isKnown: Bool) {
            self.network = network
            self.isKnown = isKnown
        }
    }

    /// Bytes of all holders.
    package let max: Int
    /// Bytes of one network, for those who are not known and for those who are.
    private let shareMax: (strangers: Int, known: Int)
    /// Bytes of all who are not known.
    private let strangersMax: Int

    private var taken = (strangers: 0, known: 0)
    private var takenByNetwork: [Holder: Int] = [:]

    /// - Parameters:
    ///   - max: bytes of all holders.
    ///   - strangersMax: of them, bytes of holders that are not known.
    ///   - shareMax: bytes of one network, as many for its strangers as for its known holders.
    package init(max: Int, strangersMax: Int, shareMax: (strangers: Int, known: Int)) {
        self.max = max
        self.strangersMax = strangersMax
        self.shareMax = shareMax
    }

    /// Takes bytes if there is room for all of them.
    package mutating func take(_ bytes: Int, for holder: Holder) -> Bool {
        guard hasRoom(for: bytes, holder) else { return false }
        takenByNetwork[holder, default: 0] += bytes
        if holder.isKnown { taken.known += bytes } else { taken.strangers += bytes }
        return true
    }

    /// Whether `take` would take so many bytes.
    package func hasRoom(for bytes: Int, _ holder: Holder) -> Bool {
        takenByNetwork[holder, default: 0] + bytes <= (holder.isKnown ? shareMax.known : shareMax.strangers)
            && taken.strangers + taken.known + bytes <= max
            && (holder.isKnown || taken.strangers + bytes <= strangersMax)
    }

    /// Counts bytes that are there already and that nobody can refuse any more.
    package mutating func force(_ bytes: Int, for holder: Holder) {
        takenByNetwork[holder, default: 0] += bytes
        if holder.isKnown { taken.known += bytes } else { taken.strangers += bytes }
    }

    package mutating func giveBack(_ bytes: Int, of holder: Holder) {
        let left = takenByNetwork[holder, default: 0] - bytes
        takenByNetwork[holder] = left > 0 ? left : nil
        if holder.isKnown { taken.known -= bytes } else { taken.strangers -= bytes }
    }

    /// Bytes that are held now.
    package var held: Int { taken.strangers + taken.known }
}
