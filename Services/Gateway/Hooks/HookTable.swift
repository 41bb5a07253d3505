import Messages

/// Every webhook there is, by what it answers.
struct HookTable: Sendable {
    enum Trigger: String, Sendable {
        case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind, beforeLogin, afterLogin,
            afterLogout
    }

    /// In the order in which they were told.
    let hooks: [Hook]
    private let functions: [String: String]
    private let triggers: [String: [Trigger: String]]

    init(_ hooks: [Hook] = []) {
        self.hooks = hooks
        var functions: [String: String] = [:]
        var triggers: [String: [Trigger: String]] = [:]
        for hook in hooks {
            if !hook.functionName.isEmpty {
                functions[hook.functionName] = hook.url
            } else if let trigger = Trigger(rawValue: hook.triggerName) {
                triggers[hook.className, default: [:]][trigger] = hook.url
            }
        }
        self.functions = functions
        self.triggers = triggers
    }

    var isEmpty: Bool { hooks.isEmpty }

    /// The URL at which a function is called; nil when there is none of that name.
    func url(ofFunction name: String) -> String? { functions[name] }

    /// The URL at which a trigger is called; nil when the class has none.
    func url(_ trigger: Trigger, _ className: String) -> String? { triggers[className]?[trigger] }

    /// The classes that have a trigger.
    func classes(with trigger: Trigger) -> [String] {
        triggers.filter { $0.value[trigger] != nil }.keys.sorted()
    }

    /// Whether any of the triggers is there.
    func has(_ wanted: [Trigger], _ className: String) -> Bool {
        guard let known = triggers[className] else { return false }
        return wanted.contains { known[$0] != nil }
    }
}
