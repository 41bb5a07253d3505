import Messages
import ObjectStore

extension ClassDefinition {
    /// A device with the app. Clients create, read and update the one whose objectId they know; nobody but the master
    /// key can list or delete them (PARSE_PROTOCOL section 8). Its token and installation id are shown to the device
    /// alone.
    package static let installation = ClassDefinition(
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

    /// The content that a push opens: everybody may fetch it, the shop's admins write it. To whom and when it is sent
    /// is the shop's business.
    static let promotion = ClassDefinition(
        "Promotion",
        fields: [
            "content": .string, "image": .file, "audience": .object, "schedule": .date, "discountCode": .string,
        ],
        permissions: .adminWritten().protecting(["*": ["audience", "schedule"], "role:admins": []]))

    /// The pushes, and what became of each. Written by this service, read with the master key.
    static let pushStatus = ClassDefinition(
        "_PushStatus",
        fields: [
            "pushTime": .string, "source": .string, "query": .string, "payload": .string, "title": .string,
            "expiry": .number, "expiration_interval": .number, "status": .string, "numSent": .number,
            "numFailed": .number, "pushHash": .string, "errorMessage": .string, "sentPerType": .object,
            "failedPerType": .object, "sentPerUTCOffset": .object, "failedPerUTCOffset": .object, "count": .number,
        ],
        permissions: .masterOnly)

    /// A stored condition on installations, which the shop's admins have at `/push_audiences`.
    static let audience = ClassDefinition(
        "_Audience",
        fields: ["name": .string, "query": .string, "lastUsed": .date, "timesUsed": .number],
        permissions: .kept(by: [adminsRole]))
}
