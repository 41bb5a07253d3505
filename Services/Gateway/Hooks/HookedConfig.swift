import Messages
import ParseProtocol

/// Cloud code about changes of Config. There are no webhooks of the kind.
struct HookedConfig: Sendable {
    private let scope: HookScope
    private let table: HookTable
    private let principal: Principal
    private let subject: [String: JSON]
    /// The parameters before the change; nil when there were none.
    private let original: JSON?

    /// Nil when the code has none about Config.
    /// - Parameter stored: the parameters there are.
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

    /// The change that is to be written: the client's, or that of a Config that the code returned.
    /// - Throws: the code's refusal.
    func beforeSave(_ change: JSON) async throws(ParseError) -> JSON {
        guard let target = table.target(.beforeSave, Hook.configClass) else { return change }
        let answer = try await scope.call(target, body("beforeSave", change), principal).value
        guard let parameters = answer["params"] else { return change }
        return Self.change(change, as: parameters, masterKeyOnly: answer["masterKeyOnly"])
    }

    /// The change that the code made of the client's. What the client hides stays hidden unless the code says
    /// otherwise: one that returns a new Config says nothing of it.
    private static func change(_ change: JSON, as parameters: JSON, masterKeyOnly: JSON?) -> JSON {
        let own = change["masterKeyOnly"]?.objectValue ?? [:]
        let flags = own.merging(masterKeyOnly?.objectValue ?? [:]) { $1 }
        return ["params": parameters, "masterKeyOnly": .object(flags)]
    }

    /// Tells the code of what was written, which no failure of this undoes.
    func afterSave(_ stored: @escaping @Sendable () async throws -> JSON) async {
        guard let target = table.target(.afterSave, Hook.configClass) else { return }
        await scope.callAfter(target, principal) { [self] in body("afterSave", try await stored()) }
    }

    private func body(_ trigger: String, _ config: JSON) -> [String: JSON] {
        func told(_ config: JSON) -> JSON {
            [
                "className": .string(Hook.configClass), "params": config["params"] ?? [:],
                "masterKeyOnly": config["masterKeyOnly"] ?? [:],
            ]
        }
        var body = subject
        body["triggerName"] = .string(trigger)
        body["object"] = told(config)
        body["original"] = original.map(told)
        return body
    }
}
