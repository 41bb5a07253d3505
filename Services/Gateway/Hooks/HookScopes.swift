/// The maker of each request's `HookScope`.
struct HookScopes: Sendable {
    let registry: HookRegistry
    let webhooks: Webhooks

    /// The webhooks that may have a say in a request; nil when there are none at all.
    func scope(of request: ParseRequest) -> HookScope? { HookScope(registry, webhooks, request) }

    /// Whether it is known that no webhook has a say in reads of a class.
    func areNone(onReadsOf className: String) -> Bool {
        registry.known.map { !$0.has(HookedRead.triggers, className) } ?? false
    }
}
