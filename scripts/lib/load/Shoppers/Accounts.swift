import ParseProtocol
import SuiteClient
import Synchronization

/// A customer's account with a session.
struct Account: Sendable {
    let userId: String
    let sessionToken: String
}

/// The free accounts. Each is used by one shopper at a time: a checkout on one device would take another device's bag.
final class Accounts: Sendable {
    private let free: Mutex<[Account]>

    private init(_ accounts: [Account]) { free = Mutex(accounts) }

    func take() -> Account? { free.withLock { $0.popLast() } }

    func giveBack(_ account: Account) { free.withLock { $0.append(account) } }

    /// Signs up accounts, a few at a time: a password's hash takes the shop tens of milliseconds of processor time.
    /// - Parameter client: creates the client with a number.
    /// - Throws: `LoadError` when a sign-up fails.
    static func signUp(_ count: Int, client: @escaping @Sendable (_ number: Int) -> LoadClient) async throws -> Accounts
    {
        let atOnce = 4
        var accounts: [Account] = []
        for start in stride(from: 0, to: count, by: atOnce) {
            accounts += try await withThrowingTaskGroup(of: Account.self, returning: [Account].self) { group in
                for number in start..<min(start + atOnce, count) {
                    group.addTask { try await signUp(client(number)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return Accounts(accounts)
    }

    private static func signUp(_ client: LoadClient) async throws -> Account {
        var client = client
        defer { client.close() }
        let email = "\(Names.random(12).lowercased())@shoppers.example"
        let answer = try await client.json(.signUp(email: email, password: Names.random(16)))
        guard let id = answer["objectId"]?.stringValue, let token = answer["sessionToken"]?.stringValue else {
            throw LoadError("A sign-up was answered without a session.")
        }
        return Account(userId: id, sessionToken: token)
    }
}
