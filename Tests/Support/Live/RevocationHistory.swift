/// How several gateways answered requests of one session, and when the call that revoked the session returned.
package struct RevocationHistory: Sendable {
    /// One request with the session.
    package struct Use: Sendable {
        package let gateway: Int
        /// When it was sent.
        package let begin: ContinuousClock.Instant
        /// Whether it was answered as a request of the user.
        package let isHonoured: Bool

        package init(gateway: Int, begin: ContinuousClock.Instant, isHonoured: Bool) {
            self.gateway = gateway
            self.begin = begin
            self.isHonoured = isHonoured
        }
    }

    package var uses: [Use] = []
    /// Nil until the session is known to be revoked.
    package var revokedAt: ContinuousClock.Instant?

    package init() {}

    /// Requests that were sent after the revocation returned and were still honoured.
    package var violations: [Use] {
        guard let revokedAt else { return [] }
        return uses.filter { $0.isHonoured && $0.begin > revokedAt }
    }

    /// Whether the history is conclusive: the session was used at each gateway before and after the revocation.
    package func tells(of gateways: Int) -> Bool {
        guard let revokedAt else { return false }
        return (1...gateways).allSatisfy { gateway in
            let own = uses.filter { $0.gateway == gateway }
            return own.contains { $0.isHonoured } && own.contains { $0.begin > revokedAt }
        }
    }
}
