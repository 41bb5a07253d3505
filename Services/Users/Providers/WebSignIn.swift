import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The start of a browser's log-in at a provider.
struct WebSignInStart: Sendable {
    /// The provider's page.
    let url: String
    /// What the browser keeps until it returns, as texts.
    let kept: JSON
}

/// A provider at which browsers log in.
protocol WebSignInProvider: Sendable {
    /// - Parameter url: the shop's page to which the provider returns.
    /// - Throws: `ProviderProblem`.
    func begin(returningTo url: String) async throws(ProviderProblem) -> WebSignInStart

    /// - Parameters:
    ///   - query: of the shop's page, as the provider wrote it.
    ///   - kept: as `begin` returned it.
    /// - Returns: the proof for `authData`.
    /// - Throws: `ProviderProblem`.
    func end(_ query: JSON, _ kept: JSON, returningTo url: String) async throws(ProviderProblem) -> JSON
}

/// Answers the storefront about log-ins at providers, and about the caller's means to log in.
///
/// - `{"step":"options"}` → `{"providers","secondFactor","hasSecondFactor","hasPassword"}`
/// - `{"step":"begin","provider"}` → `{"url","kept"}`
/// - `{"step":"end","provider","query","kept"}` → `{"authData"}`, for `POST /users`
struct WebSignIn: Sendable {
    let host: ServiceHost
    let providers: IdentityProviders
    let settings: UsersSettings
    private let pace = Pace()

    init(host: ServiceHost, providers: IdentityProviders, settings: UsersSettings) {
        self.host = host
        self.providers = providers
        self.settings = settings
    }

    /// - Throws: `.validationError` (142) for an unknown step, `.unsupportedService` (252) for a provider that is not
    ///   configured, `.requestLimitExceeded` (155), and the errors of `IdentityProviders`.
    func answer(_ request: ServiceRequest) async throws -> BusReply {
        let wanted = try request.document()
        if wanted["step"] == "options" { return try await options(request) }
        guard let provider = wanted["provider"]?.stringValue.flatMap(AuthProvider.init) else {
            throw AuthProvider.unsupported
        }
        // Each step may cause requests to the provider.
        try pace.admit(request.envelope.principal.network)
        let url = "\(settings.shopURL)/log-in/\(provider.rawValue)/back"
        switch wanted["step"]?.stringValue {
        case "begin"?:
            let start = try await providers.beginWebSignIn(provider, returningTo: url)
            return try SessionAnswers.account(["url": .string(start.url), "kept": start.kept])
        case "end"?:
            let proof = try await providers.endWebSignIn(
                provider, wanted["query"] ?? [:], wanted["kept"] ?? [:], returningTo: url)
            return try SessionAnswers.account(["authData": [provider.rawValue: proof]])
        default: throw ParseError(.validationError, "There is no such step.")
        }
    }

    private func options(_ request: ServiceRequest) async throws -> BusReply {
        let userId = request.envelope.principal.userID
        var options: JSON = [
            "providers": .array(providers.webProviders.map { .string($0.rawValue) }),
            "secondFactor": .bool(settings.asksSecondFactor),
        ]
        if !userId.isEmpty {
            let (hasFactor, hasPassword) = try await host.store.read(for: request.share) { reader in
                (try SecondFactors.isEnrolled(userId, reader), try Credentials.hash(of: userId, reader) != nil)
            }
            options["hasSecondFactor"] = .bool(hasFactor)
            options["hasPassword"] = .bool(hasPassword)
        }
        return try SessionAnswers.account(options)
    }

    /// The steps of each network: an office logs in within its limit, and a client that floods a provider does not.
    private final class Pace: Sendable {
        /// By near and by wide network.
        private let buckets = Mutex([
            RateBuckets(count: 60, window: .seconds(60)),
            RateBuckets(count: 60 * ClientNetwork.wideFactor, window: .seconds(60)),
        ])
        private let start = ContinuousClock.now

        func admit(_ network: String) throws {
            let now = Int64((ContinuousClock.now - start) / .nanoseconds(1))
            let network = ClientNetwork(network)
            let keys = [network.near.hashValue, network.wide.hashValue]
            let wait = buckets.withLock { buckets -> Int64 in
                let wait = keys.indices.map { buckets[$0].wait(for: keys[$0], at: now) }.max() ?? 0
                if wait == 0 { for place in keys.indices { buckets[place].take(from: keys[place], at: now) } }
                return wait
            }
            guard wait > 0 else { return }
            throw SignInGuard.slowedDown(seconds: Int(wait / 1_000_000_000) + 1)
        }
    }
}
