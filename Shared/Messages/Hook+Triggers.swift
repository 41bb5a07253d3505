extension Hook {
    /// The triggers that the gateway calls, of webhooks and of cloud code.
    public static let triggers: Set<String> = [
        "beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin",
        "afterLogin", "afterLogout",
    ]
}
