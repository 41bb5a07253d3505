import Synchronization

/// Whether Stripe accepts the shop's key, by its last answer. `/health` shows payments as degraded while it does not.
package final class StripeKeyHealth: Sendable {
    private let isRefused = Mutex(false)
    private let changed: @Sendable (_ warning: String) -> Void

    /// - Parameter changed: called with the warning, or with an empty text when Stripe accepts the key again.
    package init(changed: @escaping @Sendable (_ warning: String) -> Void = { _ in }) { self.changed = changed }

    func note(isRefused refused: Bool) {
        // Called under the lock, so that the last warning matches the last answer.
        isRefused.withLock { isRefused in
            guard isRefused != refused else { return }
            isRefused = refused
            changed(refused ? "Stripe refuses the key SATCHEL_STRIPE_SECRET_KEY; nothing can be paid." : "")
        }
    }
}
