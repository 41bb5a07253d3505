import ParseProtocol

/// The places of subscriptions: how many there are, the bytes of their conditions, which take many times their length
/// while they are held, and the forms in which objects are shown, each of which is made at every change.
struct LiveShares {
    /// Of all clients together.
    static let countMax = 100_000
    static let bytesMax = 32 << 20
    /// Of one client: guests behind one address are one.
    static let clientCountMax = 10_000
    static let clientBytesMax = 2 << 20
    /// Lists of `keys` of one client in one class; an app has one for each of its pages.
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
    private var forms: [Form: Int] = [:]

    /// - Parameter client: 0 for nobody, who is only counted with all.
    /// - Throws: `.requestLimitExceeded` (155) when there is no place.
    mutating func enter(_ client: Int, _ query: LiveQuery) throws(ParseError) {
        let more = query.condition.count
        let form = Form(client: client, className: query.className, keys: query.keys)
        var share = shares[client] ?? Share()
        if forms[form] == nil { share.forms[query.className, default: 0] += 1 }
        share.count += 1
        share.bytes += more
        guard count < Self.countMax, bytes + more <= Self.bytesMax,
            client == 0
                || share.count <= Self.clientCountMax && share.bytes <= Self.clientBytesMax
                    && share.forms[query.className] ?? 0 <= Self.clientFormsMax
        else { throw .tooManyRequests("There are too many subscriptions.", retryAfterSeconds: 10) }
        count += 1
        bytes += more
        shares[client] = share
        forms[form, default: 0] += 1
    }

    /// Gives back what a query had.
    mutating func leave(_ client: Int, _ query: LiveQuery) {
        count -= 1
        bytes -= query.condition.count
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
