/// The maker of each request's `HookScope`.
struct HookScopes: Sendable {
    let registry: HookRegistry
    let webhooks: Webhooks

    /// The webhooks that may have a say in a request; nil when there are none at all.
    func scope(of request: ParseRequest) -> HookScope? { HookScope(registry, webhooks, request) }

    /// Whether it is known that a class has none of the triggers.
    func areNone(_ triggers: [HookTable.Trigger], on className: String) -> Bool {
        registry.known.map { !$0.has(triggers, className) } ?? false
    }

    /// Whether it is known that a class has none of the triggers at another host.
    func areNoneElsewhere(_ triggers: [HookTable.Trigger], on className: String) -> Bool {
        registry.known.map { table in
            triggers.allSatisfy { (table.target($0, className) ?? .code) == .code }
        } ?? false
    }
}
