import Foundation
import ParseProtocol

/// Ensures that one user exists and is a member of the role that may manage the shop.
struct FirstAdmin {
    private let gateway: GatewayOptions
    private let username: String
    private let passwordFile: String
    private let role: String

    init(_ words: some Sequence<String>) throws(SetupError) {
        let arguments = try Arguments(words, options: ["url", "username", "password-file", "role"])
        gateway = GatewayOptions(arguments)
        username = try arguments.required("username")
        passwordFile = try arguments.required("password-file")
        role = arguments["role"] ?? "admins"
    }

    func run() async throws {
        guard let content = try? String(contentsOfFile: passwordFile, encoding: .utf8) else {
            throw SetupError.invalid("Cannot read the password file \(passwordFile).")
        }
        let password = content.trimmingCharacters(in: .newlines)
        guard !password.isEmpty else { throw SetupError.invalid("The password file \(passwordFile) is empty.") }
        var fields: [String: JSON] = ["password": .string(password)]
        if username.contains("@") {
            fields["email"] = .string(username)
            // Set by the operator's authority: the first admin must be able to sign in to a shop that requires verified
            // addresses.
            fields["emailVerified"] = true
        }

        try await Gateway.connected(to: gateway.endpoint()) { gateway in
            let user = try await gateway.signUp(username: username, fields: fields)
            let roleId = try await gateway.role(named: role)
            let member = JSON.pointer("_User", user.objectId)
            _ = try await gateway.send(
                .put, "/roles/\(roleId)", body: ["users": ["__op": "AddRelation", "objects": [member]]])
            let state = user.isNew ? "signed up" : "exists already, password unchanged"
            writeLine("\(username) (\(state)) is a member of \(role).")
        }
    }
}
