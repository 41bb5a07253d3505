import ObjectStore

extension ClassDefinition {
    /// A device with the app. Clients create, read and update the one whose objectId they know; nobody but the master
    /// key can list or delete them (PARSE_PROTOCOL section 8).
    static let installation = ClassDefinition(
        "_Installation",
        fields: [
            "installationId": .string, "deviceToken": .string, "deviceType": .string, "channels": .array,
            "badge": .number, "timeZone": .string, "localeIdentifier": .string, "pushType": .string,
            "GCMSenderId": .string, "appName": .string, "appVersion": .string, "appIdentifier": .string,
            "parseVersion": .string, "user": .pointer("_User"),
        ],
        indexes: [["deviceToken"], ["user"]],
        uniqueIndexes: [["installationId"]],
        permissions: ClassPermissions(get: .everybody, create: .everybody, update: .everybody, addField: .everybody))

    /// What a push opens: everybody may fetch it, the shop's admins write it.
    static let promotion = ClassDefinition(
        "Promotion", fields: ["content": .string, "image": .file], permissions: .adminWritten())
}
