import Messages
import ParseProtocol

/// Cloud code triggers of Config. Webhooks have no such triggers.
struct HookedConfig: Sendable {
    private let scope: HookScope
    private let table: HookTable
    private let principal: Principal
    private let subject: [String: JSON]
    /// The parameters before the change; nil when there were none.
    private let original: JSON?

    /// Nil when the code has no trigger of Config.
    /// - Parameter stored: the current parameters.
    init?(
        _ scope: HookScope?, _ principal: Principal, stored: () async throws(ParseError) -> JSON
    ) async throws(ParseError) {
        guard let scope,
            let table = try await scope.table(with: [.beforeSave, .afterSave], Hook.configClass)
        else { return nil }
        self.scope = scope
        self.table = table
        self.principal = principal
        subject = try await scope.subject(principal)
        let parameters = try await stored()
        original = parameters["params"]?.objectValue?.isEmpty == false ? parameters : nil
    }

    /// The change to write: the client's, or the Config that the code returned.
    /// - Throws: the code's refusal.
    func beforeSave(_ change: JSON) async throws(ParseError) -> JSON {
        guard let target = table.target(.beforeSave, Hook.configClass) else { return change }
        let answer = try await scope.call(target, body("beforeSave", change), principal).value
        guard let parameters = answer["params"] else { return change }
        return Self.change(change, as: parameters, masterKeyOnly: answer["masterKeyOnly"])
    }

    /// The change after the code's edit. A parameter that the client hides remains hidden unless the code sets its
    /// flag: a new Config from the code has no flags.
    private static func change(_ change: JSON, as parameters: JSON, masterKeyOnly: JSON?) -> JSON {
        let own = change["masterKeyOnly"]?.objectValue ?? [:]
        let flags = own.merging(masterKeyOnly?.objectValue ?? [:]) { $1 }
        return ["params": parameters, "masterKeyOnly": .object(flags)]
    }

    /// Reports the stored change to the code. A failure does not undo the change.
    /// - Parameter stored: reads the parameters.
    /// - Throws: its refusal, when the response waits for it.
    func afterSave(
        _ stored: @escaping @Sendable (_ context: CallContext) async throws -> JSON
    ) async throws(ParseError) {
        guard let target = table.target(.afterSave, Hook.configClass) else { return }
        try await scope.callAfter(target, principal) { [self] scope in
            body("afterSave", try await stored(scope.request.call))
        }
    }

    private func body(_ trigger: String, _ config: JSON) -> [String: JSON] {
        func forHook(_ config: JSON) -> JSON {
            [
                "className": .string(Hook.configClass), "params": config["params"] ?? [:],
                "masterKeyOnly": config["masterKeyOnly"] ?? [:],
            ]
        }
        var body = subject
        body["triggerName"] = .string(trigger)
        body["object"] = forHook(config)
        body["original"] = original.map(forHook)
        return body
    }
}
