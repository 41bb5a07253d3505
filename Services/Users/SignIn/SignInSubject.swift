import ParseProtocol

/// What a counter of failed attempts counts for: an account, a device, a network, or a combination. `SignInGuard`
/// decides by these counters, and `SignInFailures` stores them.
package enum SignInSubject: Hashable, Sendable {
    /// An account, for all unknown devices together.
    case account(String)
    /// An account and an unknown network.
    case place(String, network: String)
    /// An account and a device or network that signed in to it before.
    case device(String, device: String)
    /// Second factor codes of an account after the correct password, from unknown devices.
    case codes(String)
    /// A signed-in user's attempts on the own account: links to providers, the present second factor.
    case owner(String)
    /// A network, for all accounts.
    case network(String)
    /// A network that sends provider proofs.
    case proofs(String)

    /// The row's key. An account is a user's id, or `unknown(_:)`.
    package var key: String {
        switch self {
        case .account(let account): "account:\(account)"
        case .place(let account, let network): "place:\(account):\(network)"
        case .device(let account, let device): "device:\(account):\(device)"
        case .codes(let account): "codes:\(account)"
        case .owner(let account): "owner:\(account)"
        case .network(let network): "network:\(network)"
        case .proofs(let network): "proofs:\(network)"
        }
    }

    /// Represents the account of an unused name, so that it locks like an existing one. User ids contain no colon.
    package static func unknown(_ name: String) -> String { "unknown:\(AccountNames.folded(name).prefix(200))" }

    /// Failures within `window` before the subject must wait. Only a device itself can exhaust its limit. One network
    /// cannot exhaust an account's limit for all others. A network may be an office, so its limit is higher.
    package var failuresMax: Int64 {
        switch self {
        case .place, .device, .codes, .owner: 5
        case .account: 20
        case .network, .proofs: 30
        }
    }

    package static let window = Duration.seconds(15 * 60)
}

/// A subject's failures in its current window, which ends at `endsAt`.
package struct SignInCounter: Equatable, Sendable {
    package let failures: Int64
    package let endsAt: Timestamp

    package init(failures: Int64, endsAt: Timestamp) {
        self.failures = failures
        self.endsAt = endsAt
    }
}
