import Foundation
import NIOPosix
import ParseProtocol
import SuiteClient

/// Creates the secrets in the shop: private users with phone numbers, and a session of the admin.
struct SecretsShop {
    let target: Target
    let users: Int

    func probes() async throws -> [Probe] {
        let group = MultiThreadedEventLoopGroup.singleton
        let phones = (0..<users).map { _ in "+1" + String((0..<10).map { _ in "0123456789".randomElement() ?? "0" }) }
        // Created with the master key, because the quota of new users is not tested here.
        let master = try await Master(target, on: group)
        try await master.batch(
            "POST",
            phones.map { phone in
                let id = JSON.string(UUID().uuidString.lowercased())
                return ("/users", ["authData": ["anonymous": ["id": id]], "phone": .string(phone)])
            })
        let admin = try await Link.open(target, from: target.host, on: group, bodyBytesKept: 1 << 16)
        defer { admin.close() }
        let credentials: JSON = [
            "username": .string(Operator.username), "password": .string(try target.secret("admin.password")),
        ]
        let answer = try await admin.send(Request.post("/login", credentials).bytes(for: target), timeout: .seconds(30))
        guard let token = answer.json?["sessionToken"]?.stringValue, let id = answer.json?["objectId"]?.stringValue
        else {
            throw AttackError("The admin's sign-in: \(answer.status) \(answer.text.prefix(200))")
        }
        return Probes(sessionToken: token, adminId: id, phones: phones).all
    }
}
