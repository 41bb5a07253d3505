extension Hook {
    /// The triggers of classes that the gateway calls, of webhooks and of cloud code.
    public static let triggers: Set<String> = [
        "beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin",
        "afterLogin", "afterLogout", "beforePasswordResetRequest",
    ]

    /// The triggers of live queries that classes have, which are cloud code's alone. `afterEvent` is the one that
    /// `Parse.Cloud.afterLiveQueryEvent` defines.
    public static let liveTriggers: Set<String> = ["beforeSubscribe", "afterEvent"]

    /// The class by which cloud code names files, as in Parse Server.
    public static let fileClass = "@File"
    /// The class by which cloud code names Config, as in Parse Server.
    public static let configClass = "@Config"

    /// The class by which cloud code names connections of live queries, as in Parse Server.
    public static let connectClass = "@Connect"

    private static let fileTriggers: Set<String> = [
        "beforeSaveFile", "afterSaveFile", "beforeDeleteFile", "afterDeleteFile",
    ]

    /// Whether the gateway calls this trigger when cloud code defines it.
    public var isCalledOfCode: Bool {
        switch className {
        case Self.fileClass: Self.fileTriggers.contains(triggerName)
        case Self.configClass: ["beforeSave", "afterSave"].contains(triggerName)
        case Self.connectClass: triggerName == "beforeConnect"
        default: !className.hasPrefix("@") && Self.triggers.union(Self.liveTriggers).contains(triggerName)
        }
    }
}
