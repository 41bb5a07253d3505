import ParseProtocol

/// How a class of the old server moves.
enum ClassKind: Equatable {
    /// Its rows are staged.
    case staged
    /// Applied over REST after the switch.
    case settings
    /// Means nothing to another server.
    case ignored
    /// No class of Satchel may have this name.
    case impossible

    /// - Parameter name: the class's name in Satchel.
    init(_ name: String) {
        if RelationName(name) != nil || Names.isClassName(name) || Self.operatorClasses.contains(name) {
            self = .staged
        } else if [Self.config, Self.hooks].contains(name) {
            self = .settings
        } else {
            self = Self.ignoredClasses.contains(name) ? .ignored : .impossible
        }
    }

    static let config = "_GlobalConfig", hooks = "_Hooks"
    private static let operatorClasses: Set<String> = ["_Audience", "_PushStatus", "_JobStatus", "_JobSchedule"]
    private static let ignoredClasses: Set<String> = [
        "_SCHEMA", "_Idempotency", "_GraphQLConfig", "_ExportProgress", "_DashboardLogin",
    ]
}

/// The parts of `_Join:<field>:<Class>`.
struct RelationName: Equatable {
    var field: String
    var className: String

    init?(_ name: String) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "_Join", !parts[1].isEmpty, !parts[2].isEmpty else { return nil }
        (field, className) = (parts[1], parts[2])
    }
}
