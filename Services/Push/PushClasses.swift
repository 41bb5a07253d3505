import Messages
import ObjectStore

extension ClassDefinition {
    /// A device that runs the app. Clients create installations, and read and update one whose objectId they know. Only
    /// the master key can list or delete them (PARSE_PROTOCOL section 8). Token and installation id are visible to the
    /// device alone.
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

    /// The content that a push opens: all clients may read it, the shop's admins write it. Recipients and time are
    /// visible to the admins only. The storefront's home page shows it from `shownFrom` until `shownUntil`.
    static let promotion = ClassDefinition(
        "Promotion",
        fields: [
            "content": .string, "image": .file, "thumbnail": .file, "audience": .object, "schedule": .date,
            "discountCode": .string, "shownFrom": .date, "shownUntil": .date, "product": .pointer("Product"),
            "brand": .pointer("Category"),
        ],
        permissions: .adminWritten().protecting(["*": ["audience", "schedule"], "role:admins": []]))

    /// Pushes and their results. Written by this service, read with the master key.
    static let pushStatus = ClassDefinition(
        "_PushStatus",
        fields: [
            "pushTime": .string, "source": .string, "query": .string, "payload": .string, "title": .string,
            "expiry": .number, "expiration_interval": .number, "status": .string, "numSent": .number,
            "numFailed": .number, "pushHash": .string, "errorMessage": .string, "sentPerType": .object,
            "failedPerType": .object, "sentPerUTCOffset": .object, "failedPerUTCOffset": .object, "count": .number,
        ],
        permissions: .masterOnly)

    /// A stored condition on installations, which the shop's admins manage at `/push_audiences`.
    static let audience = ClassDefinition(
        "_Audience",
        fields: ["name": .string, "query": .string, "lastUsed": .date, "timesUsed": .number],
        permissions: .kept(by: [adminsRole]))
}
