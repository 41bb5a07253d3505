import ParseProtocol
import TestSupport

/// Classes for the class views.
extension Desk {
    /// A publicly readable class with one public row and one row for operators only.
    func classOfTwo() async throws -> (name: String, rowId: String) {
        let master = ParseClient.master(try await suite)
        let name = "Seen\(Names.random(6))"
        let verbs = ["find", "get", "count", "create", "update", "delete", "addField"]
        let everybody: JSON = ["*": true]
        let permissions = JSON.object(Dictionary(uniqueKeysWithValues: verbs.map { ($0, everybody) }))
        let fields: JSON = ["text": ["type": "String"], "owner": ["type": "Pointer", "targetClass": "_User"]]
        let made = try await master.call(
            .POST, "/schemas/\(name)", ["fields": fields, "classLevelPermissions": permissions])
        guard made.status == 200 else { throw Unexpected("POST schemas", made) }
        let operators: JSON = ["read": true, "write": true]
        let open = try await master.create(
            name, ["text": "everybody's", "ACL": ["*": ["read": true], "role:admins": operators]])
        let secret = try await master.create(name, ["text": "secret", "ACL": ["role:admins": operators]])
        guard open.status == 201, secret.status == 201 else { throw Unexpected("POST", secret) }
        return (name, open.objectId)
    }

    /// The paths of these views, with data in each.
    func schemaPaths() async throws -> [JSON] {
        let (name, _) = try await classOfTwo()
        let customer = try await Customer.signUp(suite)
        return [
            "/data", "/data/console", .string("/data/\(name)/schema"), .string("/data/\(name)/permissions"),
            .string("/data/\(name)?as=\(customer.userId)"),
        ]
    }
}
