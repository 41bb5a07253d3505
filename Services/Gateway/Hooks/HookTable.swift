import Messages

/// The target of a function or a trigger.
enum HookTarget: Sendable, Hashable {
    /// Another host, at a URL.
    case webhook(String)
    /// Cloud code, which `cloud` runs.
    case code
}

/// All webhooks and all definitions of cloud code, by function and trigger.
///
/// Cloud code takes precedence over a webhook, as in Parse Server, where the code's registration replaces an earlier
/// one.
struct HookTable: Sendable {
    enum Trigger: String, Sendable {
        case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind, beforeLogin, afterLogin,
            afterLogout, beforePasswordResetRequest, beforeSaveFile, afterSaveFile, beforeDeleteFile, afterDeleteFile,
            beforeConnect, beforeSubscribe, afterEvent
    }

    /// The webhooks, in the order of their registration.
    let hooks: [Hook]
    /// Functions, jobs and triggers of cloud code.
    let code: CodeDefinitions
    /// Whether cloud code defines anything.
    let hasCode: Bool
    private let functions: [String: HookTarget]
    private let triggers: [String: [Trigger: HookTarget]]

    init(_ hooks: [Hook] = [], code: CodeDefinitions = .init()) {
        self.hooks = hooks
        self.code = code
        hasCode = !code.functions.isEmpty || !code.jobs.isEmpty || !code.triggers.isEmpty
        var functions: [String: HookTarget] = [:]
        var triggers: [String: [Trigger: HookTarget]] = [:]
        for hook in hooks {
            if !hook.functionName.isEmpty {
                functions[hook.functionName] = .webhook(hook.url)
            } else if let trigger = Trigger(rawValue: hook.triggerName) {
                triggers[hook.className, default: [:]][trigger] = .webhook(hook.url)
            }
        }
        for name in code.functions { functions[name] = .code }
        for hook in code.triggers {
            guard let trigger = Trigger(rawValue: hook.triggerName) else { continue }
            triggers[hook.className, default: [:]][trigger] = .code
        }
        self.functions = functions
        self.triggers = triggers
    }

    /// Whether no function and no class has a hook.
    var isEmpty: Bool { functions.isEmpty && triggers.isEmpty }

    /// The target of a function; nil when there is none of that name.
    func target(ofFunction name: String) -> HookTarget? { functions[name] }

    /// The target of a trigger; nil when the class has none.
    func target(_ trigger: Trigger, _ className: String) -> HookTarget? { triggers[className]?[trigger] }

    /// The classes that have a trigger.
    func classes(with trigger: Trigger) -> [String] {
        triggers.filter { $0.value[trigger] != nil }.keys.sorted()
    }

    /// Whether the class has any of the triggers.
    func has(_ wanted: [Trigger], _ className: String) -> Bool {
        guard let own = triggers[className] else { return false }
        return wanted.contains { own[$0] != nil }
    }
}
