extension Hook {
    /// The triggers of classes that the gateway calls, of webhooks and of cloud code.
    public static let triggers: Set<String> = [
        "beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin",
        "afterLogin", "afterLogout", "beforePasswordResetRequest",
    ]

    /// The class by which cloud code names files, as in Parse Server.
    public static let fileClass = "@File"
    /// The class by which cloud code names Config, as in Parse Server.
    public static let configClass = "@Config"

    private static let fileTriggers: Set<String> = [
        "beforeSaveFile", "afterSaveFile", "beforeDeleteFile", "afterDeleteFile",
    ]

    /// Whether the gateway calls this trigger when cloud code defines it.
    public var isCalledOfCode: Bool {
        switch className {
        case Self.fileClass: Self.fileTriggers.contains(triggerName)
        case Self.configClass: ["beforeSave", "afterSave"].contains(triggerName)
        default: !className.hasPrefix("@") && Self.triggers.contains(triggerName)
        }
    }
}
