/// Creates each request's `HookScope`.
struct HookScopes: Sendable {
    let registry: HookRegistry
    let webhooks: Webhooks

    /// The scope of a request; nil when there are no hooks at all.
    func scope(of request: ParseRequest) -> HookScope? { HookScope(registry, webhooks, request) }

    /// Whether a webhook or cloud code answers the function, as far as the table is cached.
    func hasFunction(_ name: String) -> Bool { registry.cached.map { $0.target(ofFunction: name) != nil } ?? true }

    /// Whether the table is cached and the class has none of the triggers.
    func hasNoTriggers(_ triggers: [HookTable.Trigger], on className: String) -> Bool {
        registry.cached.map { !$0.has(triggers, className) } ?? false
    }

    /// Whether the table is cached and no webhook handles one of the triggers of the class.
    func hasNoWebhook(_ triggers: [HookTable.Trigger], on className: String) -> Bool {
        registry.cached.map { table in
            triggers.allSatisfy { (table.target($0, className) ?? .code) == .code }
        } ?? false
    }
}
