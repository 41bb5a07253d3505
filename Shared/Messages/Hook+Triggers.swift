extension Hook {
    /// The class triggers that the gateway calls, of webhooks and of cloud code.
    public static let triggers: Set<String> = [
        "beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin",
        "afterLogin", "afterLogout", "beforePasswordResetRequest",
    ]

    /// The triggers of live queries for classes; only cloud code has them. `Parse.Cloud.afterLiveQueryEvent` defines
    /// `afterEvent`.
    public static let liveTriggers: Set<String> = ["beforeSubscribe", "afterEvent"]

    /// The class name for files in cloud code, as in Parse Server.
    public static let fileClass = "@File"
    /// The class name for Config in cloud code, as in Parse Server.
    public static let configClass = "@Config"

    /// The class name for live query connections in cloud code, as in Parse Server.
    public static let connectClass = "@Connect"

    private static let fileTriggers: Set<String> = [
        "beforeSaveFile", "afterSaveFile", "beforeDeleteFile", "afterDeleteFile",
    ]

    /// Whether the gateway calls this trigger of cloud code.
    public var isCalledOfCode: Bool {
        switch className {
        case Self.fileClass: Self.fileTriggers.contains(triggerName)
        case Self.configClass: ["beforeSave", "afterSave"].contains(triggerName)
        case Self.connectClass: triggerName == "beforeConnect"
        default: !className.hasPrefix("@") && Self.triggers.union(Self.liveTriggers).contains(triggerName)
        }
    }
}
