import ParseProtocol

/// The limits of subscriptions: their number; the bytes of their conditions, which use many times their length in
/// memory; and the forms of objects, each of which is built at every change.
struct SubscriptionLimits {
    /// Limits of all clients together.
    static let countMax = 100_000
    static let bytesMax = 32 << 20
    /// Limits of one client; guests behind one address count as one.
    static let clientCountMax = 10_000
    static let clientBytesMax = 2 << 20
    /// Limits of one near network, regardless of accounts.
    static let networkCountMax = 20_000
    static let networkBytesMax = 4 << 20
    /// The last quarter of the bytes is reserved for networks below this amount.
    static let fewBytesMax = 256 << 10
    /// Limit of different `keys` lists of one client in one class; an app has one for each of its pages.
    static let clientFormsMax = 32

    private struct Form: Hashable {
        let client: Int
        let className: String
        let keys: [String]
    }

    private struct Share {
        var count = 0
        var bytes = 0
        /// By class.
        var forms: [String: Int] = [:]
    }

    private var bytes = 0
    private var count = 0
    private var shares: [Int: Share] = [:]
    private var networkCounts = NetworkAmounts(nearLimit: networkCountMax, total: countMax)
    private var networkBytes = NetworkAmounts(nearLimit: networkBytesMax, total: bytesMax)
    private var forms: [Form: Int] = [:]

    /// - Parameter client: 0 for no client; such a subscription counts only towards the total.
    /// - Throws: `.requestLimitExceeded` (155) when a limit is reached.
    mutating func enter(
        _ client: Int, at network: ClientNetwork? = nil, _ query: LiveQuery
    ) throws(ParseError) {
        let more = query.condition.count
        let form = Form(client: client, className: query.className, keys: query.keys)
        var share = shares[client] ?? Share()
        if forms[form] == nil { share.forms[query.className, default: 0] += 1 }
        share.count += 1
        share.bytes += more
        guard count < Self.countMax, bytes + more <= Self.bytesMax,
            client == 0
                || share.count <= Self.clientCountMax && share.bytes <= Self.clientBytesMax
                    && share.forms[query.className] ?? 0 <= Self.clientFormsMax,
            network.map({ hasRoom(for: more, $0) }) ?? true
        else { throw .tooManyRequests("There are too many subscriptions.", retryAfterSeconds: 10) }
        count += 1
        bytes += more
        if let network {
            networkCounts.add(1, of: network)
            networkBytes.add(more, of: network)
        }
        shares[client] = share
        forms[form, default: 0] += 1
    }

    private func hasRoom(for more: Int, _ network: ClientNetwork) -> Bool {
        networkCounts.hasRoom(network) && networkBytes.hasRoom(for: more, network)
            && (bytes + more <= Self.bytesMax / 4 * 3 || networkBytes.amount(of: network) + more <= Self.fewBytesMax)
    }

    /// Releases the amounts of a query.
    mutating func leave(_ client: Int, at network: ClientNetwork? = nil, _ query: LiveQuery) {
        count -= 1
        bytes -= query.condition.count
        if let network {
            networkCounts.add(-1, of: network)
            networkBytes.add(-query.condition.count, of: network)
        }
        guard var share = shares[client] else { return }
        share.count -= 1
        share.bytes -= query.condition.count
        let form = Form(client: client, className: query.className, keys: query.keys)
        let users = (forms[form] ?? 1) - 1
        forms[form] = users > 0 ? users : nil
        if users == 0 {
            let left = (share.forms[query.className] ?? 1) - 1
            share.forms[query.className] = left > 0 ? left : nil
        }
        shares[client] = share.count > 0 ? share : nil
    }
}
