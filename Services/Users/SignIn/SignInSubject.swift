import ParseProtocol

/// The subject by which wrong tries are counted.
package enum SignInSubject: Hashable, Sendable {
    /// An account, as all devices together try it that it does not know.
    case account(String)
    /// An account and a network that it does not know.
    case place(String, network: String)
    /// An account and a device that signed in to it before, or a network where one did.
    case device(String, device: String)
    /// Codes of an account's second factor after the right password, from devices that it does not know.
    case codes(String)
    /// A signed-in user's tries on the own account: links to providers, the present second factor.
    case owner(String)
    /// A network, whatever it tries.
    case network(String)
    /// A network that sends proofs of providers.
    case proofs(String)

    /// Each is one row of the table. An account is a user's id, or `unknown(_:)`.
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

    /// Stands for the account of a name nobody has, so that it locks like one that somebody has. No user's id has a
    /// colon.
    package static func unknown(_ name: String) -> String { "unknown:\(AccountNames.folded(name).prefix(200))" }

    /// Wrong tries within `window` before the subject has to wait. Nobody but its own device can use up what a device
    /// has; somebody from one network cannot use up what an account has for all others; a network may be an office.
    package var failuresMax: Int64 {
        switch self {
        case .place, .device, .codes, .owner: 5
        case .account: 20
        case .network, .proofs: 30
        }
    }

    package static let window = Duration.seconds(15 * 60)
}

/// Wrong tries of a subject.
package struct SignInCounter: Equatable, Sendable {
    package let failures: Int64
    package let endsAt: Timestamp

    package init(failures: Int64, endsAt: Timestamp) {
        self.failures = failures
        self.endsAt = endsAt
    }
}
