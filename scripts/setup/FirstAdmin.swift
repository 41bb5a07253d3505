import ArgumentParser
import Foundation
import ParseProtocol

/// Makes sure that one user exists and is a member of the role that may run the shop.
struct FirstAdmin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first-admin", abstract: "Signs up a user, when absent, and adds them to the admins.")

    @OptionGroup var gateway: GatewayOptions
    @Option(help: "User name; the shop's apps expect an e-mail address.") var username: String
    @Option(help: "File whose content is the password of a new user.") var passwordFile: String
    @Option(help: "The role to join.") var role = "admins"

    func run() async throws {
        guard let content = try? String(contentsOfFile: passwordFile, encoding: .utf8) else {
            throw SetupError.invalid("Cannot read the password file \(passwordFile).")
        }
        let password = content.trimmingCharacters(in: .newlines)
        guard !password.isEmpty else { throw SetupError.invalid("The password file \(passwordFile) is empty.") }
        var fields: [String: JSON] = ["password": .string(password)]
        if username.contains("@") {
            fields["email"] = .string(username)
            // The operator's own word: a shop that lets only verified addresses in must let its first admin in.
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
