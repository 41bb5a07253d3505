import ParseProtocol

extension Gateway {
    /// Signs up a user, or finds the existing user with that name and leaves it unchanged.
    func signUp(username: String, fields: [String: JSON]) async throws -> (objectId: String, isNew: Bool) {
        var body = fields
        body["username"] = .string(username)
        do {
            let answer = try await send(.post, "/users", body: .object(body))
            guard let id = answer["objectId"]?.stringValue else {
                throw SetupError.unexpectedAnswer(request: "POST /users")
            }
            return (id, true)
        } catch let error as SetupError where error.code == .usernameTaken {
            guard let id = try await firstId("/users", where: ["username": .string(username)]) else { throw error }
            return (id, false)
        }
    }

    /// The objectId of a role, created if missing. Only the master key may change a role created here.
    func role(named name: String) async throws -> String {
        let isIt: JSON = ["name": .string(name)]
        if let id = try await firstId("/roles", where: isIt) { return id }
        do {
            let answer = try await send(.post, "/roles", body: ["name": .string(name), "ACL": [:]])
            guard let id = answer["objectId"]?.stringValue else {
                throw SetupError.unexpectedAnswer(request: "POST /roles")
            }
            return id
        } catch let error as SetupError where error.code == .duplicateValue {
            // Created meanwhile by another client, or by an earlier attempt whose answer was lost.
            guard let id = try await firstId("/roles", where: isIt) else { throw error }
            return id
        }
    }

    private func firstId(_ path: String, where condition: JSON) async throws -> String? {
        let answer = try await send(.get, path, query: ["where": condition, "limit": 1])
        return answer["results"]?.arrayValue?.first?["objectId"]?.stringValue
    }
}
